//! [`simulate`] and [`compare`]: a workload on a machine, under one scheduler or several.

use crate::error::SimError;
use crate::machine::Machine;
use crate::report::{Comparison, RunReport, Verdict};
use crate::run::{LogSink, Progress, RunConfig, run, run_logged};
use crate::session::Session;
use crate::verdict::Measure;
use iopilot_device::AnyDevice;
use iopilot_sched::SchedulerSpec;
use iopilot_workload::Source;
use iopilot_workload::Workload;
use rayon::prelude::*;

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Seed of all random choices.
    pub seed: u64,
    /// Whether reports are to hold every request.
    pub log: bool,
}

/// Runs `workload` on `machine` under `scheduler`.
///
/// # Errors
/// Where a setting is not accepted, the workload does not fit the disk, or the run gets stuck.
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    scheduler: &SchedulerSpec,
    options: &RunOptions,
    progress: &Progress,
) -> Result<RunReport, SimError> {
    let source = workload.source(machine.capacity(), options.seed)?;
    run(source, machine.device(), scheduler, &machine.run_config(options), progress)
}

/// A session of `workload` on `machine` under `scheduler`, before its first event. `config` is usually
/// [`Machine::run_config`].
///
/// # Errors
/// Where a setting is not accepted, or the workload does not fit the disk.
pub fn begin<'w>(
    machine: &Machine,
    workload: &'w Workload,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
) -> Result<Session<impl Source + Clone + Send + Sync + use<'w>, AnyDevice>, SimError> {
    let source = workload.source(machine.capacity(), config.seed)?;
    Session::new(source, machine.device(), scheduler, config)
}

/// Runs `workload` on `machine` under `scheduler`, as a comparison of one, and sends every request to `log` in order of
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
) -> Result<Comparison, SimError> {
    let source = workload.source(machine.capacity(), options.seed)?;
    let config = machine.run_config(options);
    let report = run_logged(source, machine.device(), scheduler, &config, progress, Some(log))?;
    Ok(comparison(machine, workload, options, vec![report]))
}

/// Runs `workload` on `machine` under each of `schedulers`, in parallel on rayon's threads. The result does not depend
/// on their number.
///
/// # Errors
/// As [`simulate`]; the first of them in the order of `schedulers`.
pub fn compare(
    machine: &Machine,
    workload: &Workload,
    schedulers: &[SchedulerSpec],
    options: &RunOptions,
    progress: &Progress,
) -> Result<Comparison, SimError> {
    let runs: Vec<Result<RunReport, SimError>> =
        schedulers.par_iter().map(|s| simulate(machine, workload, s, options, progress)).collect();
    let runs = runs.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(comparison(machine, workload, options, runs))
}

/// The comparison of several runs of one workload on one machine, as [`compare`] returns it.
pub fn comparison(machine: &Machine, workload: &Workload, options: &RunOptions, runs: Vec<RunReport>) -> Comparison {
    let verdict = Verdict::of(&runs, Measure::of(workload));
    Comparison {
        machine: machine.summary(),
        workload: workload.summary(options.seed),
        self_replays: Vec::new(),
        runs,
        verdict,
    }
}
