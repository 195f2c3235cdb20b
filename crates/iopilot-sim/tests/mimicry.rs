//! The mimicry problem (GF 4.4.1): eight processes, four synchronous reads each.
//!
//! If a scheduler is fed with the arrivals of a recording under another scheduler, it serves them in much the same order as the
//! recording scheduler. In a dependent replay, each scheduler serves them in its own order.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, PriorityClass, ProcessId, Sectors};
use iopilot_device::{Completion, Device, DeviceRequest, ServiceBreakdown};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, CpuOverheads, Progress, RunConfig, RunReport, run};
use iopilot_trace::{InferOptions, TraceRecord, infer};
use iopilot_workload::replay::{Dependent, Open, ReplayRecord};
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use std::cell::RefCell;
use std::rc::Rc;

const PROCESSES: u32 = 8;
const REQUESTS: u32 = 4;
/// The requests that each process issues before those, alone, so that CFQ knows its think time, as in the thesis.
const BEFORE: u32 = 64;
/// The time between the starts of two processes.
const ALONE: Nanos = Nanos::from_millis(2_000);
/// The time at which the four requests of all processes begin.
const START: Nanos = Nanos::from_millis(20_000);
const THINK: Nanos = Nanos::from_millis(1);
/// The service time of a request in another file.
const MOVE: Nanos = Nanos::from_millis(20);
/// The service time of a request in the same file. The thesis counts in requests, so that CFQ's second round begins with
/// noop's third. Here CFQ also idles for 8 ms after the first turn; the shorter service in the same file makes up for that.
const STAY: Nanos = Nanos::from_micros(18_500);
/// The number of sectors between the files of two processes.
const FILE: u64 = 1_000_000;

/// A disk that takes `MOVE` from file to file, and `STAY` within one.
#[derive(Default)]
struct Disk {
    file: Option<u64>,
    serving: Option<(Nanos, DeviceRequest)>,
    order: Rc<RefCell<Vec<(u64, u64)>>>,
}

impl Device for Disk {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        assert!(self.serving.is_none());
        let file = request.lba.0 / FILE;
        let service = if self.file == Some(file) { STAY } else { MOVE };
        self.file = Some(file);
        self.serving = Some((now + service, request));
        if let Some(number) = (request.lba.0 % FILE / 1000 + 1).checked_sub(u64::from(BEFORE)).filter(|&j| j > 0) {
            self.order.borrow_mut().push((file + 1, number));
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.serving.map(|(at, _)| at)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        if let Some((at, request)) = self.serving.filter(|&(at, _)| at <= now) {
            self.serving = None;
            out.push(Completion { id: request.id, at, service: ServiceBreakdown::default() });
        }
    }

    fn capacity(&self) -> u64 {
        u64::from(PROCESSES) * FILE
    }

    fn queue_depth(&self) -> u32 {
        1
    }
}

/// The applications, which read and think in turn: first each alone, then all together.
struct Applications {
    due: Vec<(Nanos, u32)>,
    issued: [u32; PROCESSES as usize],
    exits: Vec<(Nanos, ProcessId)>,
}

impl Applications {
    fn new() -> Self {
        // The first process is the last one that runs alone: its slice has not ended when the others arrive.
        let due = (0..PROCESSES).map(|p| (ALONE * u64::from(PROCESSES - 1 - p), p)).collect();
        Self { due, issued: [0; PROCESSES as usize], exits: Vec::new() }
    }
}

impl Source for Applications {
    fn next_event(&self) -> Option<Nanos> {
        self.due.iter().map(|d| d.0).chain(self.exits.iter().map(|e| e.0)).min()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        out.extend(self.exits.drain(..).map(|(_, p)| Step::Exit(p)));
        self.due.sort_unstable();
        let issued = &mut self.issued;
        self.due.retain(|&(at, p)| {
            if at > now {
                return true;
            }
            let j = issued[p as usize];
            issued[p as usize] += 1;
            out.push(Step::Request(Arrival {
                op: Op::Read,
                lba: Lba(u64::from(p) * FILE + u64::from(j) * 1000),
                sectors: Sectors(8),
                flags: Flags::empty(),
                process: ProcessId(p + 1),
                // At the highest level, CFQ's offset for latecomers is zero: it serves the processes in turn, as the thesis
                // describes.
                priority: IoPriority { class: PriorityClass::BestEffort, level: 0 },
                criticality: Criticality::TimeCritical,
                cpu: 0,
                handle: SourceHandle(u64::from(p)),
            }));
            false
        });
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        match self.issued[handle.0 as usize] {
            BEFORE => self.due.push((START, handle.0 as u32)),
            n if n < BEFORE + REQUESTS => self.due.push((now + THINK, handle.0 as u32)),
            _ => self.exits.push((now, ProcessId(handle.0 as u32 + 1))),
        }
    }

    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}

    fn thinks_from_block_layer(&self) -> bool {
        true
    }
}

type Order = Vec<(u64, u64)>;

fn serve<S: Source>(source: S, scheduler: &str) -> (Order, RunReport) {
    let config = RunConfig {
        block: BlockConfig { plug: Some(false), lookahead: Some(false), ..BlockConfig::default() },
        host: CpuOverheads { issue_us: Some(0.0), ..CpuOverheads::default() },
        rotational: true,
        log: true,
        ..RunConfig::default()
    };
    let disk = Disk::default();
    let order = disk.order.clone();
    let scheduler = SchedulerSpec::parse(scheduler).unwrap();
    let report = run(source, disk, &scheduler, &config, &Progress::default()).unwrap();
    let order = order.borrow().clone();
    (order, report)
}

fn trace_of(scheduler: &str) -> Vec<TraceRecord> {
    serve(Applications::new(), scheduler).1.log.expect("the run was asked to keep its requests")
}

fn replay(records: &[TraceRecord]) -> Vec<ReplayRecord> {
    records.iter().map(ReplayRecord::from).collect()
}

fn dependent(records: &[TraceRecord], scheduler: &str) -> Order {
    let dependencies = infer(records, &InferOptions::default()).unwrap();
    serve(Dependent::new(replay(records), dependencies, 1.0), scheduler).0
}

fn fed(records: &[TraceRecord], scheduler: &str) -> Order {
    serve(Open::new(replay(records)), scheduler).0
}

/// One request of each process after the other.
fn round_robin() -> Order {
    (1..=4).flat_map(|j| (1..=8).map(move |i| (i, j))).collect()
}

/// All four of a process in a row.
fn by_process() -> Order {
    (1..=8).flat_map(|i| (1..=4).map(move |j| (i, j))).collect()
}

#[test]
fn each_scheduler_has_its_own_order() {
    assert_eq!(serve(Applications::new(), "noop").0, round_robin());
    assert_eq!(serve(Applications::new(), "cfq").0, by_process());
}

#[test]
fn dependent_replay_gives_the_right_order_whatever_was_recorded() {
    assert_eq!(dependent(&trace_of("noop"), "cfq"), by_process());
    assert_eq!(dependent(&trace_of("noop"), "noop"), round_robin());
    assert_eq!(dependent(&trace_of("cfq"), "noop"), round_robin());
    assert_eq!(dependent(&trace_of("cfq"), "cfq"), by_process());
}

/// CFQ should serve four in a row. A CFQ that does not know the processes sees late arrivals, takes their think times to be
/// longer than its idling, stops idling, and serves one at a time. Two at a time is the better case, as the thesis says.
#[test]
fn cfq_fed_with_noops_arrivals_serves_two_at_a_time() {
    let pairs = [1, 3].into_iter().flat_map(|j| (1..=8).flat_map(move |i| [(i, j), (i, j + 1)]));
    assert_eq!(fed(&trace_of("noop"), "cfq"), pairs.collect::<Order>());
}

#[test]
fn noop_fed_with_cfqs_arrivals_serves_three_at_a_time() {
    let firsts = (1..=8).map(|i| (i, 1));
    let threes = (1..=8).flat_map(|i| (2..=4).map(move |j| (i, j)));
    assert_eq!(fed(&trace_of("cfq"), "noop"), firsts.chain(threes).collect::<Order>());
}
