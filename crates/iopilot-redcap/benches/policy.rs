//! The policy alone: reads of 4 KiB, with their completions, on one core.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iopilot_block::{Arrival, Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors, SourceHandle};
use iopilot_redcap::{PartTimes, Redcap, RedcapAction, RedcapSpec};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Sectors of the disk: 1 TiB.
const CAPACITY: u64 = 1 << 31;
const BATCH: u64 = 100_000;

/// A cache, and reads of so many neighbours at random places, one after the other.
struct Stream {
    cache: Redcap,
    neighbours: u64,
    random: Pcg64Mcg,
    now: Nanos,
    out: Vec<RedcapAction>,
    again: Vec<RedcapAction>,
}

impl Stream {
    fn new(algorithm: &str, neighbours: u64) -> Self {
        let spec = RedcapSpec::parse(&format!("512x128k,algorithm={algorithm}")).expect("it is a cache");
        Self {
            cache: Redcap::new(&spec, CAPACITY).expect("it fits"),
            neighbours,
            random: Pcg64Mcg::seed_from_u64(7),
            now: Nanos::ZERO,
            out: Vec::new(),
            again: Vec::new(),
        }
    }

    fn run(&mut self, reads: u64) {
        for handle in 0..reads / self.neighbours {
            let first = self.random.random_range(0..CAPACITY / 256) * 256;
            for neighbour in 0..self.neighbours {
                self.now += Nanos::from_millis(1);
                self.read(handle, first + neighbour * 8);
            }
        }
    }

    fn read(&mut self, handle: u64, lba: u64) {
        let io = Arrival {
            handle: SourceHandle(handle),
            op: Op::Read,
            lba: Lba(lba),
            sectors: Sectors(8),
            flags: Flags::empty(),
            process: ProcessId(1),
            priority: IoPriority::default(),
            criticality: Criticality::TimeCritical,
            cpu: 0,
        };
        let now = self.now;
        self.cache.submit(&io, now, &mut self.out);
        while !self.out.is_empty() {
            std::mem::swap(&mut self.out, &mut self.again);
            for action in self.again.drain(..) {
                match action {
                    RedcapAction::Send(part) => {
                        let completed = now + Nanos::from_micros(500);
                        let served = PartTimes { inserted: now, dispatched: now, completed, merged: Sectors(0) };
                        self.cache.served(part.id, served, &mut self.out);
                    }
                    RedcapAction::Copy { copy, .. } => self.cache.copied(copy, now, &mut self.out),
                    RedcapAction::Done { .. } | RedcapAction::Raise { .. } => {}
                }
            }
        }
    }
}

fn policy(c: &mut Criterion) {
    let mut group = c.benchmark_group("redcap");
    group.throughput(Throughput::Elements(BATCH));
    for (name, algorithm, neighbours) in
        [("7 of 8 hit", "always", 8), ("7 of 8 hit, v2", "v2", 8), ("all miss", "always", 1)]
    {
        let mut stream = Stream::new(algorithm, neighbours);
        group.bench_function(name, |b| b.iter(|| stream.run(BATCH)));
    }
    group.finish();
}

criterion_group!(benches, policy);
criterion_main!(benches);
