//! [`LiveError`]: why something could not be done to a live device.

use iopilot_block::InputError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why something could not be done to a live device.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LiveError {
    /// This user may not.
    #[error("{}: permission denied; this needs root", .0.display())]
    NotPermitted(PathBuf),
    /// The device is not there, or not of the kind that is needed.
    #[error("{}: {reason}", path.display())]
    Device {
        /// The device.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// What was asked for is wrong.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A server does not do what it was asked.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// Whether what was asked for cannot be, rather than something having failed.
        bad_input: bool,
    },
    /// The device is gone.
    #[error("{0} was unplugged")]
    Unplugged(String),
    /// The kernel does not offer it.
    #[error("{device}: scheduler {scheduler} is not offered, expected one of {}", offered.join(", "))]
    Scheduler {
        /// The device.
        device: String,
        /// What was asked for.
        scheduler: String,
        /// What there is.
        offered: Vec<String>,
    },
    /// tracefs is not mounted, and this process cannot mount it for itself.
    #[error("tracefs is not mounted: {0}")]
    NoTracefs(String),
    /// The kernel does not take the BPF programs.
    #[error("BPF: {0}")]
    Bpf(String),
    /// The kernel lacks, or describes unexpectedly, a trace event.
    #[error("trace event {event}: {reason}")]
    Event {
        /// Its name.
        event: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The ring buffer holds what its documented format does not allow.
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
    /// Something failed that is nobody's file.
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
    /// `source` happened to `path`.
    pub fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted(path),
            _ => Self::Io { path, source },
        }
    }

    /// Whether the user asked for what cannot be, rather than something failing.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Device { .. } | Self::Scheduler { .. } | Self::Command { .. } | Self::Input(_) | Self::State(_) => {
                true
            }
            // Nothing has been done yet: it takes another user, or another kernel.
            Self::NotPermitted(_) | Self::NoTracefs(_) | Self::Bpf(_) => true,
            Self::Refused { bad_input, .. } => *bad_input,
            _ => false,
        }
    }
}
