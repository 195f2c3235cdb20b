//! The traces in `examples/traces`: recordings of real programs, on which inference must hold what it promises.

use iopilot_block::{Nanos, Op};
use iopilot_trace::{ArrivalSimulator, Dependencies, InferOptions, ReadOptions, TraceRecord, infer, read_all};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

fn trace(name: &str) -> Vec<TraceRecord> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces");
    let path: PathBuf = folder.join(name).with_extension("parquet");
    read_all(&path, &ReadOptions::default()).expect("the shipped traces are readable")
}

const ALL: [&str; 6] = ["source-tree-read", "compile", "sqlite", "tar", "backward-read", "mixed"];

/// Replays with the service time that `service` gives each request, all in parallel; the arrivals by request.
fn replay(deps: &Dependencies, service: impl Fn(usize) -> Nanos) -> Vec<Nanos> {
    let mut simulator = ArrivalSimulator::new(deps);
    let mut in_flight = BinaryHeap::new();
    let mut arrivals = vec![Nanos::MAX; deps.len()];
    while !simulator.is_done() {
        let next = simulator.next_event().unwrap_or(Nanos::MAX);
        match in_flight.peek().copied() {
            Some(Reverse((at, request))) if at <= next => {
                in_flight.pop();
                simulator.completed(request, at);
            }
            _ => {
                let request = simulator.pop(next).expect("either something is in flight or something is due");
                arrivals[request as usize] = next;
                in_flight.push(Reverse((next + service(request as usize), request)));
            }
        }
    }
    arrivals
}

#[test]
fn a_replay_that_completes_as_recorded_arrives_as_recorded() {
    for name in ALL {
        let records = trace(name);
        let deps = infer(&records, &InferOptions::default()).expect("recorded with all that inference needs");
        let served = |i: usize| records[i].completion.map_or(Nanos::ZERO, |c| c - records[i].arrival);
        let recorded: Vec<_> = records.iter().map(|r| r.arrival).collect();
        assert_eq!(replay(&deps, served), recorded, "{name}");
        let bytes: u64 = records.iter().filter(|r| r.op.transfers()).map(|r| r.sectors.bytes()).sum();
        let reads = records.iter().filter(|r| r.op == Op::Read).count();
        eprintln!(
            "{name}: {} requests, {reads} reads, {:.0} MB, {} processes, {} dependencies between processes, {:.2} s",
            records.len(),
            bytes as f64 / 1e6,
            deps.processes(),
            deps.cross_process_count(),
            recorded.last().map_or(0.0, |t| t.as_secs_f64()),
        );
    }
}

#[test]
fn a_slow_disk_slows_readers_down() {
    // 5 ms a request: a program that waits for each read cannot be done before all its reads are.
    let records = trace("backward-read");
    let deps = infer(&records, &InferOptions::default()).expect("recorded with all that inference needs");
    let slow = replay(&deps, |_| Nanos::from_millis(5));
    let waited: u64 =
        (0..deps.len() as u32).filter(|&i| deps.is_blocking(i) && deps.outstanding_limit(i) == 0).count() as u64;
    assert!(waited > 100);
    assert!(slow.iter().max() >= Some(&Nanos::from_millis(5 * (waited - 1))));
}
