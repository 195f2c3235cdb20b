//! [`WorkloadError`]: what can be wrong with a workload.

use iopilot_block::InputError;
use std::io;
use std::path::PathBuf;

/// A workload that cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// Something written in it is wrong, or asks for what is not simulated.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}
