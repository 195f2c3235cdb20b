//! [`RunError`]: why a run failed.

use iopilot_block::InputError;
use iopilot_trace::TraceError;
use std::{fmt, io};

/// Why a run failed.
#[derive(Debug)]
pub enum RunError {
    /// Parameters or a request are wrong.
    Input(InputError),
    /// The trace cannot be read.
    Trace(TraceError),
    /// A file cannot be written.
    Io(io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(e) => e.fmt(f),
            Self::Trace(e) => e.fmt(f),
            Self::Io(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<InputError> for RunError {
    fn from(e: InputError) -> Self {
        Self::Input(e)
    }
}

impl From<TraceError> for RunError {
    fn from(e: TraceError) -> Self {
        Self::Trace(e)
    }
}

impl From<io::Error> for RunError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}
