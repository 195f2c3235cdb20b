//! The effect of a change of scheduler that each mode of replay predicts, beside the real effect (Ganger 6.2).
//!
//! The workload is readers that think. It is run under two schedulers, each run is recorded, and each recording is replayed
//! under the other scheduler. The open subsystem model over-estimates the change, the closed one under-estimates it, and
//! dependent replay predicts it.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_catalogue::{AnyDevice, load_disk};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Progress, RunConfig, RunReport, run};
use iopilot_trace::{InferOptions, infer};
use iopilot_workload::replay::{Closed, Dependent, Open, ReplayRecord};
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Readers that read 8 KiB anywhere, and think between 0 and 40 ms before the next.
struct Readers {
    due: Vec<Option<Nanos>>,
    left: Vec<u32>,
    exits: Vec<(Nanos, ProcessId)>,
    random: Vec<Pcg64Mcg>,
    capacity: u64,
}

impl Readers {
    fn new(readers: usize, requests: u32, capacity: u64) -> Self {
        Self {
            due: vec![Some(Nanos::ZERO); readers],
            left: vec![requests; readers],
            exits: Vec::new(),
            random: (0..readers as u64).map(Pcg64Mcg::seed_from_u64).collect(),
            capacity,
        }
    }
}

impl Source for Readers {
    fn next_event(&self) -> Option<Nanos> {
        self.due.iter().flatten().chain(self.exits.iter().map(|(at, _)| at)).min().copied()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        out.extend(self.exits.drain(..).map(|(_, reader)| Step::Exit(reader)));
        for reader in 0..self.due.len() {
            if self.due[reader].is_some_and(|due| due <= now) {
                self.due[reader] = None;
                self.left[reader] -= 1;
                let lba = self.random[reader].random_range(0..self.capacity / 16) * 16;
                out.push(Step::Request(Arrival {
                    op: Op::Read,
                    lba: Lba(lba),
                    sectors: Sectors(16),
                    flags: Flags::empty(),
                    process: ProcessId(reader as u32),
                    priority: IoPriority::default(),
                    criticality: Criticality::TimeCritical,
                    cpu: 0,
                    handle: SourceHandle(reader as u64),
                }));
            }
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        let reader = handle.0 as usize;
        let think = Nanos(self.random[reader].random_range(0..40_000_000));
        self.due[reader] = (self.left[reader] > 0).then_some(now + think);
        if self.left[reader] == 0 {
            self.exits.push((now, ProcessId(reader as u32)));
        }
    }

    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}

    fn thinks_from_block_layer(&self) -> bool {
        true
    }
}

fn disk() -> AnyDevice {
    load_disk("hp-c2247").unwrap().build().unwrap()
}

fn serve<S: Source>(source: S, scheduler: &str) -> RunReport {
    let config = RunConfig { rotational: true, log: true, ..RunConfig::default() };
    run(source, disk(), &SchedulerSpec::parse(scheduler).unwrap(), &config, &Progress::default()).unwrap()
}

/// The mean response under `to` over that under `from`: measured, and predicted by open, closed and dependent replay of a
/// recording under `from`.
fn changes(from: &str, to: &str) -> [f64; 4] {
    let readers = || Readers::new(10, 300, disk().capacity());
    let before = serve(readers(), from);
    let measured = serve(readers(), to).response_ms.mean / before.response_ms.mean;

    let trace = before.log.as_ref().expect("the run was asked to keep its requests");
    let records: Vec<ReplayRecord> = trace.iter().map(ReplayRecord::from).collect();
    let records = &records[..];
    let population = before.queue_length_mean.round() as u32;
    let deps = infer(trace, &InferOptions::default()).unwrap();
    let change = |to: RunReport, from: RunReport| to.response_ms.mean / from.response_ms.mean;
    [
        measured,
        change(serve(Open::new(records), to), serve(Open::new(records), from)),
        change(serve(Closed::new(records, population), to), serve(Closed::new(records, population), from)),
        change(serve(Dependent::new(records, &deps, 1.0), to), serve(Dependent::new(records, &deps, 1.0), from)),
    ]
}

#[test]
fn from_fcfs_to_clook_open_promises_too_much_and_closed_too_little() {
    let [measured, open, closed, dependent] = changes("fcfs", "clook");
    eprintln!("fcfs to clook: measured {measured:.3}, open {open:.3}, closed {closed:.3}, dependent {dependent:.3}");
    assert!(measured < 0.95, "there is something to gain: {measured}");
    assert!(open < measured, "open {open} over-estimates the gain {measured}");
    assert!(closed > measured, "closed {closed} under-estimates the gain {measured}");
    assert!((dependent / measured - 1.0).abs() < 0.01, "dependent {dependent} is right: {measured}");
}

#[test]
fn from_clook_to_fcfs_open_threatens_with_too_much_and_closed_with_too_little() {
    let [measured, open, closed, dependent] = changes("clook", "fcfs");
    eprintln!("clook to fcfs: measured {measured:.3}, open {open:.3}, closed {closed:.3}, dependent {dependent:.3}");
    assert!(open > measured, "open {open} over-estimates the loss {measured}");
    assert!(closed < measured, "closed {closed} under-estimates the loss {measured}");
    assert!((dependent / measured - 1.0).abs() < 0.01, "dependent {dependent} is right: {measured}");
}

#[test]
fn dependent_replay_under_the_recording_scheduler_reproduces_the_recording() {
    for scheduler in ["fcfs", "cfq", "bfq"] {
        let mut readers = Readers::new(10, 100, disk().capacity());
        // A trace does not contain the order of arrivals at the same time, and bfq's tree depends on it.
        for (due, n) in readers.due.iter_mut().zip(0..) {
            *due = Some(Nanos(n));
        }
        let recorded = serve(readers, scheduler).log.expect("asked for");
        let records: Vec<ReplayRecord> = recorded.iter().map(ReplayRecord::from).collect();
        let deps = infer(&recorded, &InferOptions::default()).unwrap();
        let replayed = serve(Dependent::new(&records[..], &deps, 1.0), scheduler).log.expect("asked for");
        assert!(recorded == replayed, "{scheduler}: some request arrived, or completed, at another time");
    }
}
