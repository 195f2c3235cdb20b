use super::*;
use iopilot_block::{Flags, Lba, Op, Sectors};
use iopilot_device::ConstantDevice;
use iopilot_sched::SchedulerSpec;
use iopilot_workload::{Source, SourceHandle, Step};

const SECTORS: u64 = 1 << 30;

fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

fn read(process: u32, arrival: Nanos, completion: Nanos, lba: u64) -> TraceRecord {
    TraceRecord {
        process: Some(ProcessId(process)),
        issue: Some(arrival),
        completion: Some(completion),
        ..TraceRecord::new(arrival, Op::Read, Lba(lba), Sectors(8))
    }
}

/// Two processes that read after each completion, 50 us later: one forward, one backward.
fn window() -> Vec<TraceRecord> {
    let at = |process, n: u64, lba| read(process, us(1000 * n), us(1000 * n + 950), lba);
    (0..10).flat_map(|n| [at(1, n, 1000 + 24 * n), at(2, n, 900_000 - 8 * n)]).collect()
}

fn extended<'a>(before: &[TraceRecord], window: &'a [TraceRecord], since: Nanos) -> ExtendedTrial<'a> {
    ExtendedTrial::new(before, window, (since, 0), 400, SECTORS, |_, _| None).unwrap().unwrap()
}

/// The first `count` requests of `process`: when it issued them and where, each complete after `service`.
fn issued(extended: &ExtendedTrial<'_>, process: u32, count: usize, service: Nanos) -> Vec<(Nanos, u64)> {
    let mut source = PatternSource::new(&extended.pattern, Nanos::ZERO);
    let (mut steps, mut found) = (Vec::new(), Vec::new());
    let mut under_way: Vec<(Nanos, SourceHandle)> = Vec::new();
    while found.len() < count {
        let done = under_way.iter().min().copied();
        match (done, source.next_event()) {
            (Some((at, handle)), next) if next.is_none_or(|next| at <= next) => {
                under_way.retain(|&(_, other)| other != handle);
                source.completed(handle, at);
            }
            (_, Some(at)) => {
                source.advance(at, &mut steps);
                for step in steps.drain(..) {
                    let Step::Request(arrival) = step else { continue };
                    under_way.push((at + service, arrival.handle));
                    if arrival.process == ProcessId(process) {
                        found.push((at, arrival.lba.0));
                    }
                }
            }
            (_, None) => break,
        }
    }
    found
}

/// What `extended` costs on a disk that takes `service` for each request, with `depth` in it.
fn cost(extended: &ExtendedTrial<'_>, objective: Objective, depth: u32, service: Nanos) -> f64 {
    let disk = ConstantDevice::simple(SECTORS, depth, service, 0.0);
    let config = RunConfig { outcomes: true, ..RunConfig::default() };
    let none = TrialCandidate::new(SchedulerSpec::parse("none").unwrap(), None);
    let (trial, _, _) = extended.trial(disk, &none, &config, Nanos::ZERO, objective.into()).unwrap();
    trial.cost
}

#[test]
fn processes_go_on_as_they_did() {
    let window = window();
    let extended = extended(&[], &window, Nanos::ZERO);
    for (process, first, step) in [(1, 1000, 24), (2, 900_000, -8)] {
        for (n, (at, lba)) in (0i64..).zip(issued(&extended, process, 35, us(950))) {
            assert_eq!(at, us(1000 * n as u64), "the pause between two rounds is as any other");
            assert_eq!(lba as i64, first + step * n, "streams go on where they ended");
        }
    }
}

#[test]
fn each_goes_at_its_own_pace() {
    // The disk served process 2 a tenth as often; that was the scheduler's doing.
    let window: Vec<_> =
        window().into_iter().filter(|r| r.process != Some(ProcessId(2)) || r.arrival == us(0)).collect();
    let extended = extended(&[], &window, Nanos::ZERO);
    assert_eq!(issued(&extended, 2, 4, us(950)).len(), 4);
    let slow = cost(&extended, Objective::ServiceTime, 1, us(2000));
    let fast = cost(&extended, Objective::ServiceTime, 1, us(1000));
    assert!((slow / fast - 2.0).abs() < 0.1, "{slow} {fast}");
}

#[test]
fn waiting_from_before_the_window_is_no_think_time() {
    // The read before completes at 600 ms; 50 us later the process reads on.
    let before = [read(1, us(100_000), us(600_000), 0), read(2, us(100_000), us(101_000), 80_000)];
    let window: Vec<_> = (0..10)
        .flat_map(|n| {
            let at = us(600_050 + 10_000 * n);
            [
                read(1, at, at + us(9_950), 8 + 8 * n),
                read(2, us(102_000 + 9_000 * n), us(110_950 + 9_000 * n), 80_008 + 8 * n),
            ]
        })
        .collect();
    let mut window = window;
    window.sort_by_key(|r| r.arrival);
    let known = extended(&before, &window, us(101_500));
    assert_eq!(issued(&known, 1, 1, us(9_950))[0].0, us(50));
    assert_eq!(issued(&known, 2, 1, us(9_950))[0].0, us(500), "but not longer than since the window began");
    let alone = extended(&[], &window, us(101_500));
    assert_eq!(issued(&alone, 1, 1, us(9_950))[0].0, us(498_550), "nobody knows what it did before");
}

#[test]
fn an_absent_process_is_absent_in_each_round() {
    // Two requests at the beginning of 100 ms, then nothing; the other works all the time.
    let mut window: Vec<_> = (0..100).map(|n| read(1, us(1000 * n), us(1000 * n + 950), 8 * n)).collect();
    window.push(read(2, us(10), us(900), 1 << 20));
    window.push(read(2, us(1000), us(1900), 1 << 21));
    window.sort_by_key(|r| r.arrival);
    let extended = ExtendedTrial::new(&[], &window, (Nanos::ZERO, 0), 400, SECTORS, |_, _| None).unwrap().unwrap();
    let times = issued(&extended, 2, 4, us(900));
    assert!(times[2].0 > us(95_000) && times[2].0 < us(105_000), "{times:?}");
    assert!(times[3].0 < times[2].0 + us(2_000));
    // Unless its third was in flight at the end.
    let waits = ExtendedTrial::new(&[], &window, (Nanos::ZERO, 1), 400, SECTORS, |_, _| None).unwrap().unwrap();
    assert!(issued(&waits, 2, 4, us(900))[2].0 < us(3_000));
    assert!(waits.pattern.waited > extended.pattern.waited + us(90_000));
}

#[test]
fn one_at_a_time_costs_the_sum_of_its_times() {
    let window = window();
    let extended = extended(&[], &window, Nanos::ZERO);
    let recorded = Costing::from(Objective::ServiceTime).measured(&window).unwrap();
    // Two processes, a disk for each.
    let alike = cost(&extended, Objective::ServiceTime, 1, us(470));
    assert!((alike / recorded - 1.0).abs() < 0.05, "{alike} of {recorded}");
    let slow = cost(&extended, Objective::ServiceTime, 1, us(940));
    assert!((slow / recorded - 2.0).abs() < 0.1, "twice as slow costs twice as much: {slow} of {recorded}");
}

#[test]
fn several_at_once_cost_the_time_that_their_process_waits() {
    // Four read-aheads at once, of which it waits for all, as a reader of a file does.
    let window: Vec<_> = (0..20)
        .flat_map(|n| {
            let at = us(4_200 * n);
            (0..4).map(move |k| TraceRecord {
                flags: Flags::READ_AHEAD,
                ..read(1, at + us(k), at + us(1000 * (k + 1)), 64 * n + 16 * k)
            })
        })
        .collect();
    let extended = extended(&[], &window, Nanos::ZERO);
    let recorded = Costing::from(Objective::ServiceTime).measured(&window).unwrap();
    for (service, times) in [(1000, 1.0), (3000, 3.0)] {
        let cost = cost(&extended, Objective::ServiceTime, 4, us(service));
        assert!((cost / recorded / times - 1.0).abs() < 0.1, "{service} us: {cost} of {recorded}");
    }
}

#[test]
fn background_writes_cost_their_own_time() {
    let writes: Vec<_> = (0..50)
        .map(|n| TraceRecord { op: Op::Write, ..read(1, us(2_000 * n), us(2_000 * n + 1_000), 8 * n) })
        .collect();
    let extended = extended(&[], &writes, Nanos::ZERO);
    let times = issued(&extended, 1, 150, us(1_000));
    assert!(times.last().unwrap().0 > us(290_000), "they come as often as they came: {:?}", times.last());
    for service in [1_000, 1_500] {
        let cost = cost(&extended, Objective::ServiceTime, 1, us(service));
        assert!((cost / (50e-6 * service as f64) - 1.0).abs() < 0.1, "{cost}");
    }
    assert!(cost(&extended, Objective::BlockedTime, 1, us(1_000)) < 1e-9, "and nobody waits for them");
}

#[test]
fn some_windows_are_tried_once() {
    let tried = |window: &[TraceRecord], least| {
        ExtendedTrial::new(&[], window, (Nanos::ZERO, 0), least, SECTORS, |_, _| None).unwrap().is_some()
    };
    assert!(tried(&window(), 400));
    assert!(!tried(&window(), 20), "it is long enough");
    let mut born = window();
    born[4].process_start = Some(us(1));
    assert!(!tried(&born, 400));
    let mut nobody = window();
    nobody[4].process = None;
    assert!(!tried(&nobody, 400));
}

#[test]
fn nothing_leaves_the_disk() {
    let window = window();
    let extended = ExtendedTrial::new(&[], &window, (Nanos::ZERO, 0), 400, 900_100, |_, _| None).unwrap().unwrap();
    assert!(issued(&extended, 1, 400, us(950)).iter().all(|&(_, lba)| lba + 8 <= 900_100));
    assert!(issued(&extended, 2, 400, us(950)).iter().all(|&(_, lba)| lba + 8 <= 900_100));
}

#[test]
fn parts_of_the_cost_make_the_whole() {
    let window = window();
    let extended = extended(&[], &window, Nanos::ZERO);
    let disk = ConstantDevice::simple(SECTORS, 1, us(470), 0.0);
    let config = RunConfig { outcomes: true, ..RunConfig::default() };
    let none = TrialCandidate::new(SchedulerSpec::parse("none").unwrap(), None);
    let trial =
        |objective: Objective| extended.trial(disk.clone(), &none, &config, Nanos::ZERO, objective.into()).unwrap().0;
    let result = trial(Objective::ServiceTime);
    let parts = result.shares.unwrap();
    assert_eq!(parts.len(), PARTS);
    assert!((parts.iter().sum::<f64>() / result.cost - 1.0).abs() < 0.05);
    assert!(trial(Objective::Fairness).shares.is_none());
    assert!((trial(Objective::Fairness).cost - 1.0).abs() < 0.01);
}

#[test]
fn requests_behind_a_sleeper_for_a_tag_count_in_trials() {
    // One process keeps sixteen requests in flight on a disk that serves one at a time.
    let window: Vec<_> = (0..200u64)
        .map(|n| TraceRecord {
            issue: Some(us(1000 * n)),
            ..read(1, us(1000 * n.saturating_sub(16)), us(1000 * (n + 1)), 4096 * (n * 37 % 200))
        })
        .collect();
    let trial = ExtendedTrial::new(&[], &window, (Nanos::ZERO, 0), 2000, SECTORS, |_, dependencies| {
        dependencies.keep_in_flight(0, 16);
        None
    });
    let trial = trial.unwrap().unwrap();
    let mut config = RunConfig { outcomes: true, ..RunConfig::default() };
    (config.block.queue_depth, config.block.host_tags, config.block.nr_requests) = (Some(1), Some(1), Some(64));
    let cost = |scheduler: &str, objective: Objective| {
        let disk = ConstantDevice::simple(SECTORS, 1, us(10_000), 0.0);
        let candidate = TrialCandidate::new(SchedulerSpec::parse(scheduler).unwrap(), None);
        trial.trial(disk, &candidate, &config, Nanos::ZERO, objective.into()).unwrap().0.cost
    };
    for objective in [Objective::ServiceTime, Objective::P99, Objective::BlockedTime] {
        let (none, kyber) = (cost("none", objective), cost("kyber", objective));
        assert!((none / kyber - 1.0).abs() < 0.1, "{objective}: the disk does the same for both: {none} and {kyber}");
    }
    assert!((cost("none", Objective::P99) / 0.16 - 1.0).abs() < 0.2, "sixteen wait: {}", cost("none", Objective::P99));
}
