//! [`CacheDecider`]: decides how the REDCAP cache of a run is used.

use crate::error::SimError;
use crate::redcap_report::CheckReport;
use crate::run_config::RunConfig;
use iopilot_block::Nanos;
use iopilot_redcap::{CacheGeometry, Miss};
use iopilot_sched::SchedulerSpec;
use iopilot_trace::TraceRecord;
use std::ops::Range;

/// Decides how the REDCAP cache of a run is used, for the algorithm `adaptive`. The cache is off until its first decision.
///
/// The engine calls it in virtual time, and carries out what it decides. It is a part of the run: a run that is cloned has a
/// decider of its own.
pub trait CacheDecider: Send + Sync {
    /// When it looks at the run next. Times do not go back.
    fn next_look(&self) -> Nanos;

    /// Looks at the run, after all events up to [`next_look`](Self::next_look). `completed` has the requests that completed
    /// since it was last emptied, in order of completion; the decider empties it when it has decided on them. `outstanding`
    /// requests are in flight.
    ///
    /// # Errors
    /// If it cannot decide. The run then ends.
    fn look(&mut self, completed: &mut Vec<TraceRecord>, outstanding: usize)
    -> Result<Option<CacheDecision>, SimError>;

    /// The scheduler below the cache was changed.
    fn set_queue(&mut self, scheduler: &SchedulerSpec, config: &RunConfig);

    /// A copy of it.
    fn boxed(&self) -> Box<dyn CacheDecider>;
}

impl Clone for Box<dyn CacheDecider> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// A decision on a cache.
#[derive(Clone, Debug)]
pub struct CacheDecision {
    /// What the report says of it.
    pub check: CheckReport,
    /// How the cache is used from now on; `None` if nothing changes.
    pub change: Option<RedcapUse>,
}

/// How a cache is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedcapUse {
    /// Whether it is active.
    pub active: bool,
    /// Its segments.
    pub geometry: CacheGeometry,
    /// How it reads a segment that is absent.
    pub miss: Miss,
    /// Ranges of sectors that bypass it.
    pub off: Vec<Range<u64>>,
}
