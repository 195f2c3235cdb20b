//! Which process wakes which: waits through a journal, a pipe or a lock.
//!
//! A process that calls `fsync` waits for the thread that writes the journal, and that thread for the data of the
//! process. A trace has no event that says so. But a woken process continues within microseconds. So far more of its
//! late requests come soon after a completion of the other process than if the two were independent.

use super::dependencies::{Dependencies, Marks};
use crate::TraceRecord;
use iopilot_block::Nanos;
use std::collections::HashMap;

/// A task that is woken submits its next request within this time of the completion: an interrupt, a change of task, and some
/// work. On a virtual machine with two CPUs four of five take at most 64 µs, and 95 of 100 at most 157 (SQLite and jbd2).
const SOON: Nanos = Nanos::from_micros(200);
/// A request is late where its process had neither done nor waited for anything for this long.
const LATE: Nanos = Nanos::from_micros(100);

/// The completions of a process that its own requests wait for.
struct Completions {
    /// When, and of which request; ascending.
    at: Vec<(Nanos, u32)>,
    /// For each completion, how much of the time before it lay within [`SOON`] after an earlier one.
    covered: Vec<Nanos>,
}

impl Completions {
    fn new(mut at: Vec<(Nanos, u32)>) -> Self {
        at.sort_unstable();
        let mut covered = Vec::with_capacity(at.len());
        let (mut sum, mut last) = (Nanos::ZERO, None);
        for &(time, _) in &at {
            sum += last.map_or(Nanos::ZERO, |last| time.since(last).min(SOON));
            covered.push(sum);
            last = Some(time);
        }
        Self { at, covered }
    }

    /// How much of the time before `time` lies within [`SOON`] after a completion.
    fn covered_until(&self, time: Nanos) -> Nanos {
        let behind = self.at.partition_point(|&(at, _)| at <= time);
        behind.checked_sub(1).map_or(Nanos::ZERO, |last| self.covered[last] + time.since(self.at[last].0).min(SOON))
    }
}

/// Pairs of (request, request of another process whose completion woke the first one's process), in order of requests. `deps`
/// tells which requests are late.
///
/// O(n log n), and for each pair of processes that might wake each other O(late requests · log n).
pub(super) fn dependencies(records: &[TraceRecord], deps: &Dependencies) -> Vec<(u32, u32)> {
    if deps.processes() < 2 {
        return Vec::new();
    }
    let late: Vec<Vec<u32>> = (0..deps.processes()).map(|p| late_requests(deps, p)).collect();
    if late.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let blocking = |p: usize| {
        let awaited = deps.order[deps.range(p)].iter().filter(|&&i| deps.marks[i as usize].contains(Marks::BLOCKING));
        awaited.filter_map(|&i| Some((records[i as usize].completion?, i))).collect()
    };
    let completions: Vec<Completions> = (0..deps.processes()).map(|p| Completions::new(blocking(p))).collect();
    let mut all: Vec<(Nanos, u32)> = completions.iter().flat_map(|c| c.at.iter().copied()).collect();
    all.sort_unstable();

    // Of each late request, the last completion of each other process shortly before it.
    let (mut causes, mut seen) = (Vec::new(), Vec::new());
    let mut times: HashMap<(u32, u32), u32> = HashMap::new();
    for (p, late) in late.iter().enumerate() {
        for &request in late {
            let arrival = records[request as usize].arrival;
            let after = arrival.saturating_sub(SOON).max(arrival - deps.think[request as usize]);
            seen.clear();
            for &(at, cause) in all[..all.partition_point(|&(at, _)| at <= arrival)].iter().rev() {
                if at <= after {
                    break;
                }
                let other = deps.of_request[cause as usize];
                if other as usize != p && cause < request && !seen.contains(&other) {
                    seen.push(other);
                    causes.push((request, cause));
                    *times.entry((p as u32, other)).or_default() += 1;
                }
            }
        }
    }
    times.retain(|&(woken, waker), times| {
        let by_chance: f64 = late[woken as usize]
            .iter()
            .map(|&request| {
                let (arrival, think) = (records[request as usize].arrival, deps.think[request as usize]);
                let of = &completions[waker as usize];
                let covered = of.covered_until(arrival).since(of.covered_until(arrival - think));
                covered.as_secs_f64() / think.as_secs_f64()
            })
            .sum();
        is_no_chance(f64::from(*times), by_chance)
    });
    let process = |request: u32| deps.of_request[request as usize];
    causes.retain(|&(request, cause)| times.contains_key(&(process(request), process(cause))));
    // The last completion, in order of time, is the one that the process waited for.
    causes.dedup_by_key(|&mut (request, _)| request);
    causes
}

/// Whether `times` occurrences have a cause, where chance would make `by_chance`. Among thousands of pairs of
/// processes, not one may be taken for related by mistake.
fn is_no_chance(times: f64, by_chance: f64) -> bool {
    times >= 4.0 * by_chance && times >= by_chance + 5.0 * by_chance.sqrt() + 4.0
}

/// The late requests of process `p`, but for its first. A process that has requests in flight does not sleep for
/// another: if it is woken, a request of the other has freed a tag.
fn late_requests(deps: &Dependencies, p: usize) -> Vec<u32> {
    let requests = deps.order[deps.range(p)].iter().copied().skip(1);
    requests.filter(|&i| deps.think[i as usize] >= LATE && deps.outstanding_limit[i as usize] == 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_behind_completions_is_counted_once() {
        let us = Nanos::from_micros;
        let completions = Completions::new(vec![(us(1000), 1), (us(100), 0), (us(150), 2)]);
        assert_eq!(completions.covered_until(us(50)), Nanos::ZERO);
        assert_eq!(completions.covered_until(us(200)), us(100));
        assert_eq!(completions.covered_until(us(900)), us(250));
        assert_eq!(completions.covered_until(us(1300)), us(450));
    }

    #[test]
    fn few_or_expected_coincidences_are_chance() {
        assert!(is_no_chance(5.0, 0.01) && is_no_chance(60.0, 12.0));
        assert!(!is_no_chance(3.0, 0.01) && !is_no_chance(40.0, 12.0));
    }
}
