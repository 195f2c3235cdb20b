//! The race for tags under `none`.

use iopilot_block::Nanos;
use iopilot_sim::HostConfig;
use iopilot_trace::TraceRecord;

/// Of fewer races nothing is told.
const ENOUGH: u32 = 50;
/// With which chance a task keeps the tag of its request that is complete, where a sleeper on the same CPU was called for it: the first time
/// since that was served last, and the second. As the events `sched_waking` and `sched_switch` of Linux 6.18 show it of 32 readers, backward
/// and 8 KiB strided, on four tags.
const FIRST: f64 = 0.91;
const AGAIN: f64 = 0.015;
/// When one on another CPU is there, as the same events show it.
const AWAY_US: f64 = 40.0;

/// `host` with them.
pub(super) fn raced_for(host: &HostConfig) -> HostConfig {
    HostConfig {
        tag_steal_probability: FIRST,
        tag_steal_again_probability: Some(AGAIN),
        wake_away_us: Some(AWAY_US),
        ..host.clone()
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
