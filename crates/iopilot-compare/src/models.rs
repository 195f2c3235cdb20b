//! [`ModelComparison`]: one load as three models of a workload see it (Ganger 6): open, closed, and with its causes.

use crate::predict::Runner;
use iopilot_block::{InputError, Nanos};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, MachineSummary, Progress, RunOptions, RunReport, SimError};
use iopilot_trace::TraceRecord;
use iopilot_workload::replay::ReplayMode;
use iopilot_workload::{TraceWorkload, Workload, WorkloadSummary};
use rayon::prelude::*;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// What decides when a request arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadModel {
    /// The clock: at the times of the trace, whatever the storage does.
    Open,
    /// A completion: so many are always outstanding.
    Closed,
    /// Its process, which has waited and computed.
    System,
}

impl WorkloadModel {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Open, Self::Closed, Self::System];

    fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::System => "system",
        }
    }
}

impl fmt::Display for WorkloadModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WorkloadModel {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let found = Self::ALL.into_iter().find(|model| model.name() == text);
        found.ok_or_else(|| InputError::new("models", text, "open, closed or system"))
    }
}

/// What a model says of a scheduler.
#[derive(Clone, Debug, Serialize)]
pub struct ModelRun {
    /// The model.
    pub model: WorkloadModel,
    /// The scheduler, by name with tunables.
    pub scheduler: String,
    /// The mean response time.
    pub response_ms: f64,
    /// By how much that differs from what the same model says of the first scheduler, in percent.
    pub change_percent: f64,
    /// From the first request until all are complete; of a workload with tasks, the mean time that they take.
    pub elapsed_s: f64,
    /// The run.
    #[serde(skip)]
    pub report: RunReport,
}

/// What several models say of several schedulers.
#[derive(Clone, Debug, Serialize)]
pub struct ModelComparison {
    /// The machine.
    pub machine: MachineSummary,
    /// The workload.
    pub workload: WorkloadSummary,
    /// Under which scheduler, the first, the trace was taken that the open and the closed model replay.
    pub traced: String,
    /// Requests that the closed model keeps outstanding: as many as there were in the trace on average, at least 1.
    pub population: u32,
    /// For each model, each scheduler.
    pub runs: Vec<ModelRun>,
}

/// The time of the tasks of a run, or of all of it.
pub(crate) fn elapsed(run: &RunReport) -> f64 {
    crate::verdict::tasks_take(run).unwrap_or(run.elapsed_s)
}

/// The requests of a run as an open workload, `speed` times as fast, and as a closed one, and how many are outstanding in the
/// latter: as many as there were on average.
pub fn traced(workload: &Workload, run: &mut RunReport, speed: f64) -> ([Workload; 2], u32) {
    let mut records: Vec<TraceRecord> = run.log.take().unwrap_or_default();
    let span = |records: &[TraceRecord]| {
        let end = records.iter().filter_map(|record| record.completion).max()?;
        Some(end.since(records.first()?.arrival).as_secs_f64())
    };
    // Little's law.
    let outstanding = span(&records).map_or(1.0, |span| run.response_ms.mean * 1e-3 * records.len() as f64 / span);
    let population = (outstanding.round() as u32).max(1);
    for record in &mut records {
        record.arrival = Nanos((record.arrival.0 as f64 / speed) as u64);
    }
    let name = workload.summary(0).name;
    let replay = |mode| Workload::Trace(TraceWorkload::of_run(&name, &records, mode, population));
    ([replay(ReplayMode::Open), replay(ReplayMode::Closed)], population)
}

/// Runs `workload` with its causes on `machine` under the first of `schedulers`, and takes the trace of that. Then each of
/// `models` says how long the responses are under each scheduler. In parallel on rayon's threads; the result does not depend
/// on their number.
///
/// # Errors
/// If nothing is known of the causes of the workload, or as [`iopilot_sim::simulate`].
pub fn compare_models(
    machine: &Machine,
    workload: &Workload,
    schedulers: &[SchedulerSpec],
    models: &[WorkloadModel],
    options: &RunOptions,
    (run, progress): (Runner, &Progress),
) -> Result<ModelComparison, SimError> {
    if let Workload::Trace(trace) = workload {
        if trace.mode() != ReplayMode::Dependent {
            let got = format!("{} replay of {}", trace.mode(), trace.name());
            return Err(InputError::new("models", got, "a workload whose processes wait for their requests").into());
        }
    }
    let Some(first) = schedulers.first() else {
        return Err(InputError::new("scheduler", "none", "at least one").into());
    };
    let mut base = run(machine, workload, first, &RunOptions { log: true, ..options.clone() }, progress)?;
    let ([open, closed], population) = traced(workload, &mut base, 1.0);
    let of = |model| match model {
        WorkloadModel::Open => Cow::Borrowed(&open),
        WorkloadModel::Closed => Cow::Borrowed(&closed),
        WorkloadModel::System => Cow::Borrowed(workload),
    };
    let all: Vec<_> = models.iter().flat_map(|&model| schedulers.iter().map(move |s| (model, s))).collect();
    let reports: Vec<Result<RunReport, SimError>> =
        all.par_iter().map(|&(model, scheduler)| run(machine, &of(model), scheduler, options, progress)).collect();
    let mut runs: Vec<ModelRun> = Vec::with_capacity(all.len());
    let mut before = 0.0;
    for (n, ((model, scheduler), report)) in all.into_iter().zip(reports).enumerate() {
        let report = report?;
        let response_ms = report.response_ms.mean;
        if n % schedulers.len() == 0 {
            before = response_ms;
        }
        let change_percent = if before > 0.0 { 100.0 * (response_ms / before - 1.0) } else { 0.0 };
        let elapsed_s = elapsed(&report);
        runs.push(ModelRun { model, scheduler: scheduler.to_string(), response_ms, change_percent, elapsed_s, report });
    }
    Ok(ModelComparison {
        machine: machine.summary(),
        workload: workload.summary(options.seed),
        traced: first.to_string(),
        population,
        runs,
    })
}
