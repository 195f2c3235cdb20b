//! [`Comparison`]: the results of several runs of one load, and the [`Verdict`] on them.
//!
//! The serialised form is documented in `docs/reference/report.md` and stable: fields are added, never renamed.

use crate::measure::Measure;
use crate::self_replay::SelfReplay;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, MachineSummary, Progress, RunOptions, RunReport, SimError, simulate};
use iopilot_workload::{Workload, WorkloadSummary};
use rayon::prelude::*;
use serde::Serialize;

/// The runs of several schedulers on one workload and machine.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The machine they ran on.
    pub machine: MachineSummary,
    /// The workload they served.
    pub workload: WorkloadSummary,
    /// The recordings replayed under the schedulers that they were recorded under. Empty if they do not name them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub self_replays: Vec<SelfReplay>,
    /// One report for each scheduler, in the order of the request.
    pub runs: Vec<RunReport>,
    /// Which scheduler is best, and by how much.
    pub verdict: Verdict,
}

/// The best scheduler, and how much better it is than the others.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// The best scheduler. If several are equal by the measure below, the one under which processes wait least. If a run with
    /// hardly more waiting ends much sooner, that one.
    pub best: String,
    /// The quantity that was compared: `throughput_mb_s` for workloads that issue as fast as they are served,
    /// `wait_ms_mean` if processes wait and think, `task_s_mean` for tasks on CPUs, `elapsed_s` for programs without tasks,
    /// `response_ms.mean` for open arrivals.
    pub measure: String,
    /// The quantity that decided where the measure alone did not: `wait_ms_mean` or `process_wait_ms` between runs that are equal
    /// by the measure, `elapsed_s` if the best ends much sooner than the run with the least waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// How much better it is than the second by the measure, in percent of the second's value. Negative if another one is best
    /// by the measure alone.
    pub better_than_second_percent: f64,
    /// How much better it is than the worst, in percent of the worst's value.
    pub better_than_worst_percent: f64,
    /// The best by the measure, and those that equal it within 1 % or within the spread of the replays; in order.
    pub equals: Vec<String>,
    /// The schedulers that the sentence below calls best: one, or several equal ones. Empty if the scheduler does not matter.
    pub winners: Vec<String>,
    /// The verdict as a sentence.
    pub text: String,
}

impl Comparison {
    /// The verdict on a subset of the runs, by the same measure.
    pub fn verdict_on(&self, counts: impl Fn(&RunReport) -> bool) -> Verdict {
        let runs: Vec<RunReport> = self.runs.iter().filter(|run| counts(run)).cloned().collect();
        Measure::with_key(&self.verdict.measure).map_or_else(|| self.verdict.clone(), |m| Verdict::of(&runs, m))
    }
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
    let verdict = Verdict::of(&runs, Measure::of(workload, &runs));
    Comparison {
        machine: machine.summary(),
        workload: workload.summary(options.seed),
        self_replays: Vec::new(),
        runs,
        verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_workload::WorkloadOptions;
    use std::path::Path;

    #[test]
    fn a_verdict_on_some_goes_by_the_measure_of_all() {
        let machine = Machine::for_disk("hd-500-16").unwrap();
        let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces/mixed.parquet");
        let workload = Workload::load(&trace, &WorkloadOptions::default(), machine.capacity()).unwrap();
        let all = ["sstf", "noop", "bfq"].map(|name| SchedulerSpec::parse(name).unwrap());
        let options = RunOptions::default();
        let comparison = compare(&machine, &workload, &all, &options, &Progress::default()).unwrap();
        let two = compare(&machine, &workload, &all[1..], &options, &Progress::default()).unwrap().verdict;
        let some = comparison.verdict_on(|run| run.scheduler != "sstf");
        assert_eq!((some.text, some.measure), (two.text, two.measure));
        assert_eq!(comparison.verdict_on(|_| false).text, "Nothing was run.");
    }
}
