//! `rig`: a REDCAP cache that is turned on and off by trials in virtual time, as the autopilot changes schedulers (GF ch. 5).

use crate::confidence::confidence;
use crate::objective::Objective;
use crate::rig::{Rig, Trial};
use iopilot_block::{Nanos, Op};
use iopilot_device::Device;
use iopilot_redcap::{Algorithm, RedcapSpec};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{
    CheckReport, Machine, Progress, RunConfig, RunOptions, RunReport, Session, SimError, begin,
    simulate as simulate_alone,
};
use iopilot_trace::TraceRecord;
use iopilot_workload::{Source, Workload};

/// From one decision to the next, at most.
const LONGEST: Nanos = Nanos::from_secs(2);
/// The same at least, and the requests that are enough for a decision by then: under load, what does harm soon ends.
const SHORTEST: Nanos = Nanos::from_millis(250);
const ENOUGH: usize = 64;
/// From one look at the window to the next.
const LOOK: Nanos = Nanos::from_millis(50);
/// A window with fewer reads decides nothing.
const LEAST: usize = 32;
/// A change must save this share of the cost…
const LEAST_GAIN: f64 = 0.01;
/// …and be so sure.
const SURE: f64 = 0.95;

/// Whether a window of such a length, with so many requests, is to be decided on.
pub fn is_window_over(length: Nanos, requests: usize) -> bool {
    length >= LONGEST || length >= SHORTEST && requests >= ENOUGH
}

/// Decides whether a cache is to be active. A cache that it decides for begins off: nothing is risked before it was tried. Each window of requests is replayed, with the causes of the requests, on a model
/// of the disk with the cache and on one without it. The cache is empty at the beginning of each trial, so that a small gain
/// of a large cache is not seen.
///
/// The trials count what processes waited for and what nobody waited for alike: the total service time (GF 4.2).
#[derive(Clone, Debug)]
pub struct RedcapPilot<D> {
    scheduler: [SchedulerSpec; 1],
    without: Rig<D>,
    with: Rig<D>,
}

/// A decision, and what it was made on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedcapCheck {
    /// The total service time of the window with the cache and without it, in seconds.
    pub with_s: f64,
    /// See `with_s`.
    pub without_s: f64,
    /// Whether the cache is to be active.
    pub active: bool,
}

impl<D: Device + Clone + Send + Sync> RedcapPilot<D> {
    /// For the cache `spec` above a disk that `model` models, under `scheduler`.
    pub fn new(spec: &RedcapSpec, model: &D, scheduler: &SchedulerSpec, config: &RunConfig) -> Self {
        let cache = RedcapSpec { algorithm: Algorithm::Always, ..spec.clone() };
        let rig = |redcap| Rig::new(model.clone(), &RunConfig { redcap, ..config.clone() });
        Self { scheduler: [scheduler.clone()], without: rig(None), with: rig(Some(cache)) }
    }

    /// Decides on `records`, the requests of the last window in order of arrival, with `pending` requests under way after
    /// them. `None` for a window of fewer than 32 reads.
    ///
    /// # Errors
    /// As [`Rig::try_all`].
    pub fn check(
        &mut self,
        records: &[TraceRecord],
        pending: usize,
        active: bool,
    ) -> Result<Option<RedcapCheck>, SimError> {
        if records.iter().filter(|record| record.op == Op::Read).count() < LEAST {
            return Ok(None);
        }
        let scheduler = &self.scheduler;
        let trial = |rig: &mut Rig<D>| -> Result<Option<Trial>, SimError> {
            Ok(rig.try_all(records, pending, scheduler, 0, Objective::ServiceTime)?.pop())
        };
        let (Some(without), Some(with)) = (trial(&mut self.without)?, trial(&mut self.with)?) else { return Ok(None) };
        let (old, new) = if active { (&with, &without) } else { (&without, &with) };
        let changes = new.cost < (1.0 - LEAST_GAIN) * old.cost && is_sure(old, new);
        Ok(Some(RedcapCheck { with_s: with.cost, without_s: without.cost, active: active != changes }))
    }
}

/// Whether `new` surely costs less than `old` by the least gain.
fn is_sure(old: &Trial, new: &Trial) -> bool {
    let (Some(old), Some(new)) = (&old.shares, &new.shares) else { return false };
    confidence(old, new, 1.0 - LEAST_GAIN).is_some_and(|sure| sure >= SURE)
}

/// Runs `session`, whose cache is decided from outside, to its end. The session must not have begun and must keep its log
/// ([`RunConfig::log`]).
///
/// # Errors
/// Where the run gets stuck.
pub fn fly_redcap<S, D, M>(mut session: Session<S, D>, mut pilot: RedcapPilot<M>) -> Result<RunReport, SimError>
where
    S: Source,
    D: Device,
    M: Device + Clone + Send + Sync,
{
    let (mut checks, mut reads, mut window) = (Vec::new(), 0, Vec::new());
    let (mut began, mut now) = (Nanos::ZERO, LOOK);
    session.set_redcap_active(false, Nanos::ZERO);
    while session.run_until(now)? {
        window.append(&mut session.take_completed());
        if !is_window_over(now.since(began), window.len()) {
            now += LOOK;
            continue;
        }
        began = now;
        window.sort_by_key(|record| record.arrival);
        reads += window.iter().filter(|record| record.op == Op::Read).count() as u64;
        let active = session.is_redcap_active();
        if let Some(check) = pilot.check(&window, session.outstanding(), active)? {
            checks.push(CheckReport {
                time_s: now.as_secs_f64(),
                reads,
                with_cache_ms: 1e3 * check.with_s,
                without_cache_ms: 1e3 * check.without_s,
                active: [active, check.active],
            });
            session.set_redcap_active(check.active, now);
        }
        window.clear();
        now += LOOK;
    }
    let (mut report, _) = session.finish();
    if let Some(redcap) = &mut report.redcap {
        redcap.checks = checks;
    }
    Ok(report)
}

/// As [`iopilot_sim::simulate`], also where the machine has a cache with the algorithm `rig`. The model of its trials is the
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
    let Some(spec) = machine.redcap.as_ref().filter(|spec| spec.algorithm == Algorithm::Rig) else {
        return simulate_alone(machine, workload, scheduler, options, progress);
    };
    let config = machine.run_config(&RunOptions { log: true, ..options.clone() });
    let pilot = RedcapPilot::new(spec, &machine.device(), scheduler, &config);
    let report = fly_redcap(begin(machine, workload, scheduler, &config)?, pilot)?;
    progress.add(report.requests);
    Ok(report)
}
