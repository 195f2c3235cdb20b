//! `record`: a trace of a live Linux block device, through tracefs.
//!
//! Nothing needs to be installed: the kernel's own trace events are read, in a private *instance* under
//! `/sys/kernel/tracing/instances`, as binary ring-buffer pages. The instance is filtered to one device and removed at
//! the end, also after an error, a panic, SIGINT or SIGTERM; what a killed recorder left is removed by the next one.
//!
//! A request's arrival is its bio's `block_bio_queue`: it is there under every scheduler (`none` never emits
//! `block_rq_insert`) and before any merging. Events carry no request pointer, so bios are followed by operation and
//! sectors, as [`correlate`] explains. Parents and start times come from `sched_process_fork`, for tasks older than the
//! trace from `/proc`.
//!
//! Cost: some 0.2 us an event, three events an I/O, and the recorder wakes 100 times a second.

mod command;
mod correlate;
mod device;
mod event;
mod instance;
mod layout;
mod page;
mod ring;
mod run;
mod signals;
mod tasks;

pub use run::{RecordOptions, RecordSummary, record};

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a recording failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// tracefs is there but closed to this user.
    #[error("{}: recording needs root (CAP_SYS_ADMIN)", .0.display())]
    NotPermitted(PathBuf),
    /// tracefs is not mounted.
    #[error("tracefs is not mounted: expected it at /sys/kernel/tracing; mount -t tracefs tracefs /sys/kernel/tracing")]
    NoTracefs,
    /// The device cannot be traced.
    #[error("{}: {reason}", path.display())]
    Device {
        /// The device.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The kernel lacks, or describes unexpectedly, a trace event.
    #[error("trace event {event}: {reason}")]
    Event {
        /// Its name.
        event: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The command could not be started.
    #[error("{command}: {source}")]
    Command {
        /// Its name.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// A file of tracefs or sysfs could not be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The ring buffer holds what its documented format does not allow.
    #[error("ring buffer of CPU {cpu}: {reason}")]
    Page {
        /// The CPU.
        cpu: u16,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl RecordError {
    fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted(path),
            _ => Self::Io { path, source },
        }
    }
}
