//! [`WorkloadError`]: why a workload cannot be run.

use iopilot_block::InputError;
use iopilot_trace::TraceError;
use std::io;
use std::path::PathBuf;

/// Why a workload cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A value is invalid, or needs something that is not simulated.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The trace is unreadable.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}
