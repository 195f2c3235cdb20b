//! [`run`]: runs any source on any device under one scheduler.

use crate::block_config::ResolvedQueue;
use crate::cache_decider::CacheDecider;
use crate::cpu_timing::{CpuTiming, FixedCosts};
use crate::engine::{SimulationEngine, Stuck};
use crate::error::SimError;
use crate::metrics::Recorder;
use crate::redcap_layer::RedcapLayer;
use crate::redcap_reference_disk::RedcapReferenceDisk;
use crate::report::RunReport;
use crate::run_config::RunConfig;
use iopilot_block::InputError;
use iopilot_device::Device;
use iopilot_redcap::{Algorithm, Redcap};
use iopilot_sched::{AnyScheduler, SchedulerSpec};
use iopilot_trace::{TraceError, TraceRecord};
use iopilot_workload::Source;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of runs, for another thread to read.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
}

impl Progress {
    /// The number of requests completed so far, over all runs.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Adds `n` completed requests.
    pub fn add(&self, n: u64) {
        self.done.fetch_add(n, Ordering::Relaxed);
    }
}

/// Runs `source` on `device` under one scheduler, to the source's end. A pure function of its arguments: the same bytes
/// come out on any machine. Memory is bounded by the requests in flight and the number of processes.
///
/// # Errors
/// If a setting is not accepted, the run gets stuck, or the run ends before its warm-up.
pub fn run<S: Source, D: Device>(
    source: S,
    device: D,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
    progress: &Progress,
) -> Result<RunReport, SimError> {
    run_decided(source, device, scheduler, config, progress, None, None)
}

/// As [`run_logged`], with a decider for a cache whose algorithm is `adaptive`. If `config` wants a log and there is no
/// `log`, the report has it.
pub(crate) fn run_decided<S: Source, D: Device>(
    source: S,
    device: D,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
    progress: &Progress,
    log: Option<LogSink<'_>>,
    decider: Option<Box<dyn CacheDecider>>,
) -> Result<RunReport, SimError> {
    let cpus = FixedCosts::new(&config.host, device.hardware_queues(), config.seed);
    let engine = decided(source, device, cpus, scheduler, config, log.is_some() || config.log, decider)?;
    if log.is_some() || !config.log {
        return run_engine(engine, scheduler, config, progress, log);
    }
    let mut kept = Vec::new();
    let mut keep = |record: &TraceRecord| {
        kept.push(record.clone());
        Ok(())
    };
    let report = run_engine(engine, scheduler, config, progress, Some(&mut keep))?;
    Ok(RunReport { log: Some(kept), ..report })
}

/// The function to which [`run_logged`] sends the record of each request. An error ends the run.
pub type LogSink<'a> = &'a mut dyn FnMut(&TraceRecord) -> Result<(), TraceError>;

/// As [`run`]. Also sends the record of every request to `log`, if there is one, in order of arrival while the run goes on.
/// Only requests that arrived after one in flight are held back. [`RunConfig::log`] has no effect here.
///
/// # Errors
/// As [`run`], and those of `log`.
pub fn run_logged<S: Source, D: Device>(
    source: S,
    device: D,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
    progress: &Progress,
    log: Option<LogSink<'_>>,
) -> Result<RunReport, SimError> {
    let cpus = FixedCosts::new(&config.host, device.hardware_queues(), config.seed);
    run_timed(source, device, cpus, scheduler, config, progress, log)
}

/// As [`run_logged`], with another CPU timing than the fixed costs of [`RunConfig::host`].
///
/// # Errors
/// As [`run_logged`].
pub fn run_timed<S: Source, D: Device, C: CpuTiming>(
    source: S,
    device: D,
    cpus: C,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
    progress: &Progress,
    log: Option<LogSink<'_>>,
) -> Result<RunReport, SimError> {
    let engine = decided(source, device, cpus, scheduler, config, log.is_some(), None)?;
    run_engine(engine, scheduler, config, progress, log)
}

/// The engine of a run, with a decider for its cache.
fn decided<S: Source, D: Device, C: CpuTiming>(
    source: S,
    device: D,
    cpus: C,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
    log: bool,
    decider: Option<Box<dyn CacheDecider>>,
) -> Result<RunEngine<S, D, C>, SimError> {
    if let Some(spec) = config.redcap.as_ref().filter(|spec| spec.algorithm == Algorithm::Adaptive && decider.is_none())
    {
        // Nothing here decides for the cache.
        let expected = "an algorithm that decides by itself: nothing decides for `adaptive` in this run";
        return Err(InputError::new("redcap: algorithm", spec.algorithm.name(), expected).into());
    }
    let (queue, built) = config.scheduler_for(scheduler, &device)?;
    let mut engine = assembled(source, queue, (scheduler, built), device, cpus, config, log)?;
    engine.decide_by(decider);
    Ok(engine)
}

/// Runs an engine to the end.
fn run_engine<S: Source, D: Device, C: CpuTiming>(
    engine: RunEngine<S, D, C>,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
    progress: &Progress,
    mut log: Option<LogSink<'_>>,
) -> Result<RunReport, SimError> {
    let done = engine.run(|n, recorder| {
        progress.add(n);
        match (&mut log, &mut recorder.log) {
            (Some(sink), Some(log)) => log.ready().try_for_each(|record| sink(&record)).map_err(End::Log),
            _ => Ok(()),
        }
    });
    match done {
        Ok(engine) => {
            let (report, _) = engine.finish(config.run_name(scheduler));
            config.warm_up.map_or(Ok(()), |warm_up| warm_up.check(report.requests))?;
            Ok(report)
        }
        Err(End::Log(e)) => Err(e.into()),
        Err(End::Stuck(stuck)) => Err(stuck.under(scheduler)),
    }
}

/// The engine of a run.
pub(crate) type RunEngine<S, D, C> = SimulationEngine<S, D, C, RedcapReferenceDisk>;

/// The engine of a run, with a cache if `config` has one.
pub(crate) fn assembled<S: Source, D: Device, C: CpuTiming>(
    source: S,
    queue: ResolvedQueue,
    (spec, scheduler): (&SchedulerSpec, AnyScheduler),
    device: D,
    cpus: C,
    config: &RunConfig,
    log: bool,
) -> Result<RunEngine<S, D, C>, SimError> {
    let Some(redcap) = &config.redcap else {
        let recorder = Recorder::new(log || config.disk_log, config.outcomes);
        return Ok(SimulationEngine::new(source, queue, scheduler, device, cpus, recorder).with_warm_up(config.warm_up));
    };
    let capacity = device.capacity();
    let needed = redcap.algorithm.needs_reference_disk();
    let disk = needed.then(|| RedcapReferenceDisk::new(spec, capacity, config)).transpose()?;
    let recorder = Recorder::new(log, config.outcomes);
    let mut layer = RedcapLayer::new(Redcap::with_reference_disk(redcap, capacity, disk)?, redcap, recorder);
    layer.set_queue_limit(queue.requests());
    let below = Recorder::new(config.disk_log, false);
    let engine = SimulationEngine::new(source, queue, scheduler, device, cpus, below);
    Ok(engine.with_redcap(layer).with_warm_up(config.warm_up))
}

/// Why a run ended early.
enum End {
    Log(TraceError),
    Stuck(Stuck),
}

impl From<Stuck> for End {
    fn from(stuck: Stuck) -> Self {
        Self::Stuck(stuck)
    }
}
