//! The engine on small devices with known times.

#![allow(clippy::unwrap_used)] // helpers of tests, too

mod flushes;
mod hardware_queues;
mod redcap;
mod write_back;

use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_device::{Completion, Device, DeviceRequest, ServiceBreakdown};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{
    BlockConfig, CpuOverheads, CpuTiming, Progress, QueueRun, RunConfig, RunReport, SimError, run, run_timed,
};
use iopilot_workload::replay::{Closed, Open, ReplayRecord};
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Serves one request at a time in `service`, and accepts `depth` requests.
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
        plugged_ns: u32::MAX,
    }
}

/// Runs `source` on `device`, a disk whose arm moves.
fn run_on(
    host: &CpuOverheads,
    source: impl Source,
    scheduler: &str,
    device: Fixed,
    block: &BlockConfig,
) -> Result<RunReport, SimError> {
    let config =
        RunConfig { host: host.clone(), block: block.clone(), rotational: true, seed: 1, ..RunConfig::default() };
    run(source, device, &SchedulerSpec::parse(scheduler).unwrap(), &config, &Progress::default())
}

fn report_of(source: impl Source, scheduler: &str, device: Fixed, block: &BlockConfig) -> RunReport {
    run_on(&CpuOverheads::default(), source, scheduler, device, block).unwrap()
}

/// CPUs with random times, from none to a fifth of a millisecond.
#[derive(Clone)]
struct Irregular {
    times: Vec<u64>,
    asked: usize,
}

impl Irregular {
    fn next(&mut self) -> Nanos {
        self.asked += 1;
        Nanos(self.times[self.asked % self.times.len()])
    }
}

impl CpuTiming for Irregular {
    fn issue(&mut self, _: u16, _: QueueRun, _: Nanos) -> Nanos {
        self.next()
    }

    fn resume(&mut self, _: SourceHandle, _: ProcessId, _: Nanos) -> Nanos {
        self.next()
    }

    fn wake(&mut self, _: ProcessId, _: Nanos) -> Nanos {
        self.next()
    }

    fn completer_keeps_tag(&mut self, _: SourceHandle) -> bool {
        self.next().0 % 2 == 0
    }

    fn lost_wake(&mut self, _: ProcessId, _: Nanos) -> Nanos {
        self.next()
    }

    fn switch(&mut self) -> Nanos {
        self.next()
    }
}

fn run_irregularly(
    times: &[u64],
    source: impl Source,
    scheduler: &str,
    device: Fixed,
    block: &BlockConfig,
) -> Result<RunReport, SimError> {
    let config = RunConfig { block: block.clone(), rotational: true, ..RunConfig::default() };
    let cpus = Irregular { times: times.to_vec(), asked: 0 };
    run_timed(source, device, cpus, &SchedulerSpec::parse(scheduler).unwrap(), &config, &Progress::default(), None)
}

#[test]
fn open_arrivals_queue_and_merge() {
    let records = vec![record(0, 1, Op::Read, 0, 8), record(1, 1, Op::Read, 100, 8), record(1, 1, Op::Read, 108, 8)];
    let device = Fixed::new(Nanos::from_millis(10), 1);
    let log = device.log.clone();
    let config = BlockConfig { lookahead: Some(false), ..BlockConfig::default() };
    let report = report_of(Open::new(records), "noop", device, &config);
    assert_eq!((report.requests, report.merged, report.dispatched), (3, 1, 2));
    assert_eq!(report.bytes, 3 * 4096);
    assert_eq!(log.borrow().iter().map(|r| (r.lba.0, r.sectors.0)).collect::<Vec<_>>(), [(0, 8), (100, 16)]);
    // 10 ms, then 19 ms for the two that arrived a millisecond later.
    assert!((report.response_ms.mean - 16.0).abs() < 0.03, "{:?}", report.response_ms);
}

#[test]
fn one_request_of_lookahead_leaves_the_scheduler_early() {
    // The second request is dispatched while the first is served, so that the third cannot merge with it.
    let records = vec![record(0, 1, Op::Read, 0, 8), record(1, 1, Op::Read, 100, 8), record(2, 1, Op::Read, 108, 8)];
    let with = |lookahead| {
        let config = BlockConfig { lookahead: Some(lookahead), plug: Some(false), ..BlockConfig::default() };
        let device = Fixed::new(Nanos::from_millis(10), 1);
        report_of(Open::new(records.clone()), "noop", device, &config).merged
    };
    assert_eq!((with(true), with(false)), (0, 1));
}

#[test]
fn large_requests_are_split_and_counted_once() {
    let config = BlockConfig { max_sectors_kb: Some(512), nomerges: 2, ..BlockConfig::default() };
    let records = vec![record(0, 1, Op::Read, 0, 4096)];
    let device = Fixed::new(Nanos::from_millis(10), 1);
    let report = report_of(Open::new(records), "noop", device, &config);
    assert_eq!((report.requests, report.dispatched, report.bytes), (1, 4, 2 << 20));
    assert!((report.response_ms.max - 40.0).abs() < 0.1);
}

#[test]
fn the_device_plug_of_2_6_holds_a_lone_write_for_3_ms() {
    let response = |op| {
        let device = Fixed::new(Nanos::from_millis(10), 1);
        let source = Open::new(vec![record(0, 1, op, 0, 8)]);
        report_of(source, "noop", device, &BlockConfig::default()).response_ms.mean
    };
    assert!((response(Op::Read) - 10.0).abs() < 0.02, "a reader pulls the plug");
    assert!((response(Op::Write) - 13.0).abs() < 0.02);
}

#[test]
fn a_full_queue_puts_submitters_to_sleep_and_loses_nothing() {
    let records: Vec<_> = (0..100).map(|i| record(0, i, Op::Write, u64::from(i) * 1000, 8)).collect();
    let config = BlockConfig { nr_requests: Some(4), ..BlockConfig::default() };
    let device = Fixed::new(Nanos::from_millis(1), 1);
    let report = report_of(Open::new(records), "noop", device, &config);
    assert_eq!((report.requests, report.dispatched), (100, 100));
}

#[test]
fn a_closed_population_stays_constant() {
    let records: Vec<_> = (0..200).map(|i| record(0, i % 7, Op::Read, u64::from(i) * 1000, 8)).collect();
    let device = Fixed::new(Nanos::from_millis(1), 1);
    let report = report_of(Closed::new(records, 8), "noop", device, &BlockConfig::default());
    assert!((report.queue_length_mean - 8.0).abs() < 0.4, "{}", report.queue_length_mean);
    assert!(report.utilization > 0.95);
}

/// Where a reader's requests begin.
const PART: u64 = 1 << 20;

/// Tasks that read synchronously, without thinking.
struct Readers {
    /// For each task, the number of reads left, and when it continues.
    tasks: Vec<(u64, Option<Nanos>)>,
}

impl Readers {
    fn new(tasks: usize, each: u64) -> Self {
        Self { tasks: vec![(each, Some(Nanos::ZERO)); tasks] }
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
                    cpu: 0,
                    handle: SourceHandle(task as u64),
                }));
            }
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        let (left, due) = &mut self.tasks[handle.0 as usize];
        assert!(due.is_none());
        *due = (*left > 0).then_some(now);
    }

    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}
}

/// The order in which the device serves the requests of three readers that compete for its only tag.
fn turns(steal: f64, service_us: u64) -> Vec<u64> {
    turns_on(&CpuOverheads { tag_steal_probability: steal, ..CpuOverheads::default() }, service_us)
}

fn turns_on(host: &CpuOverheads, service_us: u64) -> Vec<u64> {
    turns_of(Readers::new(3, 20), host, service_us)
}

fn turns_of(readers: Readers, host: &CpuOverheads, service_us: u64) -> Vec<u64> {
    let config = BlockConfig { host_tags: Some(1), ..BlockConfig::default() };
    let device = Fixed::new(Nanos::from_micros(service_us), 1);
    let log = device.log.clone();
    run_on(host, readers, "none", device, &config).unwrap();
    let log = log.borrow();
    log.iter().map(|r| r.lba.0 / PART).collect()
}

#[test]
fn a_completer_that_always_wins_keeps_its_tag() {
    // The sleeper that lost looks for a tag and sleeps again before the next completion, even on a fast disk.
    for service_us in [50, 190, 1000] {
        let turns = turns(1.0, service_us);
        assert!(turns.chunks(20).all(|all| all.iter().all(|task| *task == all[0])), "{service_us} us: {turns:?}");
    }
}

/// Whether all three take turns, apart from the end, when the others have finished.
fn go_round(turns: &[u64]) -> bool {
    turns[..50].windows(3).all(|three| three[0] != three[1] && three[1] != three[2] && three[0] != three[2])
}

#[test]
fn a_completer_that_never_wins_waits_for_all_others() {
    assert!(go_round(&turns(0.0, 190)));
    // This holds for any time to resume.
    let at_once = CpuOverheads { tag_steal_probability: 0.0, resume_us: Some(0.0), ..CpuOverheads::default() };
    assert!(go_round(&turns_on(&at_once, 190)));
}

#[test]
fn the_host_adds_issue_and_resume_times() {
    let source = Readers::new(1, 1000);
    let device = Fixed::new(Nanos::from_millis(1), 4);
    let report = report_of(source, "noop", device, &BlockConfig::default());
    // A millisecond of service and 10 us to issue for each, 50 us to resume after each but the last.
    assert!((report.elapsed_s - (1.01 + 0.05 * 0.999)).abs() < 1e-6, "{}", report.elapsed_s);
}

proptest! {
    /// Every byte is served once, for any arrivals, under every scheduler and with any settings of the block layer.
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
        irregular in prop::option::of(prop::collection::vec(0u64..200_000, 1..20)),
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
            max_sectors_kb: Some(max_sectors_kb),
            nomerges,
            plug: Some(plug),
            lookahead: Some(lookahead),
            ..BlockConfig::default()
        };
        for spec in SchedulerSpec::all() {
            let device = Fixed::new(Nanos::from_millis(1), depth);
            let log = device.log.clone();
            let run = if let Some(times) = &irregular {
                run_irregularly(times, Open::new(records.clone()), spec.name, device, &config)
            } else if closed {
                run_on(&CpuOverheads::default(), Closed::new(records.clone(), 5), spec.name, device, &config)
            } else {
                run_on(&CpuOverheads::default(), Open::new(records.clone()), spec.name, device, &config)
            };
            let report = match run {
                Ok(report) => report,
                Err(stuck) => return Err(TestCaseError::fail(format!("{spec}: {stuck:?}"))),
            };
            prop_assert_eq!(report.requests, records.len() as u64, "{}", spec);
            prop_assert_eq!(report.bytes, bytes, "{}", spec);
            // The device has served exactly the submitted sectors.
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
