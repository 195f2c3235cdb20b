//! [`simulate`]: a workload on a machine, under a scheduler.

use crate::cache_decider::CacheDecider;
use crate::error::SimError;
use crate::machine::Machine;
use crate::report::RunReport;
use crate::run::{LogSink, Progress, run, run_decided, run_logged};
use crate::run_config::RunConfig;
use crate::session::Session;
use crate::warm_up::WarmUp;
use iopilot_catalogue::AnyDevice;
use iopilot_sched::SchedulerSpec;
use iopilot_workload::Source;
use iopilot_workload::Workload;

/// The options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The seed of all random choices.
    pub seed: u64,
    /// Whether reports contain every request.
    pub log: bool,
    /// The warm-up that reports leave out, if there is one.
    pub warm_up: Option<WarmUp>,
}

/// Runs `workload` on `machine` under `scheduler`.
///
/// # Errors
/// If a setting is not accepted, the workload does not fit the disk, or the run gets stuck.
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    scheduler: &SchedulerSpec,
    options: &RunOptions,
    progress: &Progress,
) -> Result<RunReport, SimError> {
    let source = workload.source(machine.capacity(), machine.processes().as_ref(), options.seed)?;
    run(source, machine.device(), scheduler, &machine.run_config(options), progress)
}

/// A session of `workload` on `machine` under `scheduler`, before its first event. `config` is usually
/// [`Machine::run_config`].
///
/// # Errors
/// If a setting is not accepted, or the workload does not fit the disk.
pub fn begin<'w>(
    machine: &Machine,
    workload: &'w Workload,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
) -> Result<Session<impl Source + Clone + Send + Sync + use<'w>, AnyDevice>, SimError> {
    let source = workload.source(machine.capacity(), machine.processes().as_ref(), config.seed)?;
    Session::new(source, machine.device(), scheduler, config)
}

/// As [`simulate`] and [`simulate_logged`], with a decider for the machine's cache, if that has the algorithm `adaptive`.
///
/// # Errors
/// As [`simulate`], and those of `log` and of the decider.
pub fn simulate_decided(
    machine: &Machine,
    workload: &Workload,
    scheduler: &SchedulerSpec,
    options: &RunOptions,
    progress: &Progress,
    log: Option<LogSink<'_>>,
    decider: Option<Box<dyn CacheDecider>>,
) -> Result<RunReport, SimError> {
    let source = workload.source(machine.capacity(), machine.processes().as_ref(), options.seed)?;
    run_decided(source, machine.device(), scheduler, &machine.run_config(options), progress, log, decider)
}

/// Runs `workload` on `machine` under `scheduler`, and sends every request to `log` in order of
/// arrival while the run goes on ([`run_logged`]).
///
/// # Errors
/// As [`simulate`], and those of `log`.
pub fn simulate_logged(
    machine: &Machine,
    workload: &Workload,
    scheduler: &SchedulerSpec,
    options: &RunOptions,
    progress: &Progress,
    log: LogSink<'_>,
) -> Result<RunReport, SimError> {
    let source = workload.source(machine.capacity(), machine.processes().as_ref(), options.seed)?;
    let config = machine.run_config(options);
    run_logged(source, machine.device(), scheduler, &config, progress, Some(log))
}
