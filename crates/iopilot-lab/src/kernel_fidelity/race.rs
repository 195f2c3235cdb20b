//! The race for tags under `none`.

use super::races::Tally;
use iopilot_block::Nanos;
use iopilot_sim::{HostConfig, TagOdds};
use iopilot_trace::TraceRecord;
use std::collections::{HashMap, HashSet};

/// Who has its tag sooner than this after it arrived has not slept for it.
pub(super) const AT_ONCE: Nanos = Nanos::from_micros(15);
/// A task that has not gone on by then after its request was complete has had something else to do.
pub(super) const BACK: Nanos = Nanos::from_micros(200);
/// Of fewer races nothing is told.
pub(super) const ENOUGH: u32 = 50;
/// The chances where too few recordings tell them: between those of calm and of restless recordings of 32 tasks on four tags on a machine of
/// two CPUs, as `raced_again` shows them.
pub(super) const USUAL: TagOdds = TagOdds {
    rest_us: 0.0,
    after: 0,
    here: [0.79, 0.10, 0.74, 0.83],
    away: [0.67, 0.76, 0.79, 0.86],
    gone: [0.11, 0.31],
    kept: [1.06, 1.17, 2.1],
    slept: [0.91, 0.77, 0.77],
};

/// `host` with them.
pub(super) fn raced_for(host: &HostConfig) -> HostConfig {
    HostConfig { tag_odds: vec![USUAL], ..host.clone() }
}

/// By CPU, how many of `records` their tasks submitted there when they had made one before.
fn went_on(records: &[TraceRecord]) -> HashMap<u16, usize> {
    let mut tasks = HashSet::new();
    let mut cpus = HashMap::new();
    let again = records.iter().filter(|r| r.process.is_some_and(|process| !tasks.insert(process)));
    again.filter_map(|r| r.cpu).for_each(|cpu| *cpus.entry(cpu).or_default() += 1);
    cpus
}

/// On which CPU completions are heard: most tasks go on there.
pub(super) fn heard_on(records: &[TraceRecord]) -> Option<u16> {
    went_on(records).into_iter().max_by_key(|&(cpu, n)| (n, cpu)).map(|(cpu, _)| cpu)
}

/// How often a freed tag went to the next request of the task whose request was complete, rather than to one that slept before, where
/// somebody slept, as `records` tell it; `None` where that was seldom.
pub(super) fn kept(records: &[TraceRecord]) -> Option<f64> {
    let [all] = kept_from(records, [0]);
    (all.all >= ENOUGH).then(|| all.share())
}

/// The same in each part of `records`, of which each begins where so many requests `from` are complete.
pub(super) fn kept_from<const PARTS: usize>(records: &[TraceRecord], from: [u64; PARTS]) -> [Tally; PARTS] {
    let mut arrivals: Vec<Nanos> = records.iter().map(|r| r.arrival).collect();
    arrivals.sort_unstable();
    let mut issues: Vec<(Nanos, &TraceRecord)> = records.iter().filter_map(|r| Some((r.issue?, r))).collect();
    issues.sort_unstable_by_key(|&(issue, r)| (issue, r.arrival));
    let mut ends: Vec<(Nanos, &TraceRecord)> = records.iter().filter_map(|r| Some((r.completion?, r))).collect();
    ends.sort_unstable_by_key(|&(end, r)| (end, r.arrival));
    let mut kept = [Tally::default(); PARTS];
    for (n, (end, r)) in (0..).zip(ends) {
        let issued = issues.partition_point(|&(issue, _)| issue <= end);
        let asleep = arrivals.partition_point(|&arrival| arrival <= end).saturating_sub(issued);
        let Some((_, next)) = issues.get(issued).filter(|_| asleep > 0) else { continue };
        let its_own = next.process == r.process && next.arrival > end;
        // One of a third task, just come, tells nothing.
        if its_own || next.arrival <= end {
            let part = from.iter().rposition(|&from| from <= n).unwrap_or_default();
            kept[part] += Tally::one(its_own);
        }
    }
    kept
}

/// The median of what recordings tell.
pub(super) fn median(mut told: Vec<f64>) -> Option<f64> {
    told.sort_by(f64::total_cmp);
    told.get(told.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, ProcessId, Sectors};

    fn record(process: u32, arrival: u64, issue: u64, completion: u64) -> TraceRecord {
        TraceRecord {
            issue: Some(Nanos(issue)),
            completion: Some(Nanos(completion)),
            process: Some(ProcessId(process)),
            ..TraceRecord::new(Nanos(arrival), Op::Read, Lba(arrival), Sectors(8))
        }
    }

    #[test]
    fn completions_are_heard_where_most_tasks_go_on() {
        let on = |cpu, process, at| TraceRecord { cpu: Some(cpu), ..record(process, at, at, at + 9) };
        // The second's only request tells nothing; the first goes on on one CPU three times, and once on the other.
        let one = [on(1, 1, 0), on(1, 2, 10), on(0, 1, 20), on(0, 1, 40), on(1, 1, 60), on(0, 1, 80)];
        assert_eq!(went_on(&one), HashMap::from([(0, 3), (1, 1)]));
        assert_eq!(heard_on(&one), Some(0));
        assert_eq!(heard_on(&one[..2]), None);
    }

    /// One tag, two tasks: the first keeps it for `turns` requests, then the other has had it once, and so on.
    fn recording(turns: u64) -> Vec<TraceRecord> {
        let (mut records, mut now, mut slept_from) = (Vec::new(), 0, 0);
        for _ in 0..60 {
            for _ in 0..turns {
                records.push(record(1, now + 1, now + 2, now + 100));
                now += 100;
            }
            records.push(record(2, slept_from, now + 2, now + 100_000));
            slept_from = now + 100_001;
            now += 100_000;
        }
        records
    }

    #[test]
    fn it_is_kept_as_often_as_the_next_request_is_of_the_same_task() {
        // Of `turns + 1` ends of requests `turns - 1` are followed by the same task's; after the other's nobody sleeps.
        assert_eq!(kept(&recording(1)), Some(0.0));
        let often = kept(&recording(4)).unwrap();
        assert!((often - 0.75).abs() < 0.02, "{often}");
    }

    #[test]
    fn it_is_told_by_part() {
        let [seldom, often] = [recording(1), recording(4)];
        let later = seldom.iter().filter_map(|r| r.completion).max().unwrap_or_default().0 + 1_000_000;
        let moved = often.iter().map(|r| {
            record(
                r.process.unwrap().0,
                r.arrival.0 + later,
                r.issue.unwrap().0 + later,
                r.completion.unwrap().0 + later,
            )
        });
        let all: Vec<_> = seldom.iter().cloned().chain(moved).collect();
        let [first, second] = kept_from(&all, [0, seldom.len() as u64]);
        assert!(first.share() < 0.05 && (second.share() - 0.75).abs() < 0.02, "{first:?} {second:?}");
        let [both] = kept_from(&all, [0]);
        assert_eq!(both, first.and(second));
    }

    #[test]
    fn where_nobody_sleeps_there_is_no_race() {
        let alone: Vec<_> = (0..100).map(|n| record(1, n * 100, n * 100 + 1, n * 100 + 50)).collect();
        assert_eq!(kept(&alone), None);
    }

    #[test]
    fn the_median_is_one_of_them() {
        assert_eq!(median(vec![0.9, 0.1, 0.7]), Some(0.7));
        assert_eq!(median(Vec::new()), None);
    }
}
