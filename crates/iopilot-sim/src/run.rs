//! [`run`]: any source on any device, under one scheduler.

use crate::block_config::{BlockConfig, DeviceTraits, ResolvedQueue};
use crate::cpu_overheads::CpuOverheads;
use crate::cpu_timing::{CpuTiming, FixedCosts};
use crate::engine::{SimulationEngine, Stuck};
use crate::error::SimError;
use crate::metrics::Recorder;
use crate::redcap_layer::RedcapLayer;
use crate::redcap_reference_disk::RedcapReferenceDisk;
use crate::report::RunReport;
use crate::warm_up::WarmUp;
use iopilot_block::InputError;
use iopilot_device::{Device, TimeTables};
use iopilot_redcap::{Algorithm, Redcap, RedcapSpec};
use iopilot_sched::{AnyScheduler, Environment, Scheduler, SchedulerSpec};
use iopilot_trace::{TraceError, TraceRecord};
use iopilot_workload::Source;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The parts of a machine that are not its device, and the seed of a run.
#[derive(Clone, Debug, Default)]
pub struct RunConfig {
    /// The block layer.
    pub block: BlockConfig,
    /// The CPUs.
    pub host: CpuOverheads,
    /// A cache above the block layer, where there is one.
    pub redcap: Option<RedcapSpec>,
    /// What is known of the disk's times before the run, for a cache whose algorithm has a reference disk: two tables, trained off
    /// line (GF 3.2.5). Without them it knows nothing, and learns.
    pub tables: Option<Arc<TimeTables>>,
    /// `queue/rotational`: whether the scheduler is told that seeks cost time.
    pub rotational: bool,
    /// The seed for the contention for freed tags. The workload has its own.
    pub seed: u64,
    /// Whether the report is to hold every request; [`run_logged`] needs no memory for them.
    pub log: bool,
    /// Whether the requests of the device are kept for [`crate::Session::take_disk_completed`]. Without a cache above the block
    /// layer they are those of the log.
    pub disk_log: bool,
    /// Whether the report is to hold the outcome of each of the source's requests ([`RunReport::outcomes`]).
    pub outcomes: bool,
    /// The beginning of the run that the report leaves out, where there is one. Logs and outcomes have all of the run.
    pub warm_up: Option<WarmUp>,
}

/// The progress of runs, for another thread to read.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
}

impl Progress {
    /// Requests completed so far, over all runs.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Adds `n` completed requests that no run has counted.
    pub fn add(&self, n: u64) {
        self.done.fetch_add(n, Ordering::Relaxed);
    }
}

/// Runs `source` on `device` under one scheduler, to the source's end. A pure function of its arguments: the same bytes
/// come out on any machine. Memory is bounded by the requests in flight and the number of processes.
///
/// # Errors
/// Where a setting is not accepted, the run gets stuck, or is over before its warm-up is.
pub fn run<S: Source, D: Device>(
    source: S,
    device: D,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
    progress: &Progress,
) -> Result<RunReport, SimError> {
    let mut log = Vec::new();
    let mut keep = |record: &TraceRecord| {
        log.push(record.clone());
        Ok(())
    };
    let report = run_logged(source, device, scheduler, config, progress, config.log.then_some(&mut keep))?;
    Ok(RunReport { log: config.log.then_some(log), ..report })
}

/// Where [`run_logged`] sends the record of each request. An error ends the run.
pub type LogSink<'a> = &'a mut dyn FnMut(&TraceRecord) -> Result<(), TraceError>;

/// As [`run`]. Also sends every request to `log`, where there is one, in order of arrival while the run goes on. Only
/// requests that arrived behind one in flight are held back. [`RunConfig::log`] has no effect here.
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
    mut log: Option<LogSink<'_>>,
) -> Result<RunReport, SimError> {
    if let Some(spec) = config.redcap.as_ref().filter(|spec| spec.algorithm == Algorithm::Adaptive) {
        // Nobody would decide.
        let expected = "an algorithm that decides by itself, in a run that nobody watches";
        return Err(InputError::new("redcap: algorithm", spec.algorithm.name(), expected).into());
    }
    let (queue, built) = built(&device, scheduler, config)?;
    let engine = assembled(source, queue, (scheduler, built), device, cpus, config, log.is_some())?;
    let done = engine.run(|n, recorder| {
        progress.add(n);
        match (&mut log, &mut recorder.log) {
            (Some(sink), Some(log)) => log.ready().try_for_each(|record| sink(&record)).map_err(End::Log),
            _ => Ok(()),
        }
    });
    match done {
        Ok(engine) => {
            let (report, _) = engine.finish(run_name(scheduler, config));
            config.warm_up.map_or(Ok(()), |warm_up| warm_up.check(&report))?;
            Ok(report)
        }
        Err(End::Log(e)) => Err(e.into()),
        Err(End::Stuck(stuck)) => Err(stuck.under(scheduler)),
    }
}

/// The name of a run: the scheduler, and the cache where there is one.
pub(crate) fn run_name(scheduler: &SchedulerSpec, config: &RunConfig) -> String {
    match &config.redcap {
        Some(redcap) => format!("{scheduler} + {redcap}"),
        None => scheduler.to_string(),
    }
}

/// The engine of a run, with a cache where `config` has one.
pub(crate) fn assembled<S: Source, D: Device, C: CpuTiming>(
    source: S,
    queue: ResolvedQueue,
    (spec, scheduler): (&SchedulerSpec, AnyScheduler),
    device: D,
    cpus: C,
    config: &RunConfig,
    log: bool,
) -> Result<SimulationEngine<S, D, C>, SimError> {
    let Some(redcap) = &config.redcap else {
        let recorder = Recorder::new(log || config.disk_log, config.outcomes);
        return Ok(SimulationEngine::new(source, queue, scheduler, device, cpus, recorder).with_warm_up(config.warm_up));
    };
    let capacity = device.capacity();
    let needed = redcap.algorithm.needs_reference_disk();
    let disk = needed.then(|| RedcapReferenceDisk::new(spec, capacity, config)).transpose()?;
    let recorder = Recorder::new(log, config.outcomes);
    let layer = RedcapLayer::new(Redcap::with_reference_disk(redcap, capacity, disk)?, redcap, recorder);
    let below = Recorder::new(config.disk_log, false);
    let engine = SimulationEngine::new(source, queue, scheduler, device, cpus, below);
    Ok(engine.with_redcap(layer).with_warm_up(config.warm_up))
}

/// The scheduler that `scheduler` describes for `device`, and the queue it gets.
pub(crate) fn built<D: Device>(
    device: &D,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
) -> Result<(ResolvedQueue, AnyScheduler), SimError> {
    let queue = config.block.resolve(scheduler.info(), &DeviceTraits::of(device, config.rotational), &config.host);
    let environment = Environment {
        cpus: queue.cpus,
        hardware_queues: queue.map.queues() as u16,
        rotational: config.rotational,
        capacity: device.capacity(),
        queue_depth: queue.queue_depth,
        nr_requests: queue.nr_requests,
    };
    let built = scheduler
        .build(&environment)
        .map_err(|source| SimError::Tunable { scheduler: scheduler.name.to_owned(), source })?;
    if built.needs_positions() && device.positions().is_none() {
        return Err(InputError::new(
            "scheduler",
            scheduler.to_string(),
            "one that does not ask where the arm is: this disk has none",
        )
        .into());
    }
    Ok((queue, built))
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
