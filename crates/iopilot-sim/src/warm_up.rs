//! [`WarmUp`]: the beginning of a run that its report leaves out.

use crate::error::SimError;
use iopilot_block::{InputError, Nanos};
use std::fmt;

/// The beginning of a run that its report leaves out: caches fill, and queues settle (Ganger A.1.1). At its end the statistics
/// are reset, and all state is kept. The report contains the requests that arrive afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// It ends at this time of the simulation.
    Time(Nanos),
    /// It ends when this many requests have arrived. Requests that arrive at the same time as the last of them belong to it.
    Requests(u64),
}

impl WarmUp {
    /// Checks that a run with this warm-up has something to report: `requests` arrived after the warm-up.
    ///
    /// # Errors
    /// If no request arrived after it.
    pub fn check(self, requests: u64) -> Result<(), SimError> {
        if requests > 0 {
            return Ok(());
        }
        Err(InputError::new("warm-up", self.to_string(), "less than the run, in which no request came after that")
            .into())
    }
}

impl fmt::Display for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => time.fmt(f),
            Self::Requests(count) => write!(f, "{count} requests"),
        }
    }
}
