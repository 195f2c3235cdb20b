//! The race for tags under `none`, as a recording tells it.

use iopilot_block::Nanos;
use iopilot_sim::HostConfig;
use iopilot_trace::TraceRecord;

/// Of fewer races nothing is told.
const ENOUGH: u32 = 50;
/// What is issued later than this after it arrived slept for its tag.
const SLEPT: Nanos = Nanos::from_micros(50);

/// How often a freed tag went to the next request of the task whose request was complete, rather than to one that slept
/// before, where somebody slept; `None` where that was seldom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Steals {
    /// Where that task had itself slept for the tag.
    pub(super) slept: Option<f64>,
    /// Where it had found it free, or kept it.
    pub(super) kept: Option<f64>,
}

impl Steals {
    /// As `records` tell it.
    pub(super) fn of(records: &[TraceRecord]) -> Self {
        let mut arrivals: Vec<Nanos> = records.iter().map(|r| r.arrival).collect();
        arrivals.sort_unstable();
        let mut issues: Vec<(Nanos, &TraceRecord)> = records.iter().filter_map(|r| Some((r.issue?, r))).collect();
        issues.sort_unstable_by_key(|&(issue, r)| (issue, r.arrival));
        // How many races, and how many of them it won.
        let (mut slept, mut kept) = ((0, 0), (0, 0));
        for r in records {
            let (Some(issue), Some(end)) = (r.issue, r.completion) else { continue };
            let issued = issues.partition_point(|&(issue, _)| issue <= end);
            let asleep = arrivals.partition_point(|&arrival| arrival <= end).saturating_sub(issued);
            let Some((_, next)) = issues.get(issued).filter(|_| asleep > 0) else { continue };
            let its_own = next.process == r.process && next.arrival > end;
            // One of a third task, just come, tells nothing.
            if its_own || next.arrival <= end {
                let (races, own) = if issue.since(r.arrival) > SLEPT { &mut slept } else { &mut kept };
                *own += u32::from(its_own);
                *races += 1;
            }
        }
        let share = |(races, own): (u32, u32)| (races >= ENOUGH).then(|| f64::from(own) / f64::from(races));
        Self { slept: share(slept), kept: share(kept) }
    }

    /// What `of` makes of all that is known of each.
    fn each(all: &[Self], of: fn(Vec<f64>) -> Option<f64>) -> Self {
        let one = |share: fn(&Self) -> Option<f64>| of(all.iter().filter_map(share).collect());
        Self { slept: one(|steals| steals.slept), kept: one(|steals| steals.kept) }
    }

    /// The medians.
    pub(super) fn typical(all: &[Self]) -> Self {
        Self::each(all, median)
    }

    /// The means.
    pub(super) fn mean(all: &[Self]) -> Self {
        Self::each(all, |known| (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64))
    }

    /// The chances that are to be drawn to see `shown`, where these, drawn, show `simulated`.
    pub(super) fn corrected(self, shown: Self, simulated: Self) -> Self {
        let one = |drawn: Option<f64>, shown: Option<f64>, simulated: Option<f64>| {
            // Where there were no races, or nobody won one, nothing can be told from them.
            let known = shown.zip(simulated.filter(|&share| share > 0.0));
            known.map_or(drawn, |(shown, simulated)| Some((drawn? * shown / simulated).min(1.0)))
        };
        Self { slept: one(self.slept, shown.slept, simulated.slept), kept: one(self.kept, shown.kept, simulated.kept) }
    }

    /// `host` with these chances, as far as they are known.
    pub(super) fn on(self, host: &HostConfig) -> HostConfig {
        HostConfig {
            tag_steal_probability: self.slept.unwrap_or(host.tag_steal_probability),
            tag_keep_probability: self.kept.or(host.tag_keep_probability),
            ..host.clone()
        }
    }
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
    fn a_task_that_keeps_its_tag_steals_it() {
        // Of `turns + 1` ends of requests `turns - 1` are followed by the same task's; after the other's nobody sleeps.
        assert_eq!(Steals::of(&recording(1)), Steals { slept: None, kept: Some(0.0) });
        let often = Steals::of(&recording(4)).kept.unwrap();
        assert!((often - 0.75).abs() < 0.02, "{often}");
    }

    #[test]
    fn who_had_slept_for_the_tag_is_another_case() {
        // Two tasks that take the only tag by turns, two requests each: the first of them slept, and keeps the tag; the other did not, and
        // loses it.
        let mut records = Vec::new();
        for turn in 0..60u64 {
            let at = 1_000_000 * turn;
            records.push(record((turn % 2) as u32, at.saturating_sub(999_000), at + 5000, at + 500_000));
            records.push(record((turn % 2) as u32, at + 501_000, at + 502_000, at + 1_000_000));
        }
        let Steals { slept, kept } = Steals::of(&records);
        assert!(slept.unwrap() > 0.95 && kept.unwrap() < 0.05, "{slept:?} {kept:?}");
    }

    #[test]
    fn where_nobody_sleeps_there_is_no_race() {
        let alone: Vec<_> = (0..100).map(|n| record(1, n * 100, n * 100 + 1, n * 100 + 50)).collect();
        assert_eq!(Steals::of(&alone), Steals::default());
    }

    #[test]
    fn a_chance_is_corrected_by_what_comes_of_it() {
        let steals = |slept, kept| Steals { slept, kept };
        let shown = steals(Some(0.5), Some(0.75));
        assert_eq!(shown.corrected(shown, steals(Some(0.25), None)), steals(Some(1.0), Some(0.75)));
        assert_eq!(
            shown.corrected(shown, steals(Some(0.125), Some(0.0))),
            steals(Some(1.0), Some(0.75)),
            "certain at most"
        );
        assert_eq!(Steals::mean(&[shown, steals(Some(1.0), None)]), steals(Some(0.75), Some(0.75)));
        let host = steals(Some(0.3), None).on(&HostConfig::default());
        assert_eq!((host.tag_steal_probability, host.tag_keep_probability), (0.3, None));
    }

    #[test]
    fn the_median_is_one_of_them() {
        assert_eq!(median(vec![0.9, 0.1, 0.7]), Some(0.7));
        assert_eq!(median(Vec::new()), None);
    }
}
