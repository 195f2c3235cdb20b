//! The race for tags under `none`.

use iopilot_block::Nanos;
use iopilot_sim::HostConfig;
use iopilot_trace::TraceRecord;
use std::collections::{HashMap, HashSet};
use std::iter::Sum;

/// Of fewer races nothing is told.
const ENOUGH: u32 = 50;
/// What is issued later than this after it arrived slept for its tag.
const SLEPT: Nanos = Nanos::from_micros(50);
/// With which chance a task keeps the tag of its request that is complete, where a sleeper was called for it: as the events
/// `sched_waking` and `sched_switch` of Linux 6.18 show it of 32 backward readers and of 32 that read 8 KiB strided, on four tags.
const FIRST: f64 = 0.92;
const AGAIN: f64 = 0.02;
const AWAY: f64 = 0.935;

/// `host` with them.
pub(super) fn raced_for(host: &HostConfig) -> HostConfig {
    HostConfig {
        tag_steal_probability: FIRST,
        tag_steal_again_probability: Some(AGAIN),
        tag_steal_away_probability: Some(AWAY),
        ..host.clone()
    }
}

/// How often sleepers on another CPU than the one on which tasks go on got the tag that was freed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Away {
    wins: f64,
    /// How many of them would be called if each sleeper were called as often as the others.
    calls: f64,
}

impl Away {
    /// As `records` tell it.
    pub(super) fn of(records: &[TraceRecord]) -> Self {
        let mut went_on: HashMap<u16, u32> = HashMap::new();
        let mut begun = HashSet::new();
        for r in records {
            if !begun.insert(r.process) {
                *went_on.entry(r.cpu.unwrap_or_default()).or_default() += 1;
            }
        }
        let Some((here, _)) = went_on.into_iter().max_by_key(|&(cpu, n)| (n, cpu)) else { return Self::default() };
        let is_away = |r: &TraceRecord| r.cpu.unwrap_or_default() != here;
        let mut all = Self::default();
        for r in records {
            let (Some(issue), Some(end)) = (r.issue, r.completion) else { continue };
            all.wins += f64::from(u32::from(is_away(r) && issue.since(r.arrival) > SLEPT));
            let sleeps = |s: &&TraceRecord| s.arrival <= end && s.issue.is_some_and(|issue| issue > end);
            let (sleepers, away) =
                records.iter().filter(sleeps).fold((0, 0), |(n, away), s| (n + 1, away + u32::from(is_away(s))));
            all.calls += f64::from(away) / f64::from(sleepers.max(1));
        }
        all
    }

    /// `host`, on which simulations show `simulated`, with the chance that shows this.
    pub(super) fn on(self, simulated: Self, host: &HostConfig) -> HostConfig {
        let win = 1.0 - host.tag_steal_away_probability.unwrap_or(host.tag_steal_probability);
        let share = |of: Self| Some(of.wins / of.calls).filter(|share| share.is_finite() && *share > 0.0);
        let Some((shown, drawn)) = share(self).zip(share(simulated)) else { return host.clone() };
        let keep = (1.0 - win * shown / drawn).clamp(0.0, 1.0);
        HostConfig { tag_steal_away_probability: Some(keep), ..host.clone() }
    }
}

impl Sum for Away {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self { wins: a.wins + b.wins, calls: a.calls + b.calls })
    }
}

/// How often a freed tag went to the next request of the task whose request was complete, rather than to one that slept before, where
/// somebody slept, as `records` tell it; `None` where that was seldom.
pub(super) fn kept(records: &[TraceRecord]) -> Option<f64> {
    let mut arrivals: Vec<Nanos> = records.iter().map(|r| r.arrival).collect();
    arrivals.sort_unstable();
    let mut issues: Vec<(Nanos, &TraceRecord)> = records.iter().filter_map(|r| Some((r.issue?, r))).collect();
    issues.sort_unstable_by_key(|&(issue, r)| (issue, r.arrival));
    let (mut races, mut own) = (0, 0);
    for r in records {
        let Some(end) = r.completion else { continue };
        let issued = issues.partition_point(|&(issue, _)| issue <= end);
        let asleep = arrivals.partition_point(|&arrival| arrival <= end).saturating_sub(issued);
        let Some((_, next)) = issues.get(issued).filter(|_| asleep > 0) else { continue };
        let its_own = next.process == r.process && next.arrival > end;
        // One of a third task, just come, tells nothing.
        if its_own || next.arrival <= end {
            own += u32::from(its_own);
            races += 1;
        }
    }
    (races >= ENOUGH).then(|| f64::from(own) / f64::from(races))
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
    fn who_sleeps_on_the_other_cpu_is_away() {
        let on = |cpu: u16, r: TraceRecord| TraceRecord { cpu: Some(cpu), ..r };
        let us = |at: u64| 1000 * at;
        // The first two tasks go on on the first CPU; the third sleeps on the second while two requests end, and wins then.
        let records = [
            on(0, record(1, us(0), us(1), us(100))),
            on(1, record(3, us(50), us(201), us(300))),
            on(0, record(1, us(110), us(111), us(200))),
            on(0, record(1, us(310), us(311), us(400))),
        ];
        let shown = Away::of(&records);
        assert_eq!(shown, Away { wins: 1.0, calls: 2.0 });
        let host = HostConfig { tag_steal_away_probability: Some(0.9), ..HostConfig::default() };
        let chance = |simulated| shown.on(simulated, &host).tag_steal_away_probability.unwrap();
        assert!(
            (chance(Away { wins: 2.0, calls: 2.0 }) - 0.95).abs() < 1e-12,
            "they won twice as often as they should"
        );
        assert_eq!(chance(Away::default()), 0.9, "nothing is told");
        assert_eq!([shown, shown].into_iter().sum::<Away>(), Away { wins: 2.0, calls: 4.0 });
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
