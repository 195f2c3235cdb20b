//! [`Trial`]: the result of a candidate on the requests of a window.

use iopilot_block::{Nanos, ProcessId};
use iopilot_redcap::Contents;
use iopilot_sim::{RunReport, SimError};
use iopilot_trace::TraceRecord;
use std::sync::Arc;

/// The result of a candidate on the requests of a window.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// What happened.
    pub(crate) report: RunReport,
    /// Its cost by the objective.
    pub(crate) cost: f64,
    /// The parts of the cost, in the same order for all candidates; `None` where it is not a sum.
    pub(crate) shares: Option<Vec<f64>>,
    /// How long one round of the window took, in seconds.
    pub(crate) window_s: f64,
    /// What each process got done, in requests a second.
    pub(crate) rates: Vec<(Option<ProcessId>, f64)>,
    /// The requests that the disk served, in order of arrival; empty if they were not asked for.
    pub(crate) disk: Vec<TraceRecord>,
    /// What its cache held at the end, where it had one.
    pub(crate) contents: Option<Arc<Contents>>,
}

/// A trial, and the disk and the time after it.
pub(crate) type Tried<D> = Result<(Trial, D, Nanos), SimError>;
