//! Ganger's generators on shared CPUs, and with a CPU each.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use iopilot_host::HostSettings;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{CpuOverheads, Machine, Progress, RunConfig, RunOptions, RunReport, run};
use iopilot_workload::GangerSpec;
use iopilot_workload::ganger::{on_host, on_own_cpus};

const GENERATORS: &str = r#"
requests = 3000

[[generator]]
name = "reader"
processes = 3
read_probability = 0.9
sequential_probability = 0.4
local_probability = 0.2
time_critical_probability = 0.5
time_limited_probability = 0.3
time_limit_ms = { distribution = "uniform", min = 0.0, max = 30.0 }
general_time_ms = { distribution = "exponential", mean = 12.0 }
local_distance_sectors = { distribution = "normal", mean = 0.0, deviation = 4000.0 }
size_sectors = { distribution = "exponential", mean = 16.0, base = 1.0 }

[[generator]]
name = "writer"
processes = 2
start_s = 0.5
read_probability = 0.1
time_limited_probability = 0.2
time_limit_ms = { distribution = "uniform", min = 0.0, max = 100.0 }
general_time_ms = { distribution = "exponential", mean = 25.0 }
size_sectors = 8
"#;

fn spec() -> GangerSpec {
    GangerSpec::from_toml(GENERATORS, "generators.toml").unwrap()
}

/// The task of a completed request resumes at once, because the host itself charges for that.
fn config(machine: &Machine) -> RunConfig {
    let host = CpuOverheads { resume_us: Some(0.0), ..machine.host.clone() };
    RunConfig { host, ..machine.run_config(&RunOptions { seed: 5, log: true, ..RunOptions::default() }) }
}

fn on_cpus(machine: &Machine, settings: &HostSettings, scheduler: &str) -> RunReport {
    let source = on_host(&spec(), settings, machine.capacity(), 5).unwrap();
    let scheduler = SchedulerSpec::parse(scheduler).unwrap();
    run(source, machine.device(), &scheduler, &config(machine), &Progress::default()).unwrap()
}

#[test]
fn generators_on_as_many_cpus_issue_the_same_requests_as_on_their_own() {
    let machine = Machine::for_disk("hd-500-16").unwrap();
    for scheduler in ["none", "mq-deadline", "bfq"] {
        let source = on_own_cpus(&spec(), machine.capacity(), 5).unwrap();
        let parsed = SchedulerSpec::parse(scheduler).unwrap();
        let alone = run(source, machine.device(), &parsed, &config(&machine), &Progress::default()).unwrap();
        let hosted = on_cpus(&machine, &HostSettings::free(5), scheduler);
        let requests = |run: &RunReport| {
            let log = run.log.as_ref().unwrap();
            log.iter().map(|r| (r.arrival, r.process, r.lba, r.sectors, r.issue, r.completion)).collect::<Vec<_>>()
        };
        assert_eq!(requests(&hosted), requests(&alone), "{scheduler}");
        assert!(alone.host.is_none(), "a machine whose CPUs are not described says nothing of them");
        let host = hosted.host.unwrap();
        assert_eq!(host.tasks.len(), 5);
        assert!(host.limits.wanted > 300 && host.limits.satisfied_percent < 100.0, "{:?}", host.limits);
    }
}

#[test]
fn generators_on_one_cpu_wait_for_each_other() {
    let machine = Machine::for_disk("hd-500-16").unwrap();
    let five = on_cpus(&machine, &HostSettings::free(5), "none");
    let one = on_cpus(&machine, &HostSettings::free(1), "none");
    assert!(one.elapsed_s > 1.2 * five.elapsed_s, "{} s with one, {} s with five", one.elapsed_s, five.elapsed_s);
    let host = one.host.unwrap();
    assert!(host.tasks.iter().all(|task| task.runnable_s > 1.0), "{:?}", host.tasks);
}
