//! Machines, loads and runs.

use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, Machine, Progress, RunOptions, RunReport, simulate};
use iopilot_workload::{FioJobs, GangerSpec, Workload};

/// The single disk of Carroll's machine.
pub(crate) const CARROLLS_DISK: &str = "dg072a4951";

/// `disk` with `depth` requests in it at once, and the kernel's defaults elsewhere.
pub(crate) fn machine(disk: &str, depth: u32) -> Machine {
    let mut machine = Machine::for_disk(disk).unwrap();
    machine.block.queue_depth = Some(depth);
    machine
}

/// `disk` below a bare queue without merging, plugging or lookahead, which is the same for schedulers of any lineage.
pub(crate) fn bare_machine(disk: &str) -> Machine {
    let mut machine = machine(disk, 1);
    machine.block = BlockConfig {
        nr_requests: Some(128),
        max_sectors_kb: Some(512),
        nomerges: 2,
        plug: Some(false),
        lookahead: Some(false),
        ..machine.block
    };
    machine
}

/// A fio job file.
pub(crate) fn fio(text: &str) -> Workload {
    Workload::Fio { name: "job".into(), jobs: FioJobs::parse(text, "job").unwrap() }
}

/// A description for Ganger's generator.
pub(crate) fn ganger(text: &str) -> Workload {
    Workload::Ganger { name: "load".into(), spec: GangerSpec::from_toml(text, "load").unwrap() }
}

/// The report of a run under `scheduler`, with every request.
pub(crate) fn serve(machine: &Machine, workload: &Workload, scheduler: &str) -> RunReport {
    let options = RunOptions { seed: 1, log: true, ..RunOptions::default() };
    simulate(machine, workload, &SchedulerSpec::parse(scheduler).unwrap(), &options, &Progress::default()).unwrap()
}

/// The throughput of each process over the whole run, in 10^6 bytes a second.
pub(crate) fn rates(report: &RunReport) -> Vec<f64> {
    report.processes.iter().map(|p| p.bytes as f64 / 1e6 / report.elapsed_s).collect()
}
