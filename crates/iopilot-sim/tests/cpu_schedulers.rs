//! The effect of CPU schedulers on Ganger's tasks.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, Progress, RunOptions, RunReport, simulate};
use iopilot_workload::{Workload, WorkloadOptions};
use std::path::Path;

const MACHINE: &str = include_str!("../../../examples/machines/ncr-3433-1995.toml");

/// A run on the machine of 1995, with `more` in its `[host]`.
fn run(task: &str, scheduler: &str, more: &str) -> RunReport {
    let machine = Machine::from_toml(&format!("{MACHINE}\n{more}"), Path::new("machine.toml")).unwrap();
    let workload = Workload::load(Path::new(task), &WorkloadOptions::default(), machine.capacity()).unwrap();
    let scheduler = SchedulerSpec::parse(scheduler).unwrap();
    simulate(&machine, &workload, &scheduler, &RunOptions::default(), &Progress::default()).unwrap()
}

/// The elapsed time of the only task and its parts, in seconds, and the number of requests.
fn figures(run: &RunReport) -> ([f64; 5], f64) {
    let host = run.host.as_ref().unwrap();
    let [task] = &host.tasks[..] else { panic!("one task") };
    let times = &task.times;
    let parts = [times.computation_s, times.other_s, times.false_computation_s, times.false_idle_s];
    ([task.elapsed_s, parts[0], parts[1], parts[2], parts[3]], run.requests as f64)
}

#[test]
fn one_task_takes_as_long_under_rr_as_under_svr4() {
    for task in ["compress", "uncompress", "copytree", "removetree"] {
        for scheduler in ["clook", "prio(clook)"] {
            let of = |cpus: &str| figures(&run(task, scheduler, &format!("scheduler = \"{cpus}\"")));
            let ((rr, rr_requests), (svr4, svr4_requests)) = (of("rr"), of("svr4"));
            for (ours, theirs) in rr.into_iter().zip(svr4) {
                assert!((ours - theirs).abs() < 0.01 * rr[0], "{task}, {scheduler}: {rr:?} and {svr4:?}");
            }
            assert!((svr4_requests / rr_requests - 1.0).abs() < 0.01, "{rr_requests} and {svr4_requests} requests");
        }
    }
}
