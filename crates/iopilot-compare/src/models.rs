//! [`ModelComparison`]: one load under three models of a workload (Ganger 6): open, closed, and with its causes.

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

/// The rule by which requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadModel {
    /// Requests arrive at the times of the trace, whatever the storage does.
    Open,
    /// A request arrives at each completion, so that the number outstanding stays the same.
    Closed,
    /// A request arrives when its process, which waits and computes, issues it.
    System,
}

impl WorkloadModel {
    /// All models.
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

/// The prediction of one model for one scheduler.
#[derive(Clone, Debug, Serialize)]
pub struct ModelRun {
    /// The model.
    pub model: WorkloadModel,
    /// The scheduler, by name with tunables.
    pub scheduler: String,
    /// The mean response time.
    pub response_ms: f64,
    /// The difference from the same model's response time under the first scheduler, in percent.
    pub change_percent: f64,
    /// The time from the first request until all are complete. For a workload with tasks, the mean time of the tasks.
    pub elapsed_s: f64,
    /// The run.
    #[serde(skip)]
    pub report: RunReport,
}

/// The predictions of several models for several schedulers.
#[derive(Clone, Debug, Serialize)]
pub struct ModelComparison {
    /// The machine.
    pub machine: MachineSummary,
    /// The workload.
    pub workload: WorkloadSummary,
    /// The first scheduler. The open and the closed model replay a trace of the run under it.
    pub traced: String,
    /// The number of requests that the closed model keeps outstanding: the mean of the trace, at least 1.
    pub population: u32,
    /// The runs: for each model, each scheduler.
    pub runs: Vec<ModelRun>,
}

/// The mean time of the tasks of a run, or of the whole run if it has no tasks.
pub(crate) fn elapsed(run: &RunReport) -> f64 {
    run.task_s_mean.unwrap_or(run.elapsed_s)
}

/// The requests of a run as an open workload, `speed` times as fast, and as a closed workload. The closed one keeps as many
/// requests outstanding as the run did on average; that number is returned, too.
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

/// Runs `workload` with its causes on `machine` under the first of `schedulers`, and records a trace. Then each of `models`
/// predicts the response times under each scheduler. The runs are parallel on rayon's threads; the result does not depend on
/// their number.
///
/// # Errors
/// If the causes of the workload are not known, or as [`iopilot_sim::simulate`].
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
