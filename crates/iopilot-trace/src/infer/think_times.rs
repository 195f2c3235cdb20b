//! Changes to inferred think times before a replay: removing stalls of the machine, and shuffling.

use super::Dependencies;
use super::dependencies::Marks;
use crate::TraceRecord;
use iopilot_block::Nanos;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Think times are shuffled within blocks of this many requests of a process.
const BLOCK: usize = 16;

/// The shortest pause that counts as a stall.
const SHORTEST_STALL: Nanos = Nanos::from_millis(5);
/// In a stall, a process thinks at least this many times its 90th percentile.
const UNUSUAL: u64 = 10;
/// After a stall all processes go on within this time.
const TOGETHER: Nanos = Nanos::from_millis(2);
/// The fewest processes in a stall. Fewer pause together by chance, or wait for each other.
const LEAST_PROCESSES: usize = 3;
/// The fewest requests that show the usual think time of a process.
const LEAST_REQUESTS: usize = 8;

/// A stretch of a recording in which the machine, not the disk, held up most processes: the hypervisor ran another guest, or
/// something with a higher priority took all CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When the processes went on, since the trace's first request.
    pub end: Nanos,
    /// How long the one paused that paused longest.
    pub duration: Nanos,
    /// How many processes went on together.
    pub processes: u32,
}

/// A think time that is unusually long for its process.
struct Pause {
    arrival: Nanos,
    think: Nanos,
    request: u32,
    process: u32,
    usual: Nanos,
}

impl Dependencies {
    /// The same dependencies with shuffled think times: within each process, those of neighbouring requests change
    /// places. Think times after a wait and those between requests of one burst stay apart, and a process' first
    /// request keeps its own. Sums are kept, so that replays differ only in what happens at the same time. A pure
    /// function of `seed`.
    #[must_use]
    pub fn redrawn(&self, seed: u64) -> Self {
        let mut drawn = self.clone();
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let (mut places, mut times) = (Vec::new(), Vec::new());
        for p in 0..self.processes() {
            let all = self.order[self.range(p)].get(1..).unwrap_or_default();
            for woken in [true, false] {
                let of_class = all.iter().copied().filter(|&r| self.marks[r as usize].contains(Marks::WOKEN) == woken);
                places.clear();
                places.extend(of_class.filter(|&r| !self.marks[r as usize].contains(Marks::WAITS)));
                for block in places.chunks(BLOCK) {
                    times.clear();
                    times.extend(block.iter().map(|&r| self.think[r as usize]));
                    times.shuffle(&mut random);
                    for (&request, &time) in block.iter().zip(&times) {
                        drawn.think[request as usize] = time;
                    }
                }
            }
        }
        drawn
    }

    /// Finds stalls of the machine in the recording, and gives the requests after them the usual think times of their
    /// processes. `records` are those that the dependencies were inferred from. O(n log n).
    ///
    /// A stall is where at least three processes, and at least half of those with requests before and after it, thought
    /// unusually long and went on together.
    pub fn remove_stalls(&mut self, records: &[TraceRecord]) -> Vec<Stall> {
        let mut pauses = self.pauses(records);
        pauses.sort_unstable_by_key(|pause| (pause.arrival, pause.request));
        let spans: Vec<(Nanos, Nanos)> = (0..self.processes() as u32)
            .filter_map(|p| {
                let requests = self.requests_of(p);
                let at = |r: &u32| records[*r as usize].arrival;
                Some((at(requests.first()?), at(requests.last()?)))
            })
            .collect();
        let mut stalls = Vec::new();
        let mut rest = &pauses[..];
        while let Some(first) = rest.first() {
            let count = rest.partition_point(|pause| pause.arrival <= first.arrival + TOGETHER);
            let (together, later) = rest.split_at(count);
            let (stall, begin) = stall(together);
            let active = spans.iter().filter(|(from, to)| *from <= begin && *to >= first.arrival).count();
            let processes = stall.processes as usize;
            if processes >= LEAST_PROCESSES && 2 * processes >= active {
                for pause in together {
                    self.think[pause.request as usize] = pause.usual;
                }
                stalls.push(stall);
                rest = later;
            } else {
                rest = &rest[1..];
            }
        }
        stalls
    }

    /// The unusually long think times of all processes.
    fn pauses(&self, records: &[TraceRecord]) -> Vec<Pause> {
        let mut pauses = Vec::new();
        let mut thinks: Vec<Nanos> = Vec::new();
        for p in 0..self.processes() {
            let requests = self.order[self.range(p)].get(1..).unwrap_or_default();
            if requests.len() < LEAST_REQUESTS {
                continue;
            }
            thinks.clear();
            thinks.extend(requests.iter().map(|&r| self.think[r as usize]));
            thinks.sort_unstable();
            let (usual, often) = (thinks[thinks.len() / 2], thinks[thinks.len() * 9 / 10]);
            let unusual = SHORTEST_STALL.max(Nanos(often.0.saturating_mul(UNUSUAL)));
            let long = requests.iter().copied().filter(|&r| self.think[r as usize] >= unusual);
            pauses.extend(long.map(|request| Pause {
                arrival: records[request as usize].arrival,
                think: self.think[request as usize],
                request,
                process: p as u32,
                usual,
            }));
        }
        pauses
    }
}

/// The stall that the pauses in `together` form, and when it began.
fn stall(together: &[Pause]) -> (Stall, Nanos) {
    let mut processes: Vec<u32> = together.iter().map(|pause| pause.process).collect();
    processes.sort_unstable();
    processes.dedup();
    let duration = together.iter().map(|pause| pause.think).max().unwrap_or_default();
    let end = together.first().map(|pause| pause.arrival).unwrap_or_default();
    (Stall { end, duration, processes: processes.len() as u32 }, Nanos(end.0.saturating_sub(duration.0)))
}

#[cfg(test)]
mod tests {
    use super::super::{InferOptions, infer};
    use super::*;
    use iopilot_block::{Lba, Op, ProcessId, Sectors};

    /// `processes` read one after the other, 1 ms each, and think 100 us; all stall once for 300 ms.
    fn stalled(processes: u32, stall_those: u32) -> Vec<TraceRecord> {
        let mut records = Vec::new();
        for p in 0..processes {
            let mut now = Nanos::from_micros(u64::from(p) * 30);
            for n in 0..400u64 {
                let mut record = TraceRecord::new(now, Op::Read, Lba(n * 8), Sectors(8));
                record.process = Some(ProcessId(100 + p));
                record.completion = Some(now + Nanos::from_millis(1));
                records.push(record);
                now += Nanos::from_millis(1) + Nanos::from_micros(100 + n % 7);
                if n == 20 && p < stall_those {
                    now += Nanos::from_millis(300);
                }
            }
        }
        records.sort_by_key(|r| r.arrival);
        records
    }

    #[test]
    fn a_pause_of_most_processes_is_a_stall() {
        let records = stalled(12, 12);
        let mut deps = infer(&records, &InferOptions::default()).unwrap();
        let stalls = deps.remove_stalls(&records);
        assert_eq!((stalls.len(), stalls[0].processes), (1, 12));
        assert!(stalls[0].duration >= Nanos::from_millis(300) && stalls[0].duration < Nanos::from_millis(302));
        let longest = (0..deps.len() as u32).map(|r| deps.think(r)).max().unwrap();
        assert!(longest < Nanos::from_millis(2), "{longest}");
    }

    #[test]
    fn a_pause_of_few_is_their_own() {
        for few in [1, 2, 5] {
            let records = stalled(12, few);
            let mut deps = infer(&records, &InferOptions::default()).unwrap();
            assert!(deps.remove_stalls(&records).is_empty(), "{few} of 12");
        }
    }

    #[test]
    fn drawn_think_times_have_the_sums_of_the_recorded_ones() {
        let records = stalled(3, 1);
        let deps = infer(&records, &InferOptions::default()).unwrap();
        let drawn = deps.redrawn(1);
        let sum = |d: &Dependencies, p: u32| d.requests_of(p).iter().map(|&r| d.think(r).0).sum::<u64>();
        for p in 0..3 {
            assert_eq!(sum(&deps, p), sum(&drawn, p));
        }
        let changed = (0..deps.len() as u32).filter(|&r| deps.think(r) != drawn.think(r)).count();
        assert!(changed > deps.len() / 2, "{changed}");
        let again = deps.redrawn(1);
        assert!((0..deps.len() as u32).all(|r| drawn.think(r) == again.think(r)), "a function of the seed");
    }
}
