//! [`Session`]: a run in steps, which can be inspected, and whose scheduler can be changed.

use crate::cache_decider::CacheDecider;
use crate::cpu_timing::FixedCosts;
use crate::engine::SimulationEngine;
use crate::error::SimError;
use crate::redcap_reference_disk::RedcapReferenceDisk;
use crate::report::RunReport;
use crate::run::assembled;
use crate::run_config::RunConfig;
use iopilot_block::{InputError, Nanos};
use iopilot_device::Device;
use iopilot_redcap::{CacheGeometry, Contents};
use iopilot_sched::SchedulerSpec;
use iopilot_trace::TraceRecord;
use iopilot_workload::Source;
use std::ops::Range;

/// A run in steps. It gives the results of [`crate::run`]. Its scheduler can be changed under load, as in the kernel.
#[derive(Clone)]
pub struct Session<S, D> {
    engine: SimulationEngine<S, D, FixedCosts, RedcapReferenceDisk>,
    config: RunConfig,
    scheduler: SchedulerSpec,
}

impl<S: Source, D: Device> Session<S, D> {
    /// A session of `source` on `device`, before its first event.
    ///
    /// # Errors
    /// If a setting is not accepted.
    pub fn new(source: S, device: D, scheduler: &SchedulerSpec, config: &RunConfig) -> Result<Self, SimError> {
        let (queue, scheduler_built) = config.scheduler_for(scheduler, &device)?;
        let cpus = FixedCosts::new(&config.host, device.hardware_queues(), config.seed);
        let engine = assembled(source, queue, (scheduler, scheduler_built), device, cpus, config, config.log)?;
        Ok(Self { engine, config: config.clone(), scheduler: scheduler.clone() })
    }

    /// Lets `decider` decide for the REDCAP cache, if there is one, whose algorithm is [`iopilot_redcap::Algorithm::Adaptive`].
    /// To be called before the first event.
    pub fn set_cache_decider(&mut self, decider: Box<dyn CacheDecider>) {
        self.engine.decide_by(Some(decider));
    }

    /// Handles every event that is due by `until`. False once the workload has ended.
    ///
    /// # Errors
    /// If the run gets stuck.
    pub fn run_until(&mut self, until: Nanos) -> Result<bool, SimError> {
        self.engine.run_until(until).map_err(|stuck| stuck.under(&self.scheduler))
    }

    /// The time of the last event.
    pub fn now(&self) -> Nanos {
        self.engine.now
    }

    /// The scheduler in use, or the one with which a pending change ends.
    pub fn scheduler(&self) -> &SchedulerSpec {
        &self.scheduler
    }

    /// The number of requests that are submitted and not complete.
    pub fn outstanding(&self) -> usize {
        self.engine.outstanding()
    }

    /// The number of completed requests.
    pub fn completed(&self) -> u64 {
        self.engine.recorder().count()
    }

    /// Whether a change of scheduler is pending.
    pub fn is_switching(&self) -> bool {
        self.engine.block.is_switching()
    }

    /// Takes the duration of the last change that has ended; `None` if it was taken before.
    pub fn take_changed(&mut self) -> Option<Nanos> {
        self.engine.block.changed.take()
    }

    /// Begins to change the scheduler at `now`. The queue is drained while tasks that submit more sleep, and is then frozen
    /// for [`crate::CpuOverheads::switch_us`].
    ///
    /// # Errors
    /// If a setting is not accepted, or the scheduler belongs to another kernel than the one in use.
    pub fn switch(&mut self, scheduler: &SchedulerSpec, now: Nanos) -> Result<(), SimError> {
        if scheduler.lineage() != self.scheduler.lineage() {
            let expected = format!("a scheduler of the kernel that has {}", self.scheduler.name);
            return Err(InputError::new("scheduler", scheduler.to_string(), expected).into());
        }
        let (queue, scheduler_built) = self.config.scheduler_for(scheduler, &self.engine.device)?;
        if let Some(layer) = self.engine.redcap_mut() {
            layer.set_scheduler(scheduler, &self.config)?;
            layer.set_queue_limit(queue.requests());
        }
        self.engine.follow_scheduler(scheduler, &self.config);
        self.engine.switch(queue, scheduler_built, 1, now);
        self.scheduler = scheduler.clone();
        Ok(())
    }

    /// Restarts the scheduler in use, so that its state is reset. A kernel ignores a change to the scheduler in use. The restart
    /// therefore goes by way of another scheduler, and takes twice as long.
    ///
    /// # Errors
    /// As [`Session::switch`].
    pub fn renew(&mut self, now: Nanos) -> Result<(), SimError> {
        let (queue, anew) = self.config.scheduler_for(&self.scheduler, &self.engine.device)?;
        self.engine.switch(queue, anew, 2, now);
        Ok(())
    }

    /// See [`Source::lateness`].
    pub fn lateness(&self) -> Option<f64> {
        self.engine.source.lateness()
    }

    /// Whether there is a REDCAP cache, and it is active.
    pub fn is_redcap_active(&self) -> bool {
        self.engine.is_redcap_active()
    }

    /// Turns the REDCAP cache, if there is one, on or off at `now`. For [`iopilot_redcap::Algorithm::Adaptive`], for which the
    /// caller decides.
    pub fn set_redcap_active(&mut self, active: bool, now: Nanos) {
        self.engine.set_redcap_active(active, now);
    }

    /// Turns the REDCAP cache, if there is one, off for these ranges of sectors at `now`, and on for all others. Its blocks in
    /// the ranges are dropped.
    pub fn set_redcap_off_regions(&mut self, sectors: &[Range<u64>], now: Nanos) {
        self.engine.set_redcap_off_regions(sectors, now);
    }

    /// Changes the geometry of the REDCAP cache, if there is one, at `now`. Its contents are dropped, and it is off while requests
    /// that it handles are in flight.
    ///
    /// # Errors
    /// If the geometry is out of range.
    pub fn set_redcap_geometry(&mut self, geometry: CacheGeometry, now: Nanos) -> Result<(), SimError> {
        Ok(self.engine.set_redcap_geometry(geometry, now)?)
    }

    /// Which blocks the REDCAP cache holds, if there is one.
    pub fn redcap_contents(&mut self) -> Option<Contents> {
        self.engine.redcap_mut().map(|layer| layer.contents())
    }

    /// Starts the REDCAP cache, if there is one of the same geometry, with the contents of another one. To be called before the
    /// first event.
    pub fn begin_redcap_with(&mut self, contents: &Contents) {
        if let Some(layer) = self.engine.redcap_mut() {
            layer.begin_with(contents);
        }
    }

    /// The workload, to read or change.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.engine.source
    }

    /// The device, to read.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.engine.device
    }

    /// Takes the completed requests that were not taken before, in order of arrival. Those that arrived after a request in flight
    /// are held back. Empty if [`RunConfig::log`] is not set.
    pub fn take_log(&mut self) -> Vec<TraceRecord> {
        self.engine.recorder_mut().log.as_mut().map_or(Vec::new(), |log| log.ready().collect())
    }

    /// Takes all completed requests that were not taken before, in order of arrival. None is held back, so that a request taken
    /// later may have arrived earlier.
    pub fn take_completed(&mut self) -> Vec<TraceRecord> {
        self.engine.recorder_mut().log.as_mut().map_or(Vec::new(), |log| log.complete().collect())
    }

    /// Takes the completed requests of the device that were not taken before, in order of arrival. If there is a REDCAP cache,
    /// these are its requests, prefetches among them. Empty if [`RunConfig::disk_log`] is not set.
    pub fn take_disk_completed(&mut self) -> Vec<TraceRecord> {
        self.engine.block.recorder.log.as_mut().map_or(Vec::new(), |log| log.complete().collect())
    }

    /// Ends the run now. Returns its report, and the device in its present state.
    pub fn finish(self) -> (RunReport, D) {
        let name = self.config.run_name(&self.scheduler);
        self.engine.finish(name)
    }
}

#[cfg(test)]
mod tests;
