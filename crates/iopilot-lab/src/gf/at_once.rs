//! [`BenchmarksAtOnce`]: all benchmarks at the same time.

use super::GfBenchmark;
use super::source::{BenchmarkSequence, FIRST};
use iopilot_block::{Nanos, ProcessId};
use iopilot_workload::{Source, SourceHandle, Step};

/// The size of each benchmark's own range of process ids.
const IDS: u32 = 1 << 28;

/// All benchmarks at the same time (GF 3.4.2), each with several processes on files of their own. A benchmark that has
/// finished begins again with new processes, until each has finished once. Then no more requests are issued. `find`
/// starts a process for each file of a tree ([`BenchmarkSequence::forking`]), and the files were written at the same
/// time ([`BenchmarkSequence::interleaved`]).
#[derive(Clone, Debug)]
pub(crate) struct BenchmarksAtOnce {
    processes: u32,
    capacity: u64,
    seed: u64,
    share: f64,
    runs: Vec<Run>,
    /// When the last benchmark finished for the first time.
    over: Option<Nanos>,
}

#[derive(Clone, Debug)]
struct Run {
    benchmark: GfBenchmark,
    sequence: BenchmarkSequence,
    times_done: u32,
}

impl BenchmarksAtOnce {
    /// All five benchmarks, each with as many `processes`, which read a `share` of their files on a disk of `capacity`
    /// sectors.
    pub(crate) fn new(processes: u32, share: f64, capacity: u64, seed: u64) -> Self {
        let mut all = Self { processes, capacity, seed, share, runs: Vec::new(), over: None };
        for (i, benchmark) in GfBenchmark::ALL.into_iter().enumerate() {
            let sequence = all.sequence(benchmark, FIRST + i as u32 * IDS, Nanos::ZERO);
            all.runs.push(Run { benchmark, sequence, times_done: 0 });
        }
        all
    }

    /// The time until each benchmark had finished once; `None` before.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.over.map(Nanos::as_secs_f64)
    }

    fn sequence(&self, benchmark: GfBenchmark, first: u32, begins: Nanos) -> BenchmarkSequence {
        BenchmarkSequence::new(&[benchmark], self.processes, u32::MAX, self.capacity, self.seed)
            .share(self.share)
            .interleaved()
            .unplugging()
            .forking()
            .beginning(first, begins)
    }

    fn run_of(&mut self, process: u32) -> Option<&mut Run> {
        self.runs.get_mut((process.checked_sub(FIRST)? / IDS) as usize)
    }
}

impl Source for BenchmarksAtOnce {
    fn next_event(&self) -> Option<Nanos> {
        match self.over {
            Some(_) => None,
            None => self.runs.iter().filter_map(|run| run.sequence.next_event()).min(),
        }
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        if self.over.is_some() {
            return;
        }
        for i in 0..self.runs.len() {
            while self.runs[i].sequence.next_event().is_some_and(|at| at <= now) {
                let Run { benchmark, sequence, times_done } = &mut self.runs[i];
                sequence.advance(now, out);
                if sequence.is_over() {
                    *times_done += 1;
                    let (benchmark, first) = (*benchmark, sequence.next_process());
                    self.runs[i].sequence = self.sequence(benchmark, first, now);
                }
            }
        }
        if self.runs.iter().all(|run| run.times_done > 0) {
            self.over = Some(now);
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        if let Some(run) = self.run_of((handle.0 >> 32) as u32) {
            run.sequence.completed(handle, now);
        }
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(run) = self.run_of(process.0) {
            run.sequence.blocked(process, now);
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(run) = self.run_of(process.0) {
            run.sequence.unblocked(process, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_workload::testing::TestDevice;
    use std::collections::BTreeSet;

    #[test]
    fn a_finished_benchmark_begins_again_until_each_has_finished_once() {
        let mut source = BenchmarksAtOnce::new(2, 0.01, 400 << 21, 1);
        let log = TestDevice::default().run(&mut source);
        let done: Vec<u32> = source.runs.iter().map(|run| run.times_done).collect();
        assert!(done.iter().all(|&times| times > 0) && done.iter().any(|&times| times > 1), "{done:?}");
        assert!(done.contains(&1), "the longest is run once: {done:?}");
        // Each round has new process ids, and no id issues another process' requests.
        let exits: BTreeSet<_> = log.exits.iter().map(|exit| exit.1).collect();
        assert_eq!(exits.len(), log.exits.len());
        let last = log.requests.iter().map(|request| request.at).max().unwrap();
        assert!(source.seconds().is_some_and(|seconds| seconds >= last.as_secs_f64()));
    }
}
