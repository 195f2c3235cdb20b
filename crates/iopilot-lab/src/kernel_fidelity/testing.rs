//! Simulated kernels that record themselves.

use super::predict;
use iopilot_block::{Flags, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, RunConfig, RunOptions, Session};
use iopilot_trace::{InferOptions, TraceRecord, infer};
use iopilot_workload::Source;
use iopilot_workload::replay::{Dependent, Open, ReplayRecord};

/// The recording of random reads and writes by four processes that wait for nothing, under `scheduler`.
pub(super) fn recorded(scheduler: &str) -> (Vec<TraceRecord>, SchedulerSpec, Machine) {
    let record = |n: u64| TraceRecord {
        process: Some(ProcessId(n as u32 % 4)),
        cpu: Some((n % 2) as u16),
        ..TraceRecord::new(
            Nanos::from_micros(150_000 * (n / 12) + 137 * n),
            if n % 7 == 3 { Op::Write } else { Op::Read },
            lba(n),
            Sectors(8),
        )
    };
    let records: Vec<ReplayRecord> = (0..600).map(|n| ReplayRecord::from(&record(n))).collect();
    under(scheduler, Open::new(&records[..]))
}

/// The recording of random reads by six processes that wait for each read and then think for 0.1 ms, under `scheduler`.
pub(super) fn recorded_readers(scheduler: &str) -> (Vec<TraceRecord>, SchedulerSpec, Machine) {
    let record = |n: u64| {
        let arrival = Nanos::from_micros(10_000 * (n / 6) + 700 * (n % 6));
        TraceRecord {
            process: Some(ProcessId(n as u32 % 6)),
            cpu: Some((n % 2) as u16),
            flags: Flags::SYNC,
            completion: Some(arrival + Nanos::from_micros(9_900)),
            ..TraceRecord::new(arrival, Op::Read, lba(n), Sectors(8))
        }
    };
    let records: Vec<TraceRecord> = (0..600).map(record).collect();
    let requests: Vec<ReplayRecord> = records.iter().map(ReplayRecord::from).collect();
    under(scheduler, Dependent::new(requests, infer(&records, &InferOptions::default()).unwrap(), 1.0))
}

fn lba(n: u64) -> Lba {
    Lba(n * 7_919 * 4_096 % 800_000_000)
}

/// A run on a disk that takes four requests.
fn under<S: Source>(scheduler: &str, source: S) -> (Vec<TraceRecord>, SchedulerSpec, Machine) {
    let machine = predict::machine("hd-500-16", 4).unwrap();
    let spec = SchedulerSpec::parse(scheduler).unwrap();
    let config = RunConfig { log: true, ..machine.run_config(&RunOptions::default()) };
    let mut session = Session::new(source, machine.device(), &spec, &config).unwrap();
    session.run_until(Nanos::MAX).unwrap();
    (session.take_log(), spec, machine)
}
