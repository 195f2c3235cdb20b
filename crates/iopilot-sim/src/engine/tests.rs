//! The engine on small devices whose every time is known.

use super::*;
use crate::block_config::BlockConfig;
use crate::hand_over::{Ask, AskedAfter, HandOver, HandOvers};
use crate::tag_race::TagOdds;
use crate::turnaround::{Left, Situation, Turnaround, Turnarounds};
use iopilot_block::{Criticality, Flags, IoPriority, Lba, Op, Sectors};
use iopilot_device::{DeviceRequest, Rests, ServiceBreakdown};
use iopilot_sched::{Environment, SchedulerSpec};
use iopilot_workload::Arrival;
use iopilot_workload::replay::{Closed, Open, ReplayRecord};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Serves one request at a time in `service`, and takes `depth`.
struct Fixed {
    service: Nanos,
    depth: u32,
    queue: VecDeque<DeviceRequest>,
    done_at: Option<Nanos>,
    log: std::rc::Rc<std::cell::RefCell<Vec<DeviceRequest>>>,
}

impl Fixed {
    fn new(service: Nanos, depth: u32) -> Self {
        Self { service, depth, queue: VecDeque::new(), done_at: None, log: Default::default() }
    }
}

impl Device for Fixed {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        assert!(self.queue.len() < self.depth as usize, "the block layer keeps to the device's depth");
        self.log.borrow_mut().push(request);
        self.queue.push_back(request);
        self.done_at.get_or_insert(now + self.service);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.done_at
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        while let Some(at) = self.done_at.filter(|&at| at <= now) {
            let id = self.queue.pop_front().expect("a completion has a request").id;
            out.push(Completion { id, at, service: ServiceBreakdown::default() });
            self.done_at = (!self.queue.is_empty()).then(|| at + self.service);
        }
    }

    fn capacity(&self) -> u64 {
        1 << 30
    }

    fn queue_depth(&self) -> u32 {
        self.depth
    }
}

fn record(ms: u64, process: u32, op: Op, lba: u64, sectors: u32) -> ReplayRecord {
    ReplayRecord {
        arrival: Nanos::from_millis(ms),
        lba: Lba(lba),
        sectors: Sectors(sectors),
        process: ProcessId(process),
        flags: Flags::empty(),
        cpu: 0,
        priority: IoPriority::default(),
        op,
        criticality: if op == Op::Read { Criticality::TimeCritical } else { Criticality::TimeNonCritical },
    }
}

/// Nobody watches.
fn quietly(_: u64, _: &mut Recorder) -> Result<(), Stuck> {
    Ok(())
}

fn engine<S: Source>(source: S, scheduler: &str, device: Fixed, config: &BlockConfig) -> Engine<S, Fixed> {
    engine_on(&HostConfig::default(), source, scheduler, device, config)
}

fn engine_on<S: Source>(
    host: &HostConfig,
    source: S,
    scheduler: &str,
    device: Fixed,
    config: &BlockConfig,
) -> Engine<S, Fixed> {
    engine_of(
        &RunConfig { host: host.clone(), block: config.clone(), ..RunConfig::default() },
        source,
        scheduler,
        device,
    )
}

fn engine_of<S: Source>(config: &RunConfig, source: S, scheduler: &str, device: Fixed) -> Engine<S, Fixed> {
    let spec = SchedulerSpec::parse(scheduler).unwrap();
    let queue = config.block.resolve(spec.name, spec.lineage(), device.depth, &config.host);
    let built = spec.build(&Environment { nr_requests: queue.nr_requests, ..Environment::default() }).unwrap();
    Engine::new(source, queue, built, device, &config.host, 1, config)
}

#[test]
fn open_arrivals_queue_and_merge() {
    let records = vec![record(0, 1, Op::Read, 0, 8), record(1, 1, Op::Read, 100, 8), record(1, 1, Op::Read, 108, 8)];
    let device = Fixed::new(Nanos::from_millis(10), 1);
    let log = device.log.clone();
    let config = BlockConfig { lookahead: Some(false), ..BlockConfig::default() };
    let report = engine(Open::new(records), "noop", device, &config).run(quietly).unwrap().finish("noop".into());
    assert_eq!((report.requests, report.merged, report.dispatched), (3, 1, 2));
    assert_eq!(report.bytes, 3 * 4096);
    assert_eq!(log.borrow().iter().map(|r| (r.lba.0, r.sectors.0)).collect::<Vec<_>>(), [(0, 8), (100, 16)]);
    // 10 ms, then 19 ms for the two that arrived a millisecond later.
    assert!((report.response_ms.mean - 16.0).abs() < 0.03, "{:?}", report.response_ms);
}

#[test]
fn one_request_of_lookahead_leaves_the_scheduler_early() {
    // The second request is pulled while the first is served, so that the third cannot merge with it.
    let records = vec![record(0, 1, Op::Read, 0, 8), record(1, 1, Op::Read, 100, 8), record(2, 1, Op::Read, 108, 8)];
    let with = |lookahead| {
        let config = BlockConfig { lookahead: Some(lookahead), plug: Some(false), ..BlockConfig::default() };
        let device = Fixed::new(Nanos::from_millis(10), 1);
        engine(Open::new(records.clone()), "noop", device, &config).run(quietly).unwrap().finish("noop".into()).merged
    };
    assert_eq!((with(true), with(false)), (0, 1));
}

#[test]
fn large_requests_are_split_and_counted_once() {
    let config = BlockConfig { max_sectors_kb: Some(512), nomerges: 2, ..BlockConfig::default() };
    let records = vec![record(0, 1, Op::Read, 0, 4096)];
    let device = Fixed::new(Nanos::from_millis(10), 1);
    let report = engine(Open::new(records), "noop", device, &config).run(quietly).unwrap().finish("noop".into());
    assert_eq!((report.requests, report.dispatched, report.bytes), (1, 4, 2 << 20));
    assert!((report.response_ms.max - 40.0).abs() < 0.1);
}

#[test]
fn the_device_plug_of_2_6_holds_a_lone_write_for_3_ms() {
    let response = |op| {
        let device = Fixed::new(Nanos::from_millis(10), 1);
        let source = Open::new(vec![record(0, 1, op, 0, 8)]);
        let run = engine(source, "noop", device, &BlockConfig::default()).run(quietly).unwrap();
        run.finish("noop".into()).response_ms.mean
    };
    assert!((response(Op::Read) - 10.0).abs() < 0.02, "a reader pulls the plug");
    assert!((response(Op::Write) - 13.0).abs() < 0.02);
}

#[test]
fn a_full_queue_puts_submitters_to_sleep_and_loses_nothing() {
    let records: Vec<_> = (0..100).map(|i| record(0, i, Op::Write, u64::from(i) * 1000, 8)).collect();
    let config = BlockConfig { nr_requests: Some(4), ..BlockConfig::default() };
    let device = Fixed::new(Nanos::from_millis(1), 1);
    let report = engine(Open::new(records), "noop", device, &config).run(quietly).unwrap().finish("noop".into());
    assert_eq!((report.requests, report.dispatched), (100, 100));
}

#[test]
fn a_closed_population_stays_constant() {
    let records: Vec<_> = (0..200).map(|i| record(0, i % 7, Op::Read, u64::from(i) * 1000, 8)).collect();
    let device = Fixed::new(Nanos::from_millis(1), 1);
    let report = engine(Closed::new(records, 8), "noop", device, &BlockConfig::default())
        .run(quietly)
        .unwrap()
        .finish("noop".into());
    assert!((report.queue_length_mean - 8.0).abs() < 0.4, "{}", report.queue_length_mean);
    assert!(report.utilization > 0.95);
}

/// Where a reader's requests begin.
const PART: u64 = 1 << 20;

/// Tasks that read synchronously, without thinking.
struct Readers {
    /// What each has still to read, and when it goes on.
    tasks: Vec<(u64, Option<Nanos>)>,
    /// Which of them are on the second CPU.
    away: std::ops::Range<usize>,
}

impl Readers {
    fn new(tasks: usize, each: u64) -> Self {
        Self { tasks: vec![(each, Some(Nanos::ZERO)); tasks], away: 0..0 }
    }
}

impl Source for Readers {
    fn next_event(&self) -> Option<Nanos> {
        self.tasks.iter().filter_map(|(_, due)| *due).min()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        for (task, (left, due)) in self.tasks.iter_mut().enumerate() {
            if due.take_if(|due| *due <= now).is_some() {
                *left -= 1;
                out.push(Step::Request(Arrival {
                    op: Op::Read,
                    lba: Lba(task as u64 * PART + *left * 8),
                    sectors: Sectors(8),
                    flags: Flags::empty(),
                    process: ProcessId(task as u32),
                    priority: IoPriority::default(),
                    criticality: Criticality::TimeCritical,
                    cpu: u16::from(self.away.contains(&task)),
                    tag: task as u64,
                }));
            }
        }
    }

    fn completed(&mut self, tag: u64, now: Nanos) {
        let (left, due) = &mut self.tasks[tag as usize];
        assert!(due.is_none());
        *due = (*left > 0).then_some(now);
    }

    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}
}

/// Whose requests the device serves, of three readers that want its only tag.
fn turns(steal: f64, service_us: u64) -> Vec<u64> {
    turns_on(&HostConfig { tag_steal_probability: steal, ..HostConfig::default() }, service_us)
}

fn turns_on(host: &HostConfig, service_us: u64) -> Vec<u64> {
    turns_of(Readers::new(3, 20), host, service_us)
}

fn turns_of(readers: Readers, host: &HostConfig, service_us: u64) -> Vec<u64> {
    let config = BlockConfig { host_tags: Some(1), ..BlockConfig::default() };
    let device = Fixed::new(Nanos::from_micros(service_us), 1);
    let log = device.log.clone();
    engine_on(host, readers, "none", device, &config).run(quietly).unwrap();
    let log = log.borrow();
    log.iter().map(|r| r.lba.0 / PART).collect()
}

#[test]
fn who_always_wins_the_race_keeps_its_tag() {
    // However fast the disk: the sleeper that lost has looked, and sleeps again, before the next request is complete.
    for service_us in [50, 190, 1000] {
        let turns = turns(1.0, service_us);
        assert!(turns.chunks(20).all(|all| all.iter().all(|task| *task == all[0])), "{service_us} us: {turns:?}");
    }
}

/// Whether all three take turns; those who sleep at the end have lost their rivals.
fn go_round(turns: &[u64]) -> bool {
    turns[..50].windows(3).all(|three| three[0] != three[1] && three[1] != three[2] && three[0] != three[2])
}

#[test]
fn who_never_wins_the_race_waits_for_all_others() {
    assert!(go_round(&turns(0.0, 190)));
    // However soon it is back.
    let at_once = HostConfig { tag_steal_probability: 0.0, resume_us: 0.0, ..HostConfig::default() };
    assert!(go_round(&turns_on(&at_once, 190)));
}

/// Chances of a task against sleepers, by how often these have lost, here and away.
fn odds(here: [f64; TagOdds::TIMES], away: [f64; TagOdds::TIMES]) -> HostConfig {
    HostConfig { tag_odds: vec![TagOdds { here, away, gone: [0.0; 2], ..TagOdds::EVEN }], ..HostConfig::default() }
}

#[test]
fn who_sleeps_on_another_cpu_has_chances_of_its_own() {
    let turns = |away| {
        turns_of(
            Readers { away: 2..3, ..Readers::new(3, 20) },
            &odds([0.0; TagOdds::TIMES], [away; TagOdds::TIMES]),
            190,
        )
    };
    assert!(go_round(&turns(0.0)));
    assert!(!turns(1.0)[..40].contains(&2));
    let some = turns(0.5)[..40].iter().filter(|task| **task == 2).count();
    assert!((3..13).contains(&some), "{some}");
}

#[test]
fn who_loses_the_first_race_and_wins_the_second_lets_others_have_two_in_a_row() {
    let turns = turns_on(&odds([1.0, 0.0, 0.0, 0.0], [0.0; TagOdds::TIMES]), 190);
    // Two sleep: each is called twice for what it gets, so that who has the tag keeps it once or twice.
    assert!(turns[3..50].chunk_by(|a, b| a == b).all(|row| row.len() <= 3), "{turns:?}");
    assert!((2..=3).contains(&turns[3..30].chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap()), "{turns:?}");
}

#[test]
fn a_task_goes_on_later_in_a_machine_that_has_rested() {
    let elapsed = |rest: u64| {
        let rests = Rests::new([(Nanos(rest), Nanos::from_micros(30))]);
        let config = RunConfig { rests, ..RunConfig::default() };
        let device = Fixed::new(Nanos::from_millis(1), 4);
        engine_of(&config, Readers::new(1, 1000), "noop", device).run(quietly).unwrap().finish("noop".into()).elapsed_s
    };
    // Each completion is a little more than a millisecond after the one before; before the first the machine had rested for ever.
    let (always, once) = (elapsed(1_000_000), elapsed(2_000_000));
    assert!((once - (1.01 + 0.05 * 0.999 + 0.000_03)).abs() < 1e-6, "{once}");
    assert!((always - once - 0.03 * 0.998).abs() < 1e-6, "{always}");
}

#[test]
fn the_host_adds_issue_and_resume_times() {
    let source = Readers::new(1, 1000);
    let device = Fixed::new(Nanos::from_millis(1), 4);
    let report = engine(source, "noop", device, &BlockConfig::default()).run(quietly).unwrap().finish("noop".into());
    // A millisecond of service and 10 us to issue for each, 50 us to resume after each but the last.
    assert!((report.elapsed_s - (1.01 + 0.05 * 0.999)).abs() < 1e-6, "{}", report.elapsed_s);
}

proptest! {
    /// Whatever arrives, under every scheduler and any settings of the block layer: every byte is served once.
    #[test]
    fn every_byte_is_served_once(
        arrivals in prop::collection::vec((0u64..40, 0u32..5, any::<bool>(), 0u64..300, 1u32..40), 1..120),
        nr_requests in 1u32..20,
        depth in 1u32..6,
        max_sectors_kb in 4u32..64,
        nomerges in 0u8..3,
        lookahead in any::<bool>(),
        plug in any::<bool>(),
        closed in any::<bool>(),
        told in prop::option::of((prop::collection::vec(prop::option::of(0u64..200_000), 1..20), 0u64..3000)),
    ) {
        let mut records: Vec<_> = arrivals
            .iter()
            .map(|&(ms, process, write, slot, sectors)| {
                record(ms, process, if write { Op::Write } else { Op::Read }, slot * 8, sectors)
            })
            .collect();
        records.sort_by_key(|r| r.arrival);
        let bytes: u64 = records.iter().map(|r| r.sectors.bytes()).sum();
        let config = BlockConfig {
            nr_requests: Some(nr_requests),
            host_tags: None,
            max_sectors_kb: Some(max_sectors_kb),
            nomerges,
            queue_depth: None,
            plug: Some(plug),
            lookahead: Some(lookahead),
        };
        for spec in SchedulerSpec::all() {
            let device = Fixed::new(Nanos::from_millis(1), depth);
            let log = device.log.clone();
            let run = if let Some((times, choice)) = &told {
                let time = |n: usize| times[n % times.len()].map(Nanos);
                let asked = |n: usize| {
                    let ask = |after: Nanos| Ask {
                        after,
                        locked: Nanos(after.0 / 2),
                        again: vec![after; n % 4],
                        choice: time(n + 1),
                    };
                    let after = |n: usize| time(n).filter(|_| n % 3 != 0).map(ask);
                    AskedAfter { inserted: after(n), completed: after(n + 1), issued: after(n + 2) }
                };
                let of = |n: usize| HandOver {
                    inserted: time(n),
                    completed: time(n + 1),
                    issued: time(n + 2),
                    heard: time(n + 3).unwrap_or_default(),
                    asked: (n % 2 == 0).then(|| asked(n)),
                    ..HandOver::default()
                };
                let choice_takes = Nanos(*choice);
                let drawn = |n: usize| {
                    let [resumed, heard, stood] = [n + 3, n + 4, n + 5].map(|n| time(n).unwrap_or_default());
                    let [restarted, asked, run, inserted] = [n, n + 1, n + 2, n + 6].map(time);
                    let [choice, more, follows] = [n + 1, n + 3, n + 5].map(time);
                    let left = [Left::Nothing, Left::Others, Left::Waiting][n % 3];
                    let situation =
                        Situation { rest: resumed, before: heard, complete: (n % 1000) as u16, left, queued: n % 2 == 0 };
                    (situation, Turnaround { resumed, heard, restarted, asked, run, inserted, choice, more, stood, follows })
                };
                let hand_overs = match times.first() {
                    Some(Some(rested)) => {
                        let turnarounds = Turnarounds::new(&[Nanos(rested / 2), Nanos(*rested)], (0..times.len()).map(drawn)).unwrap();
                        HandOvers::usual(turnarounds, (0..records.len()).map(|n| n % 3 > 0).collect(), choice_takes)
                    }
                    _ => HandOvers::new((0..records.len()).map(of).collect(), choice_takes),
                };
                let told = RunConfig { block: config.clone(), hand_overs: Some(hand_overs), ..RunConfig::default() };
                engine_of(&told, Open::new(records.clone()), spec.name, device).run(quietly)
            } else if closed {
                engine(Closed::new(records.clone(), 5), spec.name, device, &config).run(quietly)
            } else {
                engine(Open::new(records.clone()), spec.name, device, &config).run(quietly)
            };
            let report = match run {
                Ok(recorder) => recorder.finish(spec.to_string()),
                Err(stuck) => return Err(TestCaseError::fail(format!("{spec}: {stuck:?}"))),
            };
            prop_assert_eq!(report.requests, records.len() as u64, "{}", spec);
            prop_assert_eq!(report.bytes, bytes, "{}", spec);
            // What the device was asked for, sector by sector, is what was submitted.
            let mut asked: Vec<_> = log.borrow().iter()
                .flat_map(|r| (r.lba.0..r.lba.0 + u64::from(r.sectors.0)).map(move |s| (r.op == Op::Write, s)))
                .collect();
            let mut wanted: Vec<_> = records.iter()
                .flat_map(|r| (r.lba.0..r.lba.0 + u64::from(r.sectors.0)).map(move |s| (r.op == Op::Write, s)))
                .collect();
            asked.sort_unstable();
            wanted.sort_unstable();
            prop_assert!(asked == wanted, "{}: sectors lost or served twice", spec);
            prop_assert!(log.borrow().iter().all(|r| r.sectors.0 <= max_sectors_kb * 2), "{}", spec);
        }
    }
}
