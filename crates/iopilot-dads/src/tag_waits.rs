//! Waiting for tags: which requests slept for one, how many more their processes held back, and since when.
//!
//! Under `none` a request needs a tag of the device before the block layer sees it. A process that keeps 64 requests in
//! flight on a device of depth 4 sleeps in its fifth submission, so five are seen. The other 59 wait, too, so they
//! count. A scheduler with tags of its own would see them.

use iopilot_block::{Nanos, ProcessId};
use iopilot_trace::{Dependencies, TraceRecord};
use std::collections::BTreeMap;

/// The requests in flight that are assumed of a process that always ran out of tags, if nothing else is known. A
/// smaller number is seen, and remembered, under the first scheduler with tags of its own.
const ASSUMED: u32 = 32;
/// The least requests of a process that show how it issues them.
const ENOUGH: usize = 16;

/// How many requests processes keep in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    /// As an observer of the processes reports.
    told: BTreeMap<ProcessId, u32>,
    /// As seen under a scheduler with tags of its own.
    seen: BTreeMap<ProcessId, u32>,
}

/// The most processes that are remembered.
const REMEMBERED: usize = 4096;

impl InFlight {
    /// Replaces the last report of the observer of the processes.
    pub(crate) fn tell(&mut self, told: BTreeMap<ProcessId, u32>) {
        self.told = told;
    }

    /// Corrects `dependencies`, whose requests `slept` for a tag of the device or not. If the scheduler of the
    /// recording had tags of its own (`slept` is `None`), what processes keep in flight is remembered instead.
    pub(crate) fn correct(&mut self, dependencies: &mut Dependencies, slept: Option<&[bool]>) {
        for p in 0..dependencies.processes() as u32 {
            let requests = dependencies.requests_of(p);
            let Some(&first) = requests.first().filter(|_| requests.len() >= ENOUGH) else { continue };
            let process = dependencies.process(first);
            let limits = || requests.iter().map(|&i| dependencies.outstanding_limit(i));
            // A process that sometimes waits for all of its requests is not held back by tags alone.
            let never_empty = 10 * limits().filter(|&limit| limit > 0).count() >= 9 * requests.len();
            match slept {
                None if never_empty => {
                    if self.seen.len() >= REMEMBERED {
                        self.seen.clear();
                    }
                    self.seen.insert(process, 1 + limits().max().unwrap_or_default());
                }
                Some(slept) if never_empty => {
                    let sleeps = requests.iter().filter(|&&i| slept[i as usize]).count();
                    if 2 * sleeps >= requests.len() {
                        let known = self.told.get(&process).or_else(|| self.seen.get(&process));
                        dependencies.keep_in_flight(p, known.copied().unwrap_or(ASSUMED));
                    }
                }
                _ => {}
            }
        }
    }
}

/// When requests were issued, and when they completed, each in order.
fn at_device(records: &[TraceRecord]) -> (Vec<Nanos>, Vec<Nanos>) {
    let own = records.iter().filter(|r| r.merged != Some(true));
    let (mut issues, mut completions): (Vec<Nanos>, Vec<Nanos>) =
        own.filter_map(|r| Some((r.issue?, r.completion?))).unzip();
    issues.sort_unstable();
    completions.sort_unstable();
    (issues, completions)
}

/// The most requests that were at the device at once.
fn most_at_once(issues: &[Nanos], completions: &[Nanos]) -> usize {
    let (mut over, mut most) = (0, 0);
    for (n, issue) in issues.iter().enumerate() {
        over += completions[over..].partition_point(|completion| completion <= issue);
        most = most.max((n + 1).saturating_sub(over));
    }
    most
}

/// Which of `records` slept for a tag of the device, under a scheduler without tags of its own. A completion after its
/// arrival admitted such a request, and with it the device was as full as it ever was. O(n log n).
pub(crate) fn slept(records: &[TraceRecord]) -> Vec<bool> {
    let (issues, completions) = at_device(records);
    let most = most_at_once(&issues, &completions);
    let slept = |r: &TraceRecord| {
        // A request that was inserted before it was issued waited in a scheduler.
        let issue = r.issue.filter(|_| r.inserted.is_none_or(|at| Some(at) == r.issue))?;
        let over = completions.partition_point(|&completion| completion <= issue);
        let freed = completions[over.checked_sub(1)?];
        Some(freed > r.arrival && issues.partition_point(|&other| other <= issue) >= most + over)
    };
    records.iter().map(|r| slept(r).unwrap_or(false)).collect()
}

/// How many requests the device takes at once, if most of `records` slept for one of its tags: it was full then. What
/// the kernel shows as its limit may be another number. O(n log n).
pub(crate) fn depth_of_full_device(records: &[TraceRecord]) -> Option<u32> {
    let (issues, completions) = at_device(records);
    let sleeps = slept(records).iter().filter(|slept| **slept).count();
    let is_full = records.len() >= ENOUGH && 2 * sleeps >= records.len();
    is_full.then(|| u32::try_from(most_at_once(&issues, &completions)).unwrap_or(u32::MAX))
}

/// `records` of a scheduler without tags of its own, with the issue as the insertion. There a submission returns once
/// its request is at the device, and the inference takes that time from the insertion.
pub(crate) fn inserted_when_issued(records: &[TraceRecord]) -> Vec<TraceRecord> {
    let inserted = |r: &TraceRecord| TraceRecord {
        inserted: r.inserted.or(r.issue.filter(|_| r.merged != Some(true))),
        ..r.clone()
    };
    records.iter().map(inserted).collect()
}

/// When each request would have arrived, had its process not `slept` for a tag in an earlier submission. Requests that
/// no process waits for keep their arrival. `arrival` and `completion` are the times of the requests. O(n log n).
pub(crate) fn ready_times(
    dependencies: &Dependencies,
    slept: impl Fn(u32) -> bool,
    arrival: impl Fn(u32) -> Nanos,
    completion: impl Fn(u32) -> Option<Nanos>,
) -> Vec<Nanos> {
    let mut times = vec![Nanos::ZERO; dependencies.len()];
    let mut done: Vec<Nanos> = Vec::new();
    for p in 0..dependencies.processes() as u32 {
        done.clear();
        let (mut held_back, mut before) = (false, Nanos::ZERO);
        for &i in dependencies.requests_of(p) {
            let at = arrival(i);
            let mut ready = at;
            if held_back {
                // Eligible once so many of the earlier ones have completed that no more than the limit are outstanding.
                let limit = dependencies.outstanding_limit(i) as usize;
                let eligible = done.len().checked_sub(limit + 1).map_or(Nanos::ZERO, |last| done[last]);
                ready = at.min(eligible.max(before).saturating_add(dependencies.think(i)));
            }
            held_back = slept(i) || ready < at;
            before = ready;
            times[i as usize] = at;
            if dependencies.is_blocking(i) {
                times[i as usize] = ready;
                let end = completion(i).unwrap_or(Nanos::MAX);
                // Nearly in order already.
                done.insert(done.partition_point(|&other| other <= end), end);
            }
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};
    use iopilot_trace::{InferOptions, infer};

    const MS: u64 = 1_000_000;

    /// A process that keeps `in_flight` reads in flight on a device that takes four and completes one each 10 ms.
    fn saturated(in_flight: u64, count: u64) -> Vec<TraceRecord> {
        let mut records: Vec<TraceRecord> = Vec::new();
        for n in 0..count {
            // The submission before returned when it had its tag. A process with all its requests in flight waits for
            // one of them.
            let back = n.checked_sub(in_flight).map_or(0, |m| records[m as usize].completion.unwrap().0 + 1000);
            let arrival = records.last().map_or(0, |r| r.issue.unwrap().0 + 1000).max(back);
            let tag = n.checked_sub(4).map_or(0, |m| records[m as usize].completion.unwrap().0 + 5000);
            let issue = arrival.max(tag) + 1000;
            records.push(TraceRecord {
                issue: Some(Nanos(issue)),
                completion: Some(Nanos((n + 4) * 10 * MS)),
                process: Some(ProcessId(7)),
                ..TraceRecord::new(Nanos(arrival), Op::Read, Lba(n * 4096), Sectors(8))
            });
        }
        records
    }

    fn inferred(records: &[TraceRecord]) -> Dependencies {
        infer(&inserted_when_issued(records), &InferOptions::default()).unwrap()
    }

    /// The mean number of requests that are ready and not complete, between the first and the last completion.
    fn waiting(records: &[TraceRecord], dependencies: &Dependencies, slept: &[bool]) -> f64 {
        let of = |i: u32| &records[i as usize];
        let ready = ready_times(dependencies, |i| slept[i as usize], |i| of(i).arrival, |i| of(i).completion);
        let whole: u64 = records.iter().zip(&ready).map(|(r, ready)| r.completion.unwrap().since(*ready).0).sum();
        whole as f64 / records.last().unwrap().completion.unwrap().0 as f64
    }

    #[test]
    fn requests_behind_a_sleeper_for_a_tag_wait_too() {
        let records = saturated(64, 640);
        let slept = slept(&records);
        assert!(slept[..4].iter().all(|slept| !slept) && slept[4..].iter().all(|slept| *slept));
        assert_eq!((depth_of_full_device(&records), depth_of_full_device(&records[..8])), (Some(4), None));
        let mut seen = inferred(&records);
        let five = waiting(&records, &seen, &slept);
        assert!((4.5..5.5).contains(&five), "{five}");
        let mut in_flight = InFlight::default();
        in_flight.tell(BTreeMap::from([(ProcessId(7), 64)]));
        in_flight.correct(&mut seen, Some(&slept));
        assert_eq!(seen.outstanding_limit(100), 63);
        let all = waiting(&records, &seen, &slept);
        assert!((59.0..64.5).contains(&all), "64 but for the end: {all}");
    }

    #[test]
    fn an_unknown_number_in_flight_is_assumed_until_it_is_seen() {
        let records = saturated(8, 640);
        let slept = slept(&records);
        let mut in_flight = InFlight::default();
        let mut limited = inferred(&records);
        in_flight.correct(&mut limited, Some(&slept));
        assert_eq!(limited.outstanding_limit(100), ASSUMED - 1);
        // Another scheduler takes all eight.
        let open: Vec<TraceRecord> = records
            .iter()
            .enumerate()
            .map(|(n, r)| {
                let back = n.checked_sub(8).map_or(Nanos::ZERO, |m| records[m].completion.unwrap() + Nanos(1000));
                TraceRecord { arrival: back, ..r.clone() }
            })
            .collect();
        in_flight.correct(&mut inferred(&open), None);
        let mut again = inferred(&records);
        in_flight.correct(&mut again, Some(&slept));
        assert_eq!(again.outstanding_limit(100), 7);
    }

    #[test]
    fn readers_of_one_request_at_a_time_hold_nothing_back() {
        // Six of them on four tags.
        let mut records: Vec<TraceRecord> = Vec::new();
        let mut next = [0u64; 6];
        for n in 0..600u64 {
            let p = (n % 6) as usize;
            let tag = n.checked_sub(4).map_or(0, |m| records[m as usize].completion.unwrap().0 + 1000);
            let end = (n + 4) * 10 * MS;
            records.push(TraceRecord {
                issue: Some(Nanos(next[p].max(tag) + 1000)),
                completion: Some(Nanos(end)),
                process: Some(ProcessId(p as u32)),
                ..TraceRecord::new(Nanos(next[p]), Op::Read, Lba(n * 4096), Sectors(8))
            });
            next[p] = end + 50_000;
        }
        records.sort_by_key(|r| r.arrival);
        let slept = slept(&records);
        assert!(slept.iter().filter(|slept| **slept).count() > 300);
        let mut dependencies = inferred(&records);
        let before = waiting(&records, &dependencies, &slept);
        InFlight::default().correct(&mut dependencies, Some(&slept));
        assert!((0..600).all(|i| dependencies.outstanding_limit(i) == 0));
        assert!((5.5..6.1).contains(&before), "all six wait: {before}");
    }
}
