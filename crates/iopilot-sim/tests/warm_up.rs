//! The beginning of a run that its report leaves out.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use iopilot_block::{Nanos, Op};
use iopilot_redcap::RedcapSpec;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, Progress, RunOptions, RunReport, SimError, WarmUp, simulate};
use iopilot_workload::{Workload, WorkloadOptions};
use std::path::Path;

const GENERATORS: &str = r#"
requests = 2000

[[generator]]
name = "reader"
processes = 3
read_probability = 0.8
sequential_probability = 0.6
time_critical_probability = 0.5
time_limited_probability = 0.3
time_limit_ms = { distribution = "uniform", min = 0.0, max = 30.0 }
general_time_ms = { distribution = "exponential", mean = 12.0 }
size_sectors = 8
"#;

fn run(machine: &Machine, warm_up: Option<WarmUp>) -> Result<RunReport, SimError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.toml");
    std::fs::write(&path, GENERATORS).unwrap();
    let workload = Workload::load(&path, &WorkloadOptions::default(), machine.capacity()).unwrap();
    let scheduler = SchedulerSpec::parse("mq-deadline").unwrap();
    simulate(machine, &workload, &scheduler, &RunOptions { seed: 3, log: true, warm_up }, &Progress::default())
}

fn machines() -> Vec<Machine> {
    let plain = Machine::for_disk("hd-500-16").unwrap();
    let cached = plain.with_redcap(Some(RedcapSpec::parse("64x128k,algorithm=v2").unwrap()));
    let host = "disk = \"hd-500-16\"\n[host]\ncpus = 2\npreset = \"1995\"\n";
    vec![plain, cached, Machine::from_toml(host, Path::new("m.toml")).unwrap()]
}

#[test]
fn a_warm_up_leaves_earlier_requests_out_and_changes_nothing_else() {
    for machine in machines() {
        let whole = run(&machine, None).unwrap();
        for warm_up in [WarmUp::Time(Nanos::from_secs(3)), WarmUp::Requests(500)] {
            let later = run(&machine, Some(warm_up)).unwrap();
            let log = later.log.as_ref().unwrap();
            assert!(later.log == whole.log, "what happens does not depend on what is counted");
            let start = match warm_up {
                WarmUp::Time(time) => time,
                WarmUp::Requests(count) => log[count as usize - 1].arrival + Nanos(1),
            };
            let counted: Vec<_> = log.iter().filter(|record| record.arrival >= start).collect();
            let (count, reads) = (counted.len(), counted.iter().filter(|record| record.op == Op::Read).count());
            assert_eq!((later.requests, later.reads), (count as u64, reads as u64));
            let response = |r: &iopilot_trace::TraceRecord| r.completion.unwrap().since(r.arrival).as_millis_f64();
            let mean = counted.iter().map(|record| response(record)).sum::<f64>() / count as f64;
            assert!((later.response_ms.mean - mean).abs() < 1e-6, "{} and {mean}", later.response_ms.mean);
            let end = log.iter().filter_map(|record| record.completion).max().unwrap();
            assert!((later.elapsed_s - end.since(start).as_secs_f64()).abs() < 1e-9);
            assert!(later.utilization <= 1.0 && later.waiting_s < whole.waiting_s);
            if let Some(redcap) = &later.redcap {
                assert_eq!(redcap.counters.reads, later.reads);
            }
            if let (Some(host), Some(before)) = (&later.host, &whole.host) {
                let times = &host.times;
                let sum =
                    times.computation_s + times.other_s + times.false_computation_s + times.false_idle_s + times.idle_s;
                assert!((sum - 2.0 * host.elapsed_s).abs() < 1e-6, "all time is something: {host:?}");
                assert!((before.elapsed_s - host.elapsed_s - start.as_secs_f64()).abs() < 1e-9);
                assert_eq!(host.classes.iter().map(|class| class.requests).sum::<u64>(), later.requests);
                assert!(host.interrupts < before.interrupts && host.tasks.is_empty());
            }
        }
    }
}

#[test]
fn a_warm_up_longer_than_the_run_is_refused() {
    for machine in machines() {
        for warm_up in [WarmUp::Time(Nanos::from_secs(1_000_000)), WarmUp::Requests(2000)] {
            let Err(e) = run(&machine, Some(warm_up)) else { panic!("{warm_up} is accepted") };
            assert!(e.is_bad_input() && e.to_string().starts_with(&format!("warm-up: got {warm_up}")), "{e}");
        }
    }
}
