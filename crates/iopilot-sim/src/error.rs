//! [`SimError`]: why a simulation could not run, or did not end.

use iopilot_block::{InputError, Nanos};
use iopilot_sched::TunableError;
use thiserror::Error;

/// Why a simulation could not run, or did not end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimError {
    /// Something the user wrote is wrong.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
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
        /// Why.
        source: TunableError,
    },
    /// The workload waits for requests that nobody serves: a fault in a scheduler or a device model.
    #[error("under {scheduler}, {outstanding} requests were never served (stuck at {at}): please report this")]
    Stuck {
        /// The scheduler.
        scheduler: String,
        /// When nothing more happened.
        at: Nanos,
        /// How many requests wait.
        outstanding: usize,
    },
}

impl SimError {
    /// Whether the user's input is at fault, and not the simulation.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Stuck { .. })
    }
}
