//! [`SimError`]: the reason why a simulation cannot run or does not end.

use iopilot_block::{InputError, Nanos};
use iopilot_sched::TunableError;
use thiserror::Error;

/// The reason why a simulation cannot run or does not end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimError {
    /// The user's input is wrong.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The trace is not readable.
    #[error(transparent)]
    Trace(#[from] iopilot_trace::TraceError),
    /// The disk's description is wrong.
    #[error(transparent)]
    Device(#[from] iopilot_catalogue::DeviceError),
    /// The workload's description is wrong.
    #[error(transparent)]
    Workload(#[from] iopilot_workload::WorkloadError),
    /// A tunable is not accepted.
    #[error("scheduler {scheduler}: {source}")]
    Tunable {
        /// The scheduler.
        scheduler: String,
        /// The cause.
        source: TunableError,
    },
    /// The workload waits for requests that are never served, because of a fault in a scheduler or a device model.
    #[error("under {scheduler}, {outstanding} requests were never served (stuck at {at}): please report this")]
    Stuck {
        /// The scheduler.
        scheduler: String,
        /// The time of the last event.
        at: Nanos,
        /// The number of requests that were not served.
        outstanding: usize,
    },
}

impl SimError {
    /// Whether the error is in the user's input, not in the simulation.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Stuck { .. })
    }
}
