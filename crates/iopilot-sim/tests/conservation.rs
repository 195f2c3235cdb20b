//! Every byte that a real trace requests is served exactly once, under every scheduler.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use iopilot_block::{Nanos, Op};
use iopilot_device::{Completion, Device, DeviceRequest, ServiceBreakdown};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, Progress, RunConfig, RunReport, run};
use iopilot_trace::{InferOptions, ReadOptions, TraceRecord, infer, read_all};
use iopilot_workload::Source;
use iopilot_workload::replay::{Closed, Dependent, Open, ReplayRecord};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;

/// Sums over the sectors of all requests of one kind: their number, and the sums of their addresses, squares and cubes.
/// Two multisets of sectors that agree in all four are the same, except by construction.
type Sums = [[u128; 4]; 4];

fn count(sums: &mut Sums, op: Op, lba: u64, sectors: u32) {
    let kind = match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Flush => 2,
        Op::Discard => 3,
    };
    // Sums of powers below n, in closed form: a request of a million sectors costs no more than one.
    let below = |n: u128| {
        let square = n * n.saturating_sub(1) / 2;
        [n, square, n * n.saturating_sub(1) * (2 * n).saturating_sub(1) / 6, square.wrapping_mul(square)]
    };
    let (low, high) = (below(u128::from(lba)), below(u128::from(lba) + u128::from(sectors)));
    for (sum, (h, l)) in sums[kind].iter_mut().zip(high.into_iter().zip(low)) {
        *sum = sum.wrapping_add(h.wrapping_sub(l));
    }
}

/// A device of four slots that serves a request in 100 us and adds up what it serves.
struct Counting {
    queue: VecDeque<DeviceRequest>,
    due: Option<Nanos>,
    sums: Rc<RefCell<Sums>>,
}

const SERVICE: Nanos = Nanos::from_micros(100);

impl Device for Counting {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        count(&mut self.sums.borrow_mut(), request.op, request.lba.0, request.sectors.0);
        self.queue.push_back(request);
        self.due.get_or_insert(now + SERVICE);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.due
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        while let Some(at) = self.due.filter(|&at| at <= now) {
            let id = self.queue.pop_front().expect("a due completion has a request").id;
            out.push(Completion { id, at, service: ServiceBreakdown::default() });
            self.due = (!self.queue.is_empty()).then_some(at + SERVICE);
        }
    }

    fn capacity(&self) -> u64 {
        1 << 40
    }

    fn queue_depth(&self) -> u32 {
        4
    }
}

fn serve<S: Source>(source: S, scheduler: &SchedulerSpec) -> (RunReport, Sums) {
    let sums = Rc::new(RefCell::new(Sums::default()));
    let device = Counting { queue: VecDeque::new(), due: None, sums: sums.clone() };
    let config = RunConfig { block: BlockConfig::default(), rotational: true, ..RunConfig::default() };
    let report = run(source, device, scheduler, &config, &Progress::default()).unwrap();
    let sums = *sums.borrow();
    (report, sums)
}

fn check(name: &str, records: &[TraceRecord]) {
    let mut wanted = Sums::default();
    for r in records {
        count(&mut wanted, r.op, r.lba.0, r.sectors.0);
    }
    let replay: Vec<ReplayRecord> = records.iter().map(ReplayRecord::from).collect();
    let dependencies = infer(records, &InferOptions::default()).ok();
    let kind = if dependencies.is_some() { "dependent" } else { "open" };
    eprintln!("{name}: {} requests, open, closed{}", records.len(), if kind == "open" { "" } else { ", dependent" });
    let prio = SchedulerSpec::parse_list("prio(cfq,bfq,mq-deadline,none):aging_ms=50").unwrap();
    for scheduler in SchedulerSpec::all().into_iter().chain(prio) {
        let mut runs = vec![
            ("open", serve(Open::new(&replay[..]), &scheduler)),
            ("closed", serve(Closed::new(&replay[..], 16), &scheduler)),
        ];
        if let Some(deps) = &dependencies {
            runs.push(("dependent", serve(Dependent::new(&replay[..], deps, 1.0), &scheduler)));
        }
        for (mode, (report, served)) in runs {
            assert_eq!(report.requests, records.len() as u64, "{name}, {mode}, {scheduler}");
            assert!(served == wanted, "{name}, {mode}, {scheduler}: not every sector was served exactly once");
        }
    }
}

#[test]
fn every_byte_of_every_trace_is_served_once() {
    let Some(traces) = iopilot_testing::data("traces") else { return };
    for file in [
        "cloudphysics/cloudPhysicsIO.vscsi",
        "msr/msr.cut.per_10k.rw_20_80.105.trace",
        "blkparse/apress-hadoop-blkparse.txt",
        "hp/ajw.1week.srt",
        "mqsim/tpcc-small.trace",
        "blktrace/keks.blktrace.0",
    ] {
        let records = read_all(&traces.join(file), &ReadOptions::default()).unwrap();
        check(file, &records);
    }
}

#[test]
fn every_byte_of_the_shipped_traces_is_served_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces");
    let mut traces: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "parquet"))
        .collect();
    traces.sort();
    assert!(!traces.is_empty(), "traces are shipped");
    for path in traces {
        let records = read_all(&path, &ReadOptions::default()).unwrap();
        check(&path.file_name().unwrap().to_string_lossy(), &records);
    }
}
