//! [`BenchmarkSequence`]: one benchmark after the other.

use super::GfBenchmark;
use super::layout::{FileMap, FilePlacement, GfFileSystem};
use super::pattern::ProcessReads;
use super::request::{BenchmarkRequest, IssuingTask, PROCESSES};
use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use std::collections::VecDeque;

/// The time between the end of a benchmark and the beginning of the next.
const BREAK: Nanos = Nanos::from_secs(1);
/// The first process id, where processes start others. [`iopilot_trace::infer`] takes the smallest ids for the kernel's
/// own, and lets their children depend on no process.
pub(super) const FIRST: u32 = 301;
/// The most requests that a process has outstanding while it waits for a read-ahead.
const OUTSTANDING: u32 = 2;

/// All benchmarks in a row (GF 3.4.2). Each is run by several processes on files of their own, and the next begins when
/// the last process has finished. Each process of each benchmark is another [`ProcessId`].
#[derive(Clone, Debug)]
pub struct BenchmarkSequence {
    benchmarks: Vec<GfBenchmark>,
    processes: u32,
    /// The most requests of each process.
    requests: u32,
    capacity: u64,
    seed: u64,
    /// The share of its files that each process reads.
    share: f64,
    files: GfFileSystem,
    /// Whether each file of a tree is read by a process of its own.
    forking: bool,
    one_program: bool,
    unplugs: bool,
    /// The number of those processes so far.
    children: u32,
    /// The first process id of the first benchmark.
    first: u32,
    /// The number of benchmarks that have begun.
    begun: usize,
    /// The start and end of each finished benchmark.
    times: Vec<(Nanos, Nanos)>,
    /// When the current benchmark began.
    began: Nanos,
    streams: Vec<Stream>,
    /// When the next benchmark begins, if none is running.
    begins: Option<Nanos>,
}

/// A process.
#[derive(Clone, Debug)]
struct Stream {
    process: ProcessId,
    pattern: ProcessReads,
    map: FileMap,
    /// Requests of the pattern that are issued next.
    placed: VecDeque<BenchmarkRequest>,
    left: u32,
    next: Option<BenchmarkRequest>,
    outstanding: u32,
    /// When it last resumed.
    since: Nanos,
    blocked: bool,
    done: bool,
    /// Whether the process starts child processes.
    forking: bool,
    /// Whether the process reads the files of a tree itself, and starts no program for them.
    one_program: bool,
    /// Whether the process unplugs the device when it waits; and whether its last request left the device plugged.
    unplugs: bool,
    plugged: bool,
    /// The child process that it waits for.
    child: Option<ProcessId>,
    /// Whether the child has issued nothing yet.
    fresh: bool,
}

impl Stream {
    fn fetch(&mut self) {
        self.next = None;
        let Some(left) = self.left.checked_sub(1) else { return };
        if self.placed.is_empty() {
            if let Some(piece) = self.pattern.next() {
                self.map.place(piece, &mut self.placed);
            }
        }
        (self.left, self.next) = (left, self.placed.pop_front());
    }

    /// Whether the next step is that the child exits, or that another child starts.
    fn hands_over(&self) -> bool {
        let task = self.next.map_or(IssuingTask::Own, |piece| piece.task);
        match self.child {
            Some(_) => task == IssuingTask::Own || task == IssuingTask::Starts && !self.fresh,
            None => self.forking && task == IssuingTask::Starts,
        }
    }

    /// When the process issues its next request, starts a child, or exits; `None` while it waits.
    fn due(&self) -> Option<Nanos> {
        match &self.next {
            _ if self.done || self.blocked => None,
            _ if self.hands_over() => (self.outstanding == 0).then_some(self.since),
            Some(piece) if piece.ahead => (self.outstanding < OUTSTANDING).then_some(self.since),
            Some(piece) => {
                let think = if self.one_program { Nanos::ZERO } else { piece.think };
                (self.outstanding == 0).then(|| self.since + think)
            }
            None => (self.outstanding == 0).then_some(self.since),
        }
    }
}

impl BenchmarkSequence {
    /// `benchmarks`, each with as many `processes` (at most 32), on a disk of `capacity` sectors. A process ends after
    /// `requests` requests, or when its files are read.
    pub fn new(benchmarks: &[GfBenchmark], processes: u32, requests: u32, capacity: u64, seed: u64) -> Self {
        Self {
            benchmarks: benchmarks.to_vec(),
            processes: processes.clamp(1, PROCESSES as u32),
            requests,
            capacity,
            seed,
            share: 1.0,
            files: GfFileSystem::default(),
            forking: false,
            one_program: false,
            unplugs: false,
            children: 0,
            first: 1,
            begun: 0,
            times: Vec::new(),
            began: Nanos::ZERO,
            streams: Vec::new(),
            begins: (!benchmarks.is_empty()).then_some(Nanos::ZERO),
        }
    }

    /// The same, but processes read only this share of their files, from 0 to 1. The files are placed as whole ones.
    #[must_use]
    pub(crate) fn share(self, share: f64) -> Self {
        Self { share: share.clamp(0.0, 1.0), ..self }
    }

    /// The same, but the files were written at the same time on ext3: runs of 4 MiB alternate. Each run follows its
    /// indirect block, which is read when the run is first read.
    #[must_use]
    pub(crate) fn interleaved(self) -> Self {
        let files = GfFileSystem { layout: FilePlacement::Interleaved, ..self.files };
        Self { files, ..self }
    }

    /// The same, but directories have no index, as `mke2fs` made them until 2006: files are listed in the order in
    /// which they were created. With an index they are listed in the order of the hashes of their names.
    #[must_use]
    pub(crate) fn unhashed(self) -> Self {
        let files = GfFileSystem { hashed: false, ..self.files };
        Self { files, ..self }
    }

    /// The same, but a process that waits for its read-ahead unplugs the device, as `sync_page` does. That matters
    /// where two windows do not reach the disk as one request.
    #[must_use]
    pub(crate) fn unplugging(self) -> Self {
        Self { unplugs: true, ..self }
    }

    /// The same, but `find` starts a process for each file of a tree, as the real one does (GF 4.6.2); by default it
    /// reads them itself. [`BenchmarkSequence::benchmark`] does not know those processes.
    #[must_use]
    pub(crate) fn forking(self) -> Self {
        Self { forking: true, first: FIRST, ..self }
    }

    /// The same, but with process ids from `first` on, and beginning at another time.
    pub(super) fn beginning(self, first: u32, begins: Nanos) -> Self {
        Self { first, begins: self.begins.map(|_| begins), ..self }
    }

    /// The smallest process id that was not used yet.
    pub(super) fn next_process(&self) -> u32 {
        self.first + self.benchmarks.len() as u32 * self.processes + self.children
    }

    /// Whether all benchmarks have finished.
    pub(super) fn is_over(&self) -> bool {
        self.times.len() == self.benchmarks.len()
    }

    /// The same, but `find` and `cat` are one program (GF 3.6.4): no time is taken to start one.
    #[must_use]
    pub(crate) fn one_program(self) -> Self {
        Self { one_program: true, ..self }
    }

    /// The start and end of each finished benchmark. A benchmark ends when its last process resumes.
    pub(crate) fn times(&self) -> &[(Nanos, Nanos)] {
        &self.times
    }

    /// The benchmark that `process` belongs to.
    pub(crate) fn benchmark(&self, process: ProcessId) -> Option<GfBenchmark> {
        let index = process.0.checked_sub(self.first)? / self.processes;
        self.benchmarks.get(index as usize).copied()
    }

    fn begin(&mut self, now: Nanos) {
        self.begins = None;
        let Some(&benchmark) = self.benchmarks.get(self.begun) else { return };
        let first = self.first + self.begun as u32 * self.processes;
        self.begun += 1;
        self.began = now;
        self.streams.clear();
        for number in 0..self.processes {
            let mut stream = Stream {
                process: ProcessId(first + number),
                pattern: ProcessReads::new(benchmark, number.into(), self.capacity, self.files, self.seed, self.share),
                map: FileMap::new(self.files.layout, number.into(), ProcessReads::file(self.capacity)),
                placed: VecDeque::new(),
                left: self.requests,
                next: None,
                outstanding: 0,
                since: now,
                blocked: false,
                done: false,
                forking: self.forking,
                one_program: self.one_program,
                unplugs: self.unplugs,
                plugged: false,
                child: None,
                fresh: false,
            };
            stream.fetch();
            self.streams.push(stream);
        }
    }

    fn stream(&mut self, process: u64) -> Option<&mut Stream> {
        let first = u64::from(self.streams.first()?.process.0);
        let place = process.checked_sub(first)? as usize;
        if place < self.streams.len() {
            return self.streams.get_mut(place);
        }
        self.streams.iter_mut().find(|stream| stream.child.is_some_and(|child| u64::from(child.0) == process))
    }
}

impl Source for BenchmarkSequence {
    fn next_event(&self) -> Option<Nanos> {
        self.begins.or_else(|| self.streams.iter().filter_map(Stream::due).min())
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        if self.begins.is_some_and(|at| at <= now) {
            self.begin(now);
        }
        for stream in &mut self.streams {
            while stream.due().is_some_and(|due| due <= now) {
                if stream.hands_over() {
                    out.extend(stream.child.take().map(Step::Exit));
                    if stream.next.is_some_and(|piece| piece.task == IssuingTask::Starts) {
                        let own = self.benchmarks.len() as u32 * self.processes;
                        let process = ProcessId(self.first + own + self.children);
                        self.children += 1;
                        out.push(Step::Start { process, parent: stream.process });
                        (stream.child, stream.fresh) = (Some(process), true);
                    }
                    continue;
                }
                let Some(piece) = stream.next else {
                    stream.done = true;
                    out.push(Step::Exit(stream.process));
                    break;
                };
                // With nothing else in flight, the process waits for the read-ahead.
                let (flags, criticality) = match piece.ahead && stream.outstanding > 0 {
                    // The process now waits for the request before this one.
                    true if stream.unplugs && stream.plugged => (Flags::READ_AHEAD, Criticality::TimeCritical),
                    true => (Flags::READ_AHEAD, Criticality::TimeLimited),
                    false => (Flags::empty(), Criticality::TimeCritical),
                };
                stream.plugged = criticality == Criticality::TimeLimited;
                out.push(Step::Request(Arrival {
                    op: Op::Read,
                    lba: Lba(piece.lba),
                    sectors: Sectors(piece.sectors),
                    flags,
                    process: stream.child.unwrap_or(stream.process),
                    priority: IoPriority::default(),
                    criticality,
                    cpu: stream.process.0 as u16,
                    handle: SourceHandle(u64::from(stream.process.0) << 32 | u64::from(stream.left)),
                }));
                stream.outstanding += 1;
                (stream.since, stream.fresh) = (now, false);
                stream.fetch();
            }
        }
        if !self.streams.is_empty() && self.streams.iter().all(|stream| stream.done) {
            self.streams.clear();
            self.times.push((self.began, now));
            self.begins = (self.begun < self.benchmarks.len()).then(|| now + BREAK);
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        if let Some(stream) = self.stream(handle.0 >> 32) {
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
    use super::*;
    use iopilot_workload::testing::TestDevice;

    #[test]
    fn benchmarks_follow_each_other_and_every_process_ends() {
        let mut source = BenchmarkSequence::new(&GfBenchmark::ALL, 3, 200, 400 << 21, 1);
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
    fn each_benchmark_has_its_time_and_a_share_of_the_files_is_that_share_of_the_requests() {
        let run = |share| {
            let mut source = BenchmarkSequence::new(&GfBenchmark::ALL, 2, u32::MAX, 400 << 21, 1).share(share);
            let log = TestDevice::default().run(&mut source);
            (source.times().to_vec(), log.requests.len() as f64)
        };
        let ((whole, all), (times, some)) = (run(1.0), run(0.125));
        assert_eq!((whole.len(), times.len()), (5, 5));
        assert!((some / all - 0.125).abs() < 0.002, "{some} of {all}");
        assert!(times.windows(2).all(|w| w[0].0 < w[0].1 && w[1].0 == w[0].1 + BREAK), "{times:?}");
    }

    #[test]
    fn each_file_of_a_tree_has_a_process_of_its_own_that_is_waited_for() {
        for blocking in [0.0, 0.1] {
            let device = || TestDevice { blocking, ..TestDevice::default() };
            let source = |share| BenchmarkSequence::new(&GfBenchmark::ALL, 3, u32::MAX, 400 << 21, 1).share(share);
            let log = device().run(&mut source(0.02).forking());
            let files = log.requests.iter().filter(|r| r.arrival.process.0 > 315).count();
            assert_eq!(log.exits.len(), 15 + log.starts.len());
            assert!(log.starts.len() > 900 && log.starts.len() <= files, "{} of {files}", log.starts.len());
            for &(at, process, parent) in &log.starts {
                assert!((310..=312).contains(&parent.0), "{parent:?}");
                let of = |id| log.requests.iter().filter(move |r| r.arrival.process == id);
                let end = log.exits.iter().find(|e| e.1 == process).map(|e| e.0);
                assert!(of(process).all(|r| at < r.at && Some(r.done) <= end), "it lives while it reads");
                assert!(of(parent).all(|r| r.done <= at || Some(r.at) >= end), "its parent waits meanwhile");
            }
            let alone = device().run(&mut source(0.02));
            assert_eq!(alone.requests.len(), log.requests.len());
        }
    }

    #[test]
    fn a_process_waits_unless_the_kernel_reads_ahead_for_it() {
        for (benchmark, most) in [(GfBenchmark::Tac, 1), (GfBenchmark::Strided8, 1), (GfBenchmark::Ior, 2)] {
            let mut source = BenchmarkSequence::new(&[benchmark], 2, 100, 400 << 21, 1);
            let log = TestDevice::default().run(&mut source);
            assert!(log.depth.values().all(|&depth| depth == most), "{benchmark}: {:?}", log.depth);
        }
    }
}
