//! Ganger's thesis (1995) end to end: processes, a page cache and the disk of 1995, and the effect of a scheduler on a
//! user's task.

mod criticality;
mod feedback;
mod steps;
mod system;
mod tables;
mod variants;

use super::{Experiment, Outcome, ResultTable, Setup};
use anyhow::Context;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, Progress, RunOptions, RunReport, simulate};
use iopilot_workload::{Workload, WorkloadOptions};
use rayon::prelude::*;
use std::path::Path;

pub(super) const SYSTEM: Experiment = Experiment {
    name: "ganger-system",
    source: "Ganger 5.4, 7.1",
    title: "Ganger's four tasks and SynRGen on his machine: figures, classes of requests, time limits",
    run: system::run,
};

pub(super) const FEEDBACK: Experiment = Experiment {
    name: "ganger-feedback",
    source: "Ganger 6",
    title: "open, closed and system models of Ganger's workloads, where the storage changes",
    run: feedback::run,
};

pub(super) const CRITICALITY: Experiment = Experiment {
    name: "ganger-criticality",
    source: "Ganger 7",
    title: "criticality-based scheduling of Ganger's workloads",
    run: criticality::run,
};

/// Ganger's machine (5.3).
const MACHINE: &str = include_str!("../../../examples/machines/ncr-3433-1995.toml");
/// The same with a cached controller (6.3.2), without what the controller does in idle times.
const CACHED: &str = include_str!("../../../examples/machines/ncr-3433-cached-1995.toml");

/// The four tasks (5.2).
const TASKS: [&str; 4] = ["compress", "uncompress", "copytree", "removetree"];

/// A machine on which workloads are run.
struct Bench {
    machine: Machine,
    seed: u64,
}

impl Bench {
    /// Ganger's machine, with `more` appended to its description.
    fn new(more: &str, setup: &Setup<'_>) -> anyhow::Result<Self> {
        Self::of(&format!("{MACHINE}\n{more}"), setup)
    }

    fn of(description: &str, setup: &Setup<'_>) -> anyhow::Result<Self> {
        let machine = Machine::from_toml(description, Path::new("machine.toml"))?;
        Ok(Self { machine, seed: setup.seed })
    }

    fn workload(&self, name: &str) -> anyhow::Result<Workload> {
        Ok(Workload::load(Path::new(name), &WorkloadOptions::default(), self.machine.capacity())?)
    }

    /// Runs `workload`; with `log` the report lists each request.
    fn run(&self, workload: &Workload, scheduler: &str, log: bool) -> anyhow::Result<RunReport> {
        let scheduler = SchedulerSpec::parse(scheduler)?;
        let options = RunOptions { seed: self.seed, log, ..RunOptions::default() };
        Ok(simulate(&self.machine, workload, &scheduler, &options, &Progress::default())?)
    }
}

/// Runs of workloads under schedulers.
struct Runs {
    points: Vec<(&'static str, &'static str)>,
    reports: Vec<RunReport>,
}

impl Runs {
    /// Runs all `points`, each a workload and a scheduler, in parallel.
    fn new(bench: &Bench, points: Vec<(&'static str, &'static str)>) -> anyhow::Result<Self> {
        let run = |&(name, scheduler): &(&str, &str)| bench.run(&bench.workload(name)?, scheduler, false);
        let reports = points.par_iter().map(run).collect::<anyhow::Result<_>>()?;
        Ok(Self { points, reports })
    }

    fn of(&self, name: &str, scheduler: &str) -> anyhow::Result<&RunReport> {
        let at = self.points.iter().position(|&point| point == (name, scheduler));
        at.and_then(|at| self.reports.get(at)).context("a run of each")
    }
}

/// The figures of a run's tasks, on average.
#[derive(Clone, Copy, Debug)]
struct Figures {
    elapsed_s: f64,
    task_cpu_s: f64,
    false_idle_s: f64,
    io_wait_s: f64,
    io_waits: f64,
    response_ms: f64,
    service_ms: f64,
}

impl Figures {
    fn of(run: &RunReport) -> anyhow::Result<Self> {
        let host = run.host.as_ref().context("a workload with a host")?;
        let count = host.tasks.len().max(1) as f64;
        let mean = |of: fn(&iopilot_block::TaskReport) -> f64| host.tasks.iter().map(of).sum::<f64>() / count;
        Ok(Self {
            elapsed_s: mean(|task| task.elapsed_s),
            task_cpu_s: mean(|task| task.times.computation_s),
            false_idle_s: mean(|task| task.times.false_idle_s),
            io_wait_s: mean(|task| task.io_wait_s),
            io_waits: mean(|task| task.io_waits as f64),
            response_ms: run.response_ms.mean,
            service_ms: run.service_ms.mean,
        })
    }

    /// The mean response time of a run, in milliseconds.
    fn of_any(run: &RunReport) -> f64 {
        run.response_ms.mean
    }

    /// The mean time of a wait, in milliseconds.
    fn wait_ms(&self) -> f64 {
        1e3 * self.io_wait_s / self.io_waits.max(1.0)
    }
}

/// By how many percent `new` differs from `old`.
fn change(new: f64, old: f64) -> f64 {
    100.0 * (new / old - 1.0)
}
