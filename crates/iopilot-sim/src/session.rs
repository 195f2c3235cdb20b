//! [`Session`]: a run that can be stopped at any moment, looked at, and given another scheduler.

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

/// A run under way. It does what [`crate::run`] does, in steps, and its scheduler can be changed as the kernel changes
/// it: under load.
#[derive(Clone)]
pub struct Session<S, D> {
    engine: SimulationEngine<S, D, FixedCosts, RedcapReferenceDisk>,
    config: RunConfig,
    scheduler: SchedulerSpec,
}

impl<S: Source, D: Device> Session<S, D> {
    /// Before the first event of `source` on `device`.
    ///
    /// # Errors
    /// Where a setting is not accepted.
    pub fn new(source: S, device: D, scheduler: &SchedulerSpec, config: &RunConfig) -> Result<Self, SimError> {
        let (queue, scheduler_built) = config.scheduler_for(scheduler, &device)?;
        let cpus = FixedCosts::new(&config.host, device.hardware_queues(), config.seed);
        let engine = assembled(source, queue, (scheduler, scheduler_built), device, cpus, config, config.log)?;
        Ok(Self { engine, config: config.clone(), scheduler: scheduler.clone() })
    }

    /// Handles every event that is due by `until`. False once the workload is over.
    ///
    /// # Errors
    /// Where the run gets stuck.
    pub fn run_until(&mut self, until: Nanos) -> Result<bool, SimError> {
        self.engine.run_until(until).map_err(|stuck| stuck.under(&self.scheduler))
    }

    /// The time of the last event.
    pub fn now(&self) -> Nanos {
        self.engine.now
    }

    /// The scheduler in use, or the one that a change under way ends with.
    pub fn scheduler(&self) -> &SchedulerSpec {
        &self.scheduler
    }

    /// Requests submitted and not complete.
    pub fn outstanding(&self) -> usize {
        self.engine.outstanding()
    }

    /// Requests submitted and complete.
    pub fn completed(&self) -> u64 {
        self.engine.recorder().count()
    }

    /// Whether a change of scheduler is under way.
    pub fn is_switching(&self) -> bool {
        self.engine.block.is_switching()
    }

    /// Takes the duration of the last change that is over; `None` where it was taken before.
    pub fn take_changed(&mut self) -> Option<Nanos> {
        self.engine.block.changed.take()
    }

    /// Begins to change the scheduler at `now`. The queue is drained while tasks that submit more sleep, and is then frozen
    /// for [`crate::CpuOverheads::switch_us`].
    ///
    /// # Errors
    /// Where a setting is not accepted, or the scheduler belongs to another kernel than the one in use.
    pub fn switch(&mut self, scheduler: &SchedulerSpec, now: Nanos) -> Result<(), SimError> {
        if scheduler.lineage() != self.scheduler.lineage() {
            let expected = format!("a scheduler of the kernel that has {}", self.scheduler.name);
            return Err(InputError::new("scheduler", scheduler.to_string(), expected).into());
        }
        let (queue, scheduler_built) = self.config.scheduler_for(scheduler, &self.engine.device)?;
        if let Some(layer) = self.engine.redcap_mut() {
            layer.set_scheduler(scheduler, &self.config)?;
        }
        self.engine.switch(queue, scheduler_built, 1, now);
        self.scheduler = scheduler.clone();
        Ok(())
    }

    /// Restarts the scheduler in use, so that it forgets what it has learnt. A kernel ignores a change to the scheduler in
    /// use. The restart therefore goes by way of another scheduler, and takes twice as long.
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

    /// Whether there is a REDCAP cache and it is in use.
    pub fn is_redcap_active(&self) -> bool {
        self.engine.is_redcap_active()
    }

    /// Turns the REDCAP cache on or off at `now`, where there is one: for [`iopilot_redcap::Algorithm::Adaptive`], which is decided from
    /// outside.
    pub fn set_redcap_active(&mut self, active: bool, now: Nanos) {
        self.engine.set_redcap_active(active, now);
    }

    /// Turns the REDCAP cache off for these ranges of sectors at `now`, and on for all others, where there is one. What it holds
    /// of the ranges is forgotten.
    pub fn set_redcap_off_regions(&mut self, sectors: &[Range<u64>], now: Nanos) {
        self.engine.set_redcap_off_regions(sectors, now);
    }

    /// Gives the REDCAP cache other segments at `now`, where there is one. What it holds is forgotten, and it is off while requests
    /// that it handles are in flight.
    ///
    /// # Errors
    /// Where the geometry is out of range.
    pub fn set_redcap_geometry(&mut self, geometry: CacheGeometry, now: Nanos) -> Result<(), SimError> {
        Ok(self.engine.set_redcap_geometry(geometry, now)?)
    }

    /// What the REDCAP cache holds, where there is one.
    pub fn redcap_contents(&mut self) -> Option<Contents> {
        self.engine.redcap_mut().map(|layer| layer.contents())
    }

    /// Lets the REDCAP cache begin with what another one held, where there is one and its segments are the same. Before the first
    /// event.
    pub fn begin_redcap_with(&mut self, contents: &Contents) {
        if let Some(layer) = self.engine.redcap_mut() {
            layer.begin_with(contents);
        }
    }

    /// The workload, to be read or changed.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.engine.source
    }

    /// The device, to be read.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.engine.device
    }

    /// Takes the completed requests that were not taken before, in order of arrival. One that arrived behind a request in
    /// flight comes later. Empty where [`RunConfig::log`] is not set.
    pub fn take_log(&mut self) -> Vec<TraceRecord> {
        self.engine.recorder_mut().log.as_mut().map_or(Vec::new(), |log| log.ready().collect())
    }

    /// Takes all completed requests that were not taken before, in order of arrival. None waits for a request in flight, so
    /// one taken later may have arrived earlier.
    pub fn take_completed(&mut self) -> Vec<TraceRecord> {
        self.engine.recorder_mut().log.as_mut().map_or(Vec::new(), |log| log.complete().collect())
    }

    /// Takes the completed requests of the device that were not taken before, in order of arrival: those of a REDCAP cache where
    /// there is one, prefetches among them. Empty where [`RunConfig::disk_log`] is not set.
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
