//! [`InARow`]: one benchmark after the other.

use super::GfBenchmark;
use super::pattern::{PROCESSES, Pattern, Piece};
use crate::{Arrival, Source, Step};
use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};

/// Between the end of a benchmark and the beginning of the next.
const BREAK: Nanos = Nanos::from_secs(1);
/// Requests a process has outstanding while it waits for one that was read ahead.
const OUTSTANDING: u32 = 2;

/// All benchmarks in a row (GF 3.4.2): each is run by a number of processes on files of their own, and the next begins
/// when the last of them is done. Each process of each benchmark is another [`ProcessId`].
#[derive(Clone, Debug)]
pub struct InARow {
    benchmarks: Vec<GfBenchmark>,
    processes: u32,
    /// Requests of each process at most.
    requests: u32,
    capacity: u64,
    seed: u64,
    /// How many have begun.
    begun: usize,
    streams: Vec<Stream>,
    /// When the next benchmark begins; none is running.
    begins: Option<Nanos>,
}

/// A process.
#[derive(Clone, Debug)]
struct Stream {
    process: ProcessId,
    pattern: Pattern,
    left: u32,
    next: Option<Piece>,
    outstanding: u32,
    /// When it last went on.
    since: Nanos,
    blocked: bool,
    done: bool,
}

impl Stream {
    fn fetch(&mut self) {
        self.next = match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                self.pattern.next()
            }
            None => None,
        };
    }

    /// When it issues its next request, or exits; `None` where it waits.
    fn due(&self) -> Option<Nanos> {
        match &self.next {
            _ if self.done || self.blocked => None,
            Some(piece) if piece.ahead => (self.outstanding < OUTSTANDING).then_some(self.since),
            Some(piece) => (self.outstanding == 0).then(|| self.since + piece.think),
            None => (self.outstanding == 0).then_some(self.since),
        }
    }
}

impl InARow {
    /// `benchmarks`, each by as many `processes` (at most 32), each of which ends after so many `requests` if its files
    /// are not read by then, on a disk of `capacity` sectors.
    pub fn new(benchmarks: &[GfBenchmark], processes: u32, requests: u32, capacity: u64, seed: u64) -> Self {
        Self {
            benchmarks: benchmarks.to_vec(),
            processes: processes.clamp(1, PROCESSES as u32),
            requests,
            capacity,
            seed,
            begun: 0,
            streams: Vec::new(),
            begins: (!benchmarks.is_empty()).then_some(Nanos::ZERO),
        }
    }

    /// The benchmark that `process` belongs to.
    pub fn benchmark(&self, process: ProcessId) -> Option<GfBenchmark> {
        let index = process.0.checked_sub(1)? / self.processes;
        self.benchmarks.get(index as usize).copied()
    }

    fn begin(&mut self, now: Nanos) {
        self.begins = None;
        let Some(&benchmark) = self.benchmarks.get(self.begun) else { return };
        let first = 1 + self.begun as u32 * self.processes;
        self.begun += 1;
        self.streams.clear();
        for number in 0..self.processes {
            let mut stream = Stream {
                process: ProcessId(first + number),
                pattern: Pattern::new(benchmark, number.into(), self.capacity, self.seed),
                left: self.requests,
                next: None,
                outstanding: 0,
                since: now,
                blocked: false,
                done: false,
            };
            stream.fetch();
            self.streams.push(stream);
        }
    }

    fn stream(&mut self, process: u64) -> Option<&mut Stream> {
        let first = u64::from(self.streams.first()?.process.0);
        self.streams.get_mut(process.checked_sub(first)? as usize)
    }
}

impl Source for InARow {
    fn next_event(&self) -> Option<Nanos> {
        self.begins.or_else(|| self.streams.iter().filter_map(Stream::due).min())
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        if self.begins.is_some_and(|at| at <= now) {
            self.begin(now);
        }
        for stream in &mut self.streams {
            while stream.due().is_some_and(|due| due <= now) {
                let Some(piece) = stream.next else {
                    stream.done = true;
                    out.push(Step::Exit(stream.process));
                    break;
                };
                // What was read ahead is waited for where nothing else is under way.
                let (flags, criticality) = match piece.ahead && stream.outstanding > 0 {
                    true => (Flags::READ_AHEAD, Criticality::TimeLimited),
                    false => (Flags::empty(), Criticality::TimeCritical),
                };
                out.push(Step::Request(Arrival {
                    op: Op::Read,
                    lba: Lba(piece.lba),
                    sectors: Sectors(piece.sectors),
                    flags,
                    process: stream.process,
                    priority: IoPriority::default(),
                    criticality,
                    cpu: stream.process.0 as u16,
                    tag: u64::from(stream.process.0) << 32 | u64::from(stream.left),
                }));
                stream.outstanding += 1;
                stream.since = now;
                stream.fetch();
            }
        }
        if !self.streams.is_empty() && self.streams.iter().all(|stream| stream.done) {
            self.streams.clear();
            self.begins = (self.begun < self.benchmarks.len()).then(|| now + BREAK);
        }
    }

    fn completed(&mut self, tag: u64, now: Nanos) {
        if let Some(stream) = self.stream(tag >> 32) {
            stream.outstanding -= 1;
            stream.since = now;
        }
    }

    fn blocked(&mut self, process: ProcessId, _now: Nanos) {
        if let Some(stream) = self.stream(process.0.into()) {
            stream.blocked = true;
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(stream) = self.stream(process.0.into()) {
            (stream.blocked, stream.since) = (false, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::TestDevice;
    use super::*;

    #[test]
    fn benchmarks_follow_each_other_and_every_process_ends() {
        let mut source = InARow::new(&GfBenchmark::ALL, 3, 200, 400 << 21, 1);
        let log = TestDevice { blocking: 0.1, ..TestDevice::default() }.run(&mut source);
        assert_eq!(log.requests.len(), 5 * 3 * 200);
        assert_eq!(log.exits.len(), 5 * 3);
        let names = GfBenchmark::ALL.map(|b| b.to_string());
        let mut seen: Vec<String> = Vec::new();
        for request in &log.requests {
            let name = source.benchmark(request.arrival.process).map(|b| b.to_string()).unwrap_or_default();
            if seen.last() != Some(&name) {
                seen.push(name);
            }
        }
        assert_eq!(seen, names);
    }

    #[test]
    fn a_process_waits_unless_the_kernel_reads_ahead_for_it() {
        for (benchmark, most) in [(GfBenchmark::Tac, 1), (GfBenchmark::Strided8, 1), (GfBenchmark::Ior, 2)] {
            let mut source = InARow::new(&[benchmark], 2, 100, 400 << 21, 1);
            let log = TestDevice::default().run(&mut source);
            assert!(log.depth.values().all(|&depth| depth == most), "{benchmark}: {:?}", log.depth);
        }
    }
}
