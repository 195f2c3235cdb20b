use super::*;
use iopilot_block::{Criticality, EventQueue, HostReport, Nanos, Op, Source, Step};

/// 1 GB, as the disk of Ganger 5.3.
const CAPACITY: u64 = 2_054_864;

/// Runs a workload over a disk that serves each request in 8 ms.
fn run(text: &str) -> HostReport {
    let mut host = BuiltinProgramsSpec::parse(text).unwrap().source(None, CAPACITY, 1).unwrap();
    let (mut queue, mut free, mut now, mut steps) = (EventQueue::new(), Nanos::ZERO, Nanos::ZERO, Vec::new());
    while let Some(at) = [host.next_event(), queue.next_time()].into_iter().flatten().min() {
        now = now.max(at);
        while let Some(due) = queue.pop_due(now) {
            host.completed(due.event, now);
        }
        host.advance(now, &mut steps);
        for step in steps.drain(..) {
            if let Step::Request(arrival) = step {
                assert!(arrival.lba.0 + u64::from(arrival.sectors.0) <= CAPACITY);
                free = free.max(now) + Nanos::from_millis(8);
                queue.push(free, arrival.handle);
            }
        }
    }
    assert_eq!(host.failure(), None);
    host.host_report().unwrap()
}

/// Requests of a direction and class.
fn count(report: &HostReport, op: Op, class: Criticality) -> f64 {
    let of = report.classes.iter().find(|c| (c.op, c.class) == (op, class));
    of.map_or(0.0, |c| c.requests as f64)
}

#[track_caller]
fn within(ours: f64, theirs: f64, share: f64) {
    assert!((ours / theirs - 1.0).abs() <= share, "ours {ours}, Ganger's {theirs}");
}

#[test]
fn compress_and_uncompress_compute_and_request_as_measured() {
    let report = run("compress");
    let [task] = &report.tasks[..] else { panic!("{report:?}") };
    within(task.times.computation_s, 160.6, 0.01);
    within(count(&report, Op::Read, Criticality::TimeLimited), 7548.0, 0.01);
    within(count(&report, Op::Write, Criticality::TimeNonCritical), 3171.0, 0.05);
    let report = run("uncompress");
    within(report.tasks[0].times.computation_s, 90.3, 0.01);
    within(count(&report, Op::Write, Criticality::TimeNonCritical), 7989.0, 0.05);
}

#[test]
fn copying_and_removing_trees_makes_as_many_critical_writes_as_measured() {
    let report = run("copytree");
    within(report.tasks[0].times.computation_s, 17.2, 0.02);
    within(count(&report, Op::Write, Criticality::TimeCritical), 612.0, 0.1);
    within(count(&report, Op::Read, Criticality::TimeLimited), 3270.0, 0.05);
    let report = run("removetree");
    within(report.tasks[0].times.computation_s, 3.05, 0.02);
    within(count(&report, Op::Write, Criticality::TimeCritical), 1098.0, 0.05);
}

#[test]
fn programmers_work_in_tasks() {
    let report = run("synrgen:users=3:tasks=4");
    assert_eq!(report.tasks.len(), 12);
    assert!(report.tasks.iter().all(|task| task.elapsed_s > 1.0 && task.elapsed_s < 20.0), "{:?}", report.tasks);
}

#[test]
fn a_smaller_scale_is_a_smaller_task() {
    let report = run("compress:scale=0.1");
    within(report.tasks[0].times.computation_s, 16.1, 0.02);
}

#[test]
fn unknown_names_and_keys_are_named() {
    let error = |text: &str| BuiltinProgramsSpec::parse(text).unwrap_err().to_string();
    assert!(error("compres:scale=2").ends_with("did you mean compress?"), "{}", error("compres:scale=2"));
    assert!(error("synrgen:user=2").contains("did you mean users?"), "{}", error("synrgen:user=2"));
    assert_eq!(error("compress:scale=0"), "workload compress: scale: got 0, expected a number from 0.001 to 100");
    assert!(error("synrgen:users=1.5").contains("a whole number from 1 to 1000"));
    assert!(error("copytree:users=2").contains("one of scale, aged"));
    assert!(error("compress:scale").contains("expected key=value"));
    let large = BuiltinProgramsSpec::parse("uncompress:scale=50").unwrap().source(None, CAPACITY, 1);
    assert!(large.unwrap_err().to_string().contains("no space left on the device"));
    let shown = ["compress", "copytree:scale=2:aged=0.5", "synrgen:users=4:tasks=3"];
    assert!(shown.iter().all(|text| BuiltinProgramsSpec::parse(text).unwrap().to_string() == *text));
}
