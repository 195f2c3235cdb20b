//! The autopilot on simulated disks.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use iopilot_block::{Lba, Nanos};
use iopilot_compare::compare;
use iopilot_dads::{
    AutopilotSettings, DecisionReason, FlightPlan, FlightResult, Objective, Pilot, Rule, SchedulerCheck, fly, oracle,
    parse_candidates,
};
use iopilot_sim::{BlockConfig, Machine, Progress, RunOptions, SimError, begin};
use iopilot_trace::TraceRecord;
use iopilot_workload::{Workload, WorkloadOptions};
use std::io::Write;

/// Two readers of 40 MB each in pieces of 64 KiB, then random reads: bfq without `low_latency` is best at first.
const JOBS: &str = "[global]\nfilename=/dev/sdX\ndirect=1\n\n[streams]\nioengine=sync\nrw=read\nbs=64k\nnumjobs=2\noffset_increment=20g\n\
                    size=10g\nio_size=40m\n\n[lookups]\nstonewall\nioengine=libaio\nrw=randread\nbs=4k\niodepth=16\n\
                    number_ios=600\n";

/// Two readers of 8 MB each in pieces of 64 KiB.
const STREAMS: &str = "[streams]\nfilename=/dev/sdX\ndirect=1\nioengine=sync\nrw=read\nbs=64k\nnumjobs=2\noffset_increment=20g\nsize=10g\n\
                       io_size=8m\n";

fn workload(machine: &Machine, jobs: &str) -> Workload {
    let mut file = tempfile();
    file.1.write_all(jobs.as_bytes()).unwrap();
    let load = Workload::load(&file.0, &WorkloadOptions::default(), machine.capacity()).unwrap();
    std::fs::remove_file(&file.0).unwrap();
    load
}

/// Eight processes read 4 KiB and leave out 8 KiB.
const STRIDED: &str =
    "[global]\ndirect=1\nrw=read:8k\nbs=4k\ndirectory=/data\nsize=48m\nio_size=10m\n[strided]\nnumjobs=8\n";

/// A fresh job file.
fn tempfile() -> (std::path::PathBuf, std::fs::File) {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("iopilot-dads-{}-{n}.fio", std::process::id()));
    (path.clone(), std::fs::File::create(path).unwrap())
}

fn plan(candidates: &str, objective: Objective, rule: Rule) -> FlightPlan {
    let settings = AutopilotSettings {
        objective,
        interval: Nanos::from_secs(1),
        ..AutopilotSettings::thesis(parse_candidates(&[candidates]).unwrap(), rule)
    };
    FlightPlan { settings, seed: 0 }
}

fn flight(machine: &Machine, load: &Workload, plan: &FlightPlan) -> FlightResult {
    fly(machine, load, plan, |_| Ok::<(), SimError>(())).unwrap()
}

#[test]
fn finds_the_scheduler_that_is_best_and_comes_near_to_it() {
    let machine = Machine::for_disk("hd-500-16").unwrap();
    let load = workload(&machine, JOBS);
    for candidates in ["none,bfq:low_latency=0", "bfq:low_latency=0,none"] {
        let plan = plan(candidates, Objective::ServiceTime, Rule::THESIS);
        let flight = flight(&machine, &load, &plan);
        let alone =
            compare(&machine, &load, &plan.settings.candidates, &RunOptions::default(), &Progress::default()).unwrap();
        let times: Vec<f64> = alone.runs.iter().map(|r| r.elapsed_s).collect();
        let (best, worst) = (times[0].min(times[1]), times[0].max(times[1]));
        let time = flight.report.elapsed_s;
        assert_eq!(flight.report.bytes, alone.runs[0].bytes);
        // It loses the first interval at most, and what changes take.
        assert!(time <= best + 1.5 && time < worst, "{candidates}: {time} of {times:?}");
        let (best_choice, choices) =
            oracle(&machine, &load, &plan.settings.candidates, plan.settings.interval, 0).unwrap();
        assert!(best_choice.elapsed_s <= best + 0.1, "{} of {times:?}", best_choice.elapsed_s);
        assert_eq!(choices[0], "bfq:low_latency=0");
        assert_eq!(best_choice.bytes, alone.runs[0].bytes);
    }
}

#[test]
fn extended_trials_see_what_a_scheduler_becomes() {
    // On a disk that takes four requests at once bfq needs seconds under load to find out for whom to idle.
    let mut machine = Machine::for_disk("hd-500-16").unwrap();
    machine.block = BlockConfig { queue_depth: Some(4), host_tags: Some(4), ..BlockConfig::default() };
    let load = workload(&machine, STRIDED);
    // Installed under load, it sometimes does not: some draws of the contention for tags leave it degraded for long.
    let fly = |trial_requests| {
        let mut plan = plan("none,mq-deadline,kyber,bfq", Objective::ServiceTime, Rule::THESIS);
        plan.settings.trial_requests = trial_requests;
        let one = |seed| {
            let flight = flight(&machine, &load, &FlightPlan { seed, ..plan.clone() });
            (flight.checks.iter().filter(|check| check.changes()).count(), flight.report.elapsed_s)
        };
        let (mut changes, mut times): (Vec<_>, Vec<_>) = (0..5).map(one).unzip();
        changes.sort_unstable();
        times.sort_by(f64::total_cmp);
        (changes[2], times[2])
    };
    let ((short_changes, short), (changes, lasting)) = (fly(0), fly(8000));
    let candidates = parse_candidates(&["none,bfq"]).unwrap();
    let alone = compare(&machine, &load, &candidates, &RunOptions::default(), &Progress::default()).unwrap();
    let (none, bfq) = (alone.runs[0].elapsed_s, alone.runs[1].elapsed_s);
    assert!(bfq < none / 5.0, "{bfq} of {none}");
    assert_eq!(changes, 1, "it takes bfq and stays");
    assert!(lasting < bfq + 2.0, "{lasting} of {bfq}");
    assert!(short_changes > 1 && short > lasting, "a short trial does not know: {short_changes} changes, {short}");
}

/// 32 readers of 6 MB each, and 32 more when they are done.
const MANY_STREAMS: &str = "[global]\nfilename=/dev/sdX\ndirect=1\nioengine=psync\nrw=read\nbs=64k\nnumjobs=32\noffset_increment=1g\nsize=6m\n\n\
                            [first]\n\n[second]\nstonewall\noffset=40m\n\n[third]\nstonewall\noffset=80m\n";

#[test]
fn a_degraded_scheduler_is_reinstalled() {
    // bfq takes streams that it serves slowly for soft real-time ones, and stays slow.
    let mut machine = Machine::for_disk("hd-500-16").unwrap();
    machine.block = BlockConfig { queue_depth: Some(4), ..BlockConfig::default() };
    let load = workload(&machine, MANY_STREAMS);
    let fly = |renew| {
        let mut plan = plan("bfq,none", Objective::ServiceTime, Rule::THESIS);
        (plan.settings.trial_requests, plan.settings.renew) = (4000, renew);
        flight(&machine, &load, &plan)
    };
    let (left, renewed) = (fly(false), fly(true));
    let renewals: Vec<&SchedulerCheck> = renewed.checks.iter().filter(|check| check.renews()).collect();
    assert!(!renewals.is_empty() && left.checks.iter().all(|check| !check.renews()));
    for check in renewals {
        assert!(!check.changes() && check.acts() && check.scheduler == "bfq", "{check:?}");
        assert!(check.model_error_percent.unwrap() < -50.0, "it costs more than twice its trial: {check:?}");
        assert!(check.why.starts_with("bfq has degraded"), "{check:?}");
    }
    let (slow, fast) = (left.report.elapsed_s, renewed.report.elapsed_s);
    assert_eq!(left.report.bytes, renewed.report.bytes);
    assert!(fast < 0.8 * slow, "{fast} and {slow} s");
}

#[test]
fn one_request_that_waits_hides_no_others() {
    // bfq serves one stream for long, while the others wait for seconds. Each check sees all requests that have
    // completed by then.
    let mut machine = Machine::for_disk("hd-500-16").unwrap();
    machine.block = BlockConfig { queue_depth: Some(4), ..BlockConfig::default() };
    let load = workload(&machine, MANY_STREAMS);
    let mut plan = plan("bfq:low_latency=0,none", Objective::ServiceTime, Rule::THESIS);
    plan.settings.trial_requests = 4000;
    let flight = flight(&machine, &load, &plan);
    let (last, full) = flight.checks.split_last().unwrap();
    assert!(flight.report.response_ms.max > 2000.0, "{:?}", flight.report.response_ms);
    assert!(full.len() > 3 && full.iter().all(|check| check.requests > 200), "{:?}", flight.checks);
    assert!(full.iter().map(|check| check.requests).sum::<u64>() + last.requests > 8000);
    let mut errors: Vec<f64> = full.iter().filter_map(|check| check.model_error_percent).map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    assert!(errors[errors.len() / 2] < 25.0, "what it costs can be told: {errors:?}");
}

/// One process keeps 64 reads in flight.
const SATURATING: &str = "[random]\ndirect=1\nioengine=libaio\nrw=randread\nbs=4k\niodepth=64\nsize=40g\n\
                          number_ios=6000\n";

#[test]
fn from_none_under_a_saturating_load_it_changes_to_the_best() {
    // Under `none` the block layer sees five requests: four in the disk, and one whose process sleeps for a tag.
    let mut machine = Machine::for_disk("hd-500-16").unwrap();
    machine.block =
        BlockConfig { queue_depth: Some(4), host_tags: Some(4), nr_requests: Some(256), ..BlockConfig::default() };
    let load = workload(&machine, SATURATING);
    let candidates = parse_candidates(&["none,mq-deadline,kyber,bfq"]).unwrap();
    let alone = compare(&machine, &load, &candidates, &RunOptions::default(), &Progress::default()).unwrap();
    let times: Vec<f64> = alone.runs.iter().map(|r| r.elapsed_s).collect();
    let best = times.iter().copied().fold(f64::MAX, f64::min);
    assert!(best < 0.85 * times[0], "there is something to gain: {times:?}");
    for trial_requests in [0, 8000] {
        let mut plan = plan("none,mq-deadline,kyber,bfq", Objective::ServiceTime, Rule::THESIS);
        (plan.settings.interval, plan.settings.trial_requests) = (Nanos::from_secs(5), trial_requests);
        let flight = flight(&machine, &load, &plan);
        let first = flight.checks.iter().find(|check| check.changes()).unwrap();
        assert!(first.at_s <= 10.0, "{first:?}");
        let time = flight.report.elapsed_s;
        assert!(time < 1.05 * best + 5.0 * (1.0 - best / times[0]), "{trial_requests}: {time} of {times:?}");
    }
}

#[test]
fn predictions_match_measurements_where_the_model_is_the_disk() {
    let machine = Machine::for_disk("hd-500-16").unwrap();
    let load = workload(&machine, JOBS);
    let flight = flight(&machine, &load, &plan("mq-deadline,kyber", Objective::ServiceTime, Rule::THESIS));
    // Neither scheduler remembers processes, so a trial repeats the run, except at the edges of the window: equal
    // readers may fall out of step there.
    let mut errors: Vec<f64> = flight.checks.iter().filter_map(|c| c.model_error_percent).map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    assert!(errors.len() > 5 && errors[errors.len() / 2] < 7.0, "{errors:?}");
}

#[test]
fn a_change_is_reported_with_its_gain() {
    let machine = Machine::for_disk("hd-500-16").unwrap();
    let load = workload(&machine, JOBS);
    let flight = flight(&machine, &load, &plan("none,bfq:low_latency=0", Objective::ServiceTime, Rule::THESIS));
    let change = flight.checks.iter().position(|c| c.changes()).unwrap();
    let (made, after) = (&flight.checks[change], &flight.checks[change + 1]);
    let DecisionReason::Better { gain } = made.reason else { panic!("{made:?}") };
    assert!(made.why.contains("bfq:low_latency=0 would have saved") && made.decision == after.scheduler);
    assert!((after.predicted_gain_percent.unwrap() - 100.0 * gain).abs() < 1e-9);
    // The measured cost is compared with the cost of the old scheduler on the same requests.
    let old = after.candidates[0].cost;
    let gained = 100.0 * (1.0 - after.measured_cost.unwrap() / old);
    assert!((after.measured_gain_percent.unwrap() - gained).abs() < 1e-9 && gained > 50.0, "{after:?}");
}

#[test]
fn guarded_and_every_objective_serve_everything() {
    let machine = Machine::for_disk("hd-250-32").unwrap();
    let load = workload(&machine, JOBS);
    for name in Objective::NAMES {
        for rule in [Rule::THESIS, Rule::GUARDED] {
            let flight = flight(&machine, &load, &plan("none,mq-deadline,kyber,bfq", name.parse().unwrap(), rule));
            assert_eq!(flight.report.bytes, 2 * (40 << 20) + 600 * 4096, "{name}");
            assert!(flight.checks.iter().all(|c| c.candidates.iter().all(|c| c.cost > 0.0)), "{name}");
        }
    }
}

#[test]
fn the_same_on_any_number_of_threads() {
    let machine = Machine::for_disk("hd-500-16").unwrap();
    let load = workload(&machine, JOBS);
    let plan = plan("none,mq-deadline,bfq:low_latency=0", Objective::BlockedTime, Rule::GUARDED);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (flight, best_choice) = pool.install(|| {
            let best_choice =
                oracle(&machine, &load, &plan.settings.candidates, plan.settings.interval, plan.seed).unwrap();
            (flight(&machine, &load, &plan), best_choice)
        });
        (flight.checks, flight.report.elapsed_s, best_choice.0.elapsed_s, best_choice.1)
    };
    assert_eq!(on(1), on(4));
}

#[test]
fn candidates_of_two_kernels_are_refused() {
    let machine = Machine::for_disk("hd-500-16").unwrap();
    let load = workload(&machine, JOBS);
    let plan = plan("none,cfq", Objective::ServiceTime, Rule::THESIS);
    let e = fly(&machine, &load, &plan, |_| Ok::<(), SimError>(())).unwrap_err().to_string();
    assert_eq!(e, "candidates: got cfq, expected schedulers of one kernel, as none is");
}

#[test]
fn a_change_that_made_things_worse_is_taken_back_and_not_tried_again_for_a_while() {
    let machine = Machine::for_disk("hd-500-16").unwrap();
    let load = workload(&machine, STREAMS);
    let config = machine.run_config(&RunOptions { seed: 0, log: true, ..RunOptions::default() });
    let none = parse_candidates(&["none"]).unwrap();
    let mut session = begin(&machine, &load, &none[0], &config).unwrap();
    session.run_until(Nanos::MAX).unwrap();
    let records = session.take_log();
    // The same requests again and again, but the disk has become three times as slow, and nobody told the model.
    let whole = records.iter().filter_map(|r| r.completion).max().unwrap();
    let slower = |n: u64| -> Vec<TraceRecord> {
        let at = |t: Nanos| Nanos(t.0 * 3) + Nanos(whole.0 * 3 * n);
        let slow = |r: &TraceRecord| TraceRecord {
            arrival: at(r.arrival),
            issue: r.issue.map(at),
            completion: r.completion.map(at),
            ..r.clone()
        };
        records.iter().map(slow).collect()
    };
    let fly = |revert: bool| {
        let plan = plan("none,bfq:low_latency=0", Objective::ServiceTime, Rule::THESIS);
        let mut pilot =
            Pilot::new(AutopilotSettings { revert, ..plan.settings }, Rule::THESIS, machine.device(), &config).unwrap();
        let first = pilot.check(&records, 0, Nanos::from_secs(1)).unwrap();
        assert_eq!(first.decision, "bfq:low_latency=0", "{first:?}");
        (0..13).map(|i| pilot.check(&slower(1 + i), 0, Nanos::from_secs(2 + i)).unwrap()).collect::<Vec<_>>()
    };
    let kept = fly(false);
    assert!(kept[0].measured_gain_percent.unwrap() < -50.0 && !kept[0].changes(), "{:?}", kept[0]);
    let checks = fly(true);
    // It is given time: a scheduler may have to find its way first.
    assert!(checks[..2].iter().all(|c| !c.changes() && c.measured_gain_percent.is_some()), "{checks:?}");
    assert_eq!(checks[2].decision, "none");
    assert!(
        matches!(checks[2].reason, DecisionReason::Undelivered { promised, measured } if promised > 0.05 && measured < -0.5)
    );
    // Seven checks later it may try again.
    let again = checks.iter().skip(3).position(SchedulerCheck::changes);
    assert_eq!(again, Some(7), "{:?}", checks.iter().map(|c| &c.why).collect::<Vec<_>>());
}

#[test]
fn what_was_not_carried_out_does_not_count() {
    let machine = Machine::for_disk("hd-500-16").unwrap();
    let load = workload(&machine, STREAMS);
    let config = machine.run_config(&RunOptions { seed: 0, log: true, ..RunOptions::default() });
    let plan = plan("none,bfq:low_latency=0", Objective::ServiceTime, Rule::THESIS);
    let mut pilot =
        Pilot::new(AutopilotSettings { budget: Some(200), ..plan.settings }, Rule::THESIS, machine.device(), &config)
            .unwrap();
    let mut session = begin(&machine, &load, pilot.current(), &config).unwrap();
    session.run_until(Nanos::MAX).unwrap();
    let records = session.take_log();
    for i in 0..20 {
        // Further on each time: what it has read the disk's cache may hold.
        let at = |t: Nanos| t + Nanos::from_secs(10 * i);
        let further = |r: &TraceRecord| TraceRecord {
            lba: Lba(r.lba.0 + i * (16 << 11)),
            arrival: at(r.arrival),
            issue: r.issue.map(at),
            completion: r.completion.map(at),
            ..r.clone()
        };
        let records: Vec<TraceRecord> = records.iter().map(further).collect();
        let check = pilot.check(&records, 0, Nanos::from_secs(i)).unwrap();
        assert_eq!(
            (check.scheduler.as_str(), check.decision.as_str()),
            ("none", "bfq:low_latency=0"),
            "never too many in a row"
        );
        assert_eq!((check.requests, check.tried), (256, 100), "the budget is for all candidates");
        pilot.declined();
    }
    pilot.exclude(1);
    assert!(!pilot.check(&records, 0, Nanos::from_secs(99)).unwrap().changes());
}
