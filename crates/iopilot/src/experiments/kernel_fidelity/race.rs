//! The race for tags under `none`, as a recording tells it.

use iopilot_block::Nanos;
use iopilot_trace::TraceRecord;

/// Of fewer races nothing is told.
const ENOUGH: usize = 50;

/// How often a freed tag went to the next request of the task whose request was complete, rather than to one that slept
/// before, where somebody slept; `None` where that was seldom.
pub(super) fn steals(records: &[TraceRecord]) -> Option<f64> {
    let mut arrivals: Vec<Nanos> = records.iter().map(|r| r.arrival).collect();
    arrivals.sort_unstable();
    let mut issues: Vec<(Nanos, &TraceRecord)> = records.iter().filter_map(|r| Some((r.issue?, r))).collect();
    issues.sort_unstable_by_key(|&(issue, r)| (issue, r.arrival));
    let (mut own, mut races) = (0, 0);
    for r in records {
        let Some(end) = r.completion else { continue };
        let issued = issues.partition_point(|&(issue, _)| issue <= end);
        let asleep = arrivals.partition_point(|&arrival| arrival <= end).saturating_sub(issued);
        let Some((_, next)) = issues.get(issued).filter(|_| asleep > 0) else { continue };
        let its_own = next.process == r.process && next.arrival > end;
        // One of a third task, just come, tells nothing.
        if its_own || next.arrival <= end {
            own += usize::from(its_own);
            races += 1;
        }
    }
    (races >= ENOUGH).then(|| own as f64 / races as f64)
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
            records.push(record(2, slept_from, now + 2, now + 100));
            slept_from = now + 101;
            now += 100;
        }
        records
    }

    #[test]
    fn a_task_that_keeps_its_tag_steals_it() {
        // Of `turns + 1` ends of requests `turns - 1` are followed by the same task's; after the other's nobody sleeps.
        assert_eq!(steals(&recording(1)), Some(0.0));
        let often = steals(&recording(4)).unwrap();
        assert!((often - 0.75).abs() < 0.02, "{often}");
    }

    #[test]
    fn where_nobody_sleeps_there_is_no_race() {
        let alone: Vec<_> = (0..100).map(|n| record(1, n * 100, n * 100 + 1, n * 100 + 50)).collect();
        assert_eq!(steals(&alone), None);
    }

    #[test]
    fn the_median_is_one_of_them() {
        assert_eq!(median(vec![0.9, 0.1, 0.7]), Some(0.7));
        assert_eq!(median(Vec::new()), None);
    }
}
