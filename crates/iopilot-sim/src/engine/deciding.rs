//! The decider of a cache, which looks at the run from time to time.

use super::SimulationEngine;
use crate::cache_decider::{CacheDecider, RedcapUse};
use crate::cpu_timing::CpuTiming;
use crate::error::SimError;
use crate::learning_disk::LearningDisk;
use crate::run_config::RunConfig;
use iopilot_block::Nanos;
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_workload::Source;

impl<S: Source, D: Device, C: CpuTiming, V: LearningDisk> SimulationEngine<S, D, C, V> {
    /// Lets `decider` decide for the cache, if there is one. The cache is off until its first decision. To be called before
    /// the first event.
    pub(crate) fn decide_by(&mut self, decider: Option<Box<dyn CacheDecider>>) {
        self.decider = decider.filter(|_| self.redcap.is_some());
        if self.decider.is_some() {
            self.recorder_mut().window = Some(Vec::new());
            self.set_redcap_active(false, Nanos::ZERO);
        }
    }

    /// The scheduler below the cache is changed.
    pub(crate) fn follow_scheduler(&mut self, scheduler: &SchedulerSpec, config: &RunConfig) {
        if let Some(decider) = &mut self.decider {
            decider.set_queue(scheduler, config);
        }
    }

    /// Whether the decider looks at the run by `until`, before an event at `next`.
    #[inline]
    pub(super) fn is_looked_at(&self, next: Nanos, until: Nanos) -> bool {
        self.decider.as_ref().is_some_and(|decider| decider.next_look() < next && decider.next_look() <= until)
    }

    /// Lets the decider look at the run. It may fail to decide.
    #[cold]
    pub(super) fn look(&mut self) -> Result<(), SimError> {
        let Some(mut decider) = self.decider.take() else { return Ok(()) };
        let (at, outstanding) = (decider.next_look(), self.outstanding());
        let mut completed = self.recorder_mut().window.take().unwrap_or_default();
        let decided = decider.look(&mut completed, outstanding);
        self.recorder_mut().window = Some(completed);
        self.decider = Some(decider);
        let Some(decision) = decided? else { return Ok(()) };
        if let Some(layer) = self.redcap_mut() {
            layer.checks.push(decision.check);
        }
        decision.change.map_or(Ok(()), |change| self.use_cache(&change, at))
    }

    /// Uses the cache in this way.
    fn use_cache(&mut self, change: &RedcapUse, now: Nanos) -> Result<(), SimError> {
        self.set_redcap_geometry(change.geometry, now)?;
        if let Some(layer) = self.redcap_mut() {
            layer.set_miss(change.miss);
        }
        self.set_redcap_off_regions(&change.off, now);
        self.set_redcap_active(change.active, now);
        Ok(())
    }
}
