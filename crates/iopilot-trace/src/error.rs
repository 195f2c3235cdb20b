//! [`TraceError`]: why a trace could not be read or written.

use iopilot_block::InputError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a trace could not be read or written. Displays as one line that names the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The trace says something that its format does not allow.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The operating system, or a decompressor, reports an error.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
}

impl TraceError {
    /// `error` happened to `path`.
    pub fn io(path: impl AsRef<Path>, error: io::Error) -> Self {
        Self::Io { path: path.as_ref().to_owned(), error }
    }
}
