//! [`LearningDisk`]: a reference disk that learns from the real one.

use crate::error::SimError;
use crate::run_config::RunConfig;
use iopilot_block::{Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_redcap::{NoReferenceDisk, ReferenceDisk};
use iopilot_sched::SchedulerSpec;

/// A reference disk beside a simulated disk: it learns the times of requests and the processes that issue them.
pub(crate) trait LearningDisk: ReferenceDisk {
    /// The real disk was sent a request at `dispatched` and completed it at `now`. Returns when the disk began with it.
    fn learn(&mut self, op: Op, extent: (Lba, Sectors), dispatched: Nanos, now: Nanos) -> Nanos;

    /// A task has started another.
    fn started(&mut self, process: ProcessId, parent: ProcessId);

    /// A task has exited at `now`. The disk has been advanced to `now`.
    fn exited(&mut self, process: ProcessId, now: Nanos);

    /// The scheduler of the real disk was changed.
    fn set_scheduler(&mut self, scheduler: &SchedulerSpec, real: &RunConfig) -> Result<(), SimError>;
}

impl LearningDisk for NoReferenceDisk {
    fn learn(&mut self, _: Op, _: (Lba, Sectors), dispatched: Nanos, _: Nanos) -> Nanos {
        dispatched
    }

    fn started(&mut self, _: ProcessId, _: ProcessId) {}

    fn exited(&mut self, _: ProcessId, _: Nanos) {}

    fn set_scheduler(&mut self, _: &SchedulerSpec, _: &RunConfig) -> Result<(), SimError> {
        Ok(())
    }
}
