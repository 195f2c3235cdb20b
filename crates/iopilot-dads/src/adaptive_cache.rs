//! [`AdaptiveCache`]: the algorithm `adaptive` of a REDCAP cache, which is turned on and off by trials in virtual time, as
//! the autopilot changes schedulers (GF ch. 5).

use crate::redcap_pilot::RedcapPilot;
use iopilot_block::{Nanos, Op};
use iopilot_device::Device;
use iopilot_redcap::Algorithm;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{
    CacheDecider, CacheDecision, CheckReport, LogSink, Machine, Progress, RunConfig, RunOptions, RunReport, Session,
    SimError, begin as begin_alone, simulate_decided,
};
use iopilot_trace::TraceRecord;
use iopilot_workload::{Source, Workload};

/// The longest window.
const LONGEST: Nanos = Nanos::from_secs(2);
/// The shortest window, and the requests that it then needs. Under load, a harmful setting thus ends soon.
const SHORTEST: Nanos = Nanos::from_millis(250);
const ENOUGH: usize = 64;
/// The time between two looks at the window.
const LOOK: Nanos = Nanos::from_millis(50);

/// Whether a window of this length and this many requests is over, and to be decided on.
pub fn is_window_over(length: Nanos, requests: usize) -> bool {
    length >= LONGEST || length >= SHORTEST && requests >= ENOUGH
}

/// Decides for the cache of a simulated run: divides the run into windows, and passes each to a [`RedcapPilot`].
#[derive(Clone, Debug)]
pub struct AdaptiveCache<D> {
    pilot: RedcapPilot<D>,
    /// When the window began.
    began: Nanos,
    next: Nanos,
    /// Reads of all windows that are over.
    reads: u64,
}

impl<D> AdaptiveCache<D> {
    /// Decides by `pilot`, from the beginning of a run.
    pub const fn new(pilot: RedcapPilot<D>) -> Self {
        Self { pilot, began: Nanos::ZERO, next: LOOK, reads: 0 }
    }
}

impl<D: Device + Clone + Send + Sync + 'static> CacheDecider for AdaptiveCache<D> {
    fn next_look(&self) -> Nanos {
        self.next
    }

    fn look(
        &mut self,
        completed: &mut Vec<TraceRecord>,
        outstanding: usize,
    ) -> Result<Option<CacheDecision>, SimError> {
        let now = self.next;
        self.next += LOOK;
        if !is_window_over(now.since(self.began), completed.len()) {
            return Ok(None);
        }
        self.began = now;
        completed.sort_by_key(|record| record.arrival);
        self.reads += completed.iter().filter(|record| record.op == Op::Read).count() as u64;
        let active = self.pilot.setting().active;
        let check = self.pilot.check(completed, outstanding)?;
        completed.clear();
        Ok(check.map(|check| {
            let setting = &check.setting;
            let report = CheckReport {
                time_s: now.as_secs_f64(),
                reads: self.reads,
                with_cache_ms: 1e3 * check.with_s,
                without_cache_ms: 1e3 * check.without_s,
                predicted_ms: Some(1e3 * check.before_s),
                measured_ms: check.measured_s.map(|measured| 1e3 * measured),
                active: [active, setting.active],
                off_percent: 100.0 * setting.regions.off_share(),
                geometry: setting.geometry,
                miss: setting.miss,
            };
            CacheDecision { check: report, change: check.changes.then(|| setting.to_use()) }
        }))
    }

    fn set_queue(&mut self, scheduler: &SchedulerSpec, config: &RunConfig) {
        self.pilot.set_queue(scheduler, config);
    }

    fn boxed(&self) -> Box<dyn CacheDecider> {
        Box::new(self.clone())
    }
}

/// What decides for the cache of `machine`, if it has one with the algorithm `adaptive`. Its trials run on the machine's own
/// device.
fn decider(machine: &Machine, scheduler: &SchedulerSpec, config: &RunConfig) -> Option<Box<dyn CacheDecider>> {
    let spec = machine.redcap.as_ref().filter(|spec| spec.algorithm == Algorithm::Adaptive)?;
    let pilot = RedcapPilot::new(spec, machine.device(), scheduler, config, machine.capacity());
    Some(Box::new(AdaptiveCache::new(pilot)))
}

/// As [`iopilot_sim::begin`], but also for a machine whose cache has the algorithm `adaptive`.
///
/// # Errors
/// As [`iopilot_sim::begin`].
pub(crate) fn begin<'w>(
    machine: &Machine,
    workload: &'w Workload,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
) -> Result<Session<impl Source + Clone + Send + Sync + use<'w>, impl Device + Clone + Send + Sync + use<'w>>, SimError>
{
    let mut session = begin_alone(machine, workload, scheduler, config)?;
    if let Some(decider) = decider(machine, scheduler, config) {
        session.set_cache_decider(decider);
    }
    Ok(session)
}

/// As [`iopilot_sim::simulate`], but also for a machine whose cache has the algorithm `adaptive`. Its trials run on the
/// machine's own device.
///
/// # Errors
/// As [`iopilot_sim::simulate`].
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    scheduler: &SchedulerSpec,
    options: &RunOptions,
    progress: &Progress,
) -> Result<RunReport, SimError> {
    let decider = decider(machine, scheduler, &machine.run_config(options));
    simulate_decided(machine, workload, scheduler, options, progress, None, decider)
}

/// As [`iopilot_sim::simulate_logged`], but also for a machine whose cache has the algorithm `adaptive`.
///
/// # Errors
/// As [`iopilot_sim::simulate_logged`].
pub fn simulate_logged(
    machine: &Machine,
    workload: &Workload,
    scheduler: &SchedulerSpec,
    options: &RunOptions,
    progress: &Progress,
    log: LogSink<'_>,
) -> Result<RunReport, SimError> {
    let decider = decider(machine, scheduler, &machine.run_config(options));
    simulate_decided(machine, workload, scheduler, options, progress, Some(log), decider)
}
