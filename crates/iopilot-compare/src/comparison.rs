//! [`Comparison`]: the results of several runs of one load, and the [`Verdict`] on them.
//!
//! The serialised form is documented in `docs/reference/report.md` and stable: fields are added, never renamed.

use crate::self_replay::SelfReplay;
use crate::verdict::Measure;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, MachineSummary, Progress, RunOptions, RunReport, SimError, simulate};
use iopilot_workload::{Workload, WorkloadSummary};
use rayon::prelude::*;
use serde::Serialize;

/// Several schedulers on one workload and machine.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The machine they ran on.
    pub machine: MachineSummary,
    /// The workload they served.
    pub workload: WorkloadSummary,
    /// What the model makes of the recordings under their own schedulers; empty where they do not carry them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub self_replays: Vec<SelfReplay>,
    /// One report a scheduler, in the order asked for.
    pub runs: Vec<RunReport>,
    /// Which is best, and by how much.
    pub verdict: Verdict,
}

/// The best scheduler, and how much better it is than the others.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The best by the measure below; of those that are equal by it, the one under which processes wait least. Where processes
    /// wait and think, the run that is least far from the best both in waiting and in the time until all has ended.
    pub best: String,
    /// What was compared: `throughput_mb_s` for workloads that issue as fast as they are served,
    /// `wait_ms_mean` where processes wait and think, `response_ms.mean` for open arrivals.
    pub measure: String,
    /// By how much it is better than the second by the measure, in percent of the second's value; below 0 where another is best
    /// by the measure alone.
    pub better_than_second_percent: f64,
    /// By how much it is better than the worst, in percent of the worst's value.
    pub better_than_worst_percent: f64,
    /// The best by the measure and those that are equal to it, within 1 % or within the spread of the replays; in order.
    pub equals: Vec<String>,
    /// The same in a sentence.
    pub text: String,
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
