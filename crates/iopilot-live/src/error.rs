//! [`LiveError`]: why an operation on a live device failed.

use iopilot_block::InputError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why an operation on a live device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The user has no permission.
    #[error("{}: permission denied; this needs root", .0.display())]
    NotPermitted(PathBuf),
    /// The device is missing, or of the wrong kind.
    #[error("{}: {reason}", path.display())]
    Device {
        /// The device.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An input is wrong.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A server refuses a command.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// Whether the command was wrong, rather than something having failed.
        bad_input: bool,
    },
    /// The device is gone.
    #[error("{0} was unplugged")]
    Unplugged(String),
    /// The kernel does not offer the scheduler.
    #[error("{device}: scheduler {scheduler} is not offered, expected one of {}", offered.join(", "))]
    Scheduler {
        /// The device.
        device: String,
        /// The requested scheduler.
        scheduler: String,
        /// The schedulers that it offers.
        offered: Vec<String>,
    },
    /// tracefs is not mounted, and this process cannot mount it for itself.
    #[error("tracefs is not mounted: {0}")]
    NoTracefs(String),
    /// The kernel does not accept the BPF programs.
    #[error("BPF: {0}")]
    Bpf(String),
    /// The kernel has no such trace event, or describes it in an unknown way.
    #[error("trace event {event}: {reason}")]
    Event {
        /// Its name.
        event: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The ring buffer violates its documented format.
    #[error("ring buffer of CPU {cpu}: {reason}")]
    Page {
        /// The CPU.
        cpu: u16,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The command to record could not be started.
    #[error("{command}: {source}")]
    Command {
        /// Its name.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// A saved file is damaged.
    #[error("{0}")]
    State(String),
    /// Another failure.
    #[error("{0}")]
    Failed(String),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl LiveError {
    /// The error for `source` at `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted(path),
            _ => Self::Io { path, source },
        }
    }

    /// Whether the input was wrong, rather than something having failed.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Device { .. } | Self::Scheduler { .. } | Self::Command { .. } | Self::Input(_) | Self::State(_) => {
                true
            }
            // Nothing has been done yet: another user or another kernel is needed.
            Self::NotPermitted(_) | Self::NoTracefs(_) | Self::Bpf(_) => true,
            Self::Refused { bad_input, .. } => *bad_input,
            _ => false,
        }
    }
}
