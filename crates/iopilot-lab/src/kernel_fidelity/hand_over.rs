//! How long the kernel took to hand each request to the device.

use super::seen::Seen;
use iopilot_block::Nanos;
use iopilot_sim::{Ask, AskedAfter, HandOver};
use iopilot_trace::TraceRecord;
use std::sync::Arc;

/// What reaches the device later than this after it arrived waited for something.
pub(super) const WAITED: Nanos = Nanos::from_micros(100);
/// For how long the clock of a task has stood still when it hands a request to the scheduler, where it was not seen: it looks at it when
/// it has a tag for that, which is after it waited for the scheduler to see whether the request could be merged.
const STOOD: Nanos = Nanos::from_micros(2);
/// The kernel reads the clock that a queue's time in service counts from, and then notes that it is in service, this much later at most. Nobody
/// saw how much; it is what agrees best with when queues are charged for an hour (`Scheduler::clock_stood`). With none, four in ten of the
/// charges after which a replay left the kernel's way were by less than 2 us, and hardly one of those after which it did not.
const NOTED: Nanos = Nanos::from_micros(2);
/// Of fewer times no median is taken.
pub(super) const ENOUGH: usize = 20;

/// What came to the device after each of `records`, which were handed to the scheduler when they arrived, so long after they were
/// submitted: after it was inserted, and after it was complete or issued itself, where there was something that waited; and what was `seen`
/// beside it.
pub(super) fn of_each(records: &[TraceRecord], submitted: &[Nanos], seen: &[Seen]) -> Vec<HandOver> {
    let mut issues: Vec<(Nanos, Nanos)> = records.iter().filter_map(|r| Some((r.issue?, r.arrival))).collect();
    issues.sort_unstable();
    let next = |after: Nanos, arrived_by: Nanos| {
        let first = issues.get(issues.partition_point(|(issue, _)| *issue < after))?;
        let takes = first.0.since(after);
        (first.1 <= arrived_by && takes < WAITED).then_some(takes)
    };
    let of = |((r, &stood), seen): ((&TraceRecord, &Nanos), &Seen)| HandOver {
        inserted: next(r.arrival, Nanos::MAX),
        completed: r.completion.and_then(|end| next(end, end)),
        issued: seen.follows.or_else(|| Some(Nanos(next(Nanos(r.issue?.0 + 1), r.issue?)?.0 + 1))),
        asked: seen.asked.as_ref().map(by_the_clock),
        next: None,
        heard: seen.heard.unwrap_or_default(),
        stood: seen.tagged.map_or(stood.min(STOOD), |tagged| r.arrival.since(tagged)),
    };
    records.iter().zip(submitted).zip(seen).map(of).collect()
}

/// `asked`, at the times at which the kernel read the clock where it put a queue in service.
fn by_the_clock(asked: &AskedAfter) -> AskedAfter {
    let earlier = |ask: &Option<Ask>| {
        let ask = ask.as_ref()?;
        let by = NOTED.min(ask.locked);
        Some(Ask {
            after: ask.after.since(by),
            locked: ask.locked - by,
            again: ask.again.iter().map(|&again| again + by).collect(),
            choice: ask.choice.map(|choice| choice + by),
        })
    };
    AskedAfter {
        inserted: earlier(&asked.inserted),
        completed: earlier(&asked.completed),
        issued: earlier(&asked.issued),
    }
}

/// How soon a scheduler was asked, where something came to the device: the medians.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// After an insertion.
    inserted: Option<Nanos>,
    /// After another hand-over.
    issued: Option<Nanos>,
}

impl Asked {
    /// As `all` tell it; where too few of them do, as it is in `otherwise`.
    pub(super) fn of<'a>(all: &(impl Iterator<Item = &'a HandOver> + Clone), otherwise: Self) -> Self {
        let median = |takes: fn(&HandOver) -> Option<Nanos>| {
            let mut known: Vec<Nanos> = all.clone().filter_map(takes).collect();
            let middle = known.len() / 2;
            (known.len() >= ENOUGH).then(|| *known.select_nth_unstable(middle).1)
        };
        Self {
            inserted: median(|one| one.inserted).or(otherwise.inserted),
            issued: median(|one| one.issued).or(otherwise.issued),
        }
    }

    /// `all`, where the scheduler is asked so soon after what nothing came to the device after, too.
    pub(super) fn filled(self, all: &[HandOver]) -> Arc<[HandOver]> {
        let fill = |one: &HandOver| HandOver {
            inserted: one.inserted.or(self.inserted),
            issued: one.issued.or(self.issued),
            ..one.clone()
        };
        all.iter().map(fill).collect()
    }
}

/// Who got the tag of each of `records`, which passed no scheduler, and when. A task's own next request comes first to it; else the one
/// that is issued first gets the one that is free longest.
pub(super) fn of_tags(records: &[TraceRecord]) -> Vec<HandOver> {
    let mut all = vec![HandOver::default(); records.len()];
    let ends = records.iter().enumerate().filter_map(|(n, r)| Some((r.completion?, false, n)));
    let issues = records.iter().enumerate().filter_map(|(n, r)| Some((r.issue?, true, n)));
    let mut events: Vec<(Nanos, bool, usize)> = ends.chain(issues).collect();
    events.sort_unstable();
    let mut free: Vec<usize> = Vec::new();
    for (now, is_issue, n) in events {
        if !is_issue {
            free.push(n);
            continue;
        }
        let end = |of: usize| records[of].completion.unwrap_or_default();
        let own = |&of: &usize| records[of].process == records[n].process && end(of) < records[n].arrival;
        let at = free.iter().position(own).unwrap_or_default();
        if at < free.len() {
            let of = free.remove(at);
            all[of] = HandOver { completed: Some(now.since(end(of))), next: Some(n as u64), ..HandOver::default() };
        }
    }
    all
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, ProcessId, Sectors};
    use iopilot_sim::{Ask, AskedAfter};

    /// Two tasks that read in turns on a device that takes one request: the first of a pair waits for nothing, the other for it.
    pub(in super::super) fn recording(pairs: u64) -> Vec<TraceRecord> {
        let one = |arrival: u64, issue: u64, completion: u64| TraceRecord {
            issue: Some(Nanos(1000 * issue)),
            completion: Some(Nanos(1000 * completion)),
            ..TraceRecord::new(Nanos(1000 * arrival), Op::Read, Lba(0), Sectors(8))
        };
        (0..pairs)
            .map(|n| 10_000 * n)
            .flat_map(|at| [one(at, at + 6, at + 500), one(at + 1, at + 509, at + 900)])
            .collect()
    }

    #[test]
    fn each_tells_what_came_after_it() {
        let us = |us: u64| Some(Nanos::from_micros(us));
        let soon = Nanos::from_micros(1);
        let told = of_each(&recording(2), &[soon; 4], &vec![Seen::default(); 4]);
        // The first goes at once; the other after it, and after the other nothing that waits.
        let first = HandOver { inserted: us(6), completed: us(9), stood: soon, ..HandOver::default() };
        assert_eq!(told[0], first);
        assert_eq!(told[1], HandOver { inserted: us(5), completed: None, ..first.clone() });
        assert_eq!(told[3], told[1]);
        // Another that came in time goes right after the first.
        let mut both = recording(1);
        both[1].issue = us(18);
        let told = of_each(&both, &[soon; 2], &vec![Seen::default(); 2]);
        assert_eq!(told[0], HandOver { completed: None, issued: us(12), ..first });
        // What was seen beside it.
        let asked = AskedAfter { inserted: Some(Ask { after: soon, ..Ask::default() }), ..AskedAfter::default() };
        let seen =
            Seen { tagged: Some(Nanos(300)), asked: Some(asked.clone()), heard: Some(Nanos(900)), follows: None };
        let told = of_each(&both[1..], &[soon], &[seen]);
        assert_eq!((told[0].asked.clone(), told[0].stood, told[0].heard), (Some(asked), Nanos(700), Nanos(900)));
    }

    #[test]
    fn a_queue_is_in_service_before_that_is_noted() {
        let us = Nanos::from_micros;
        let asked = |locked: u64, by: u64| {
            let ask =
                Ask { after: us(9 - by), locked: us(locked - by), again: vec![us(5 + by)], choice: Some(us(7 + by)) };
            AskedAfter { inserted: Some(ask), ..AskedAfter::default() }
        };
        // No sooner than it is asked.
        assert_eq!(
            [0, 1, 4].map(|locked| by_the_clock(&asked(locked, 0))),
            [(0, 0), (1, 1), (4, 2)].map(|(l, by)| asked(l, by))
        );
    }

    #[test]
    fn where_nothing_came_the_scheduler_is_asked_as_soon_as_usual() {
        let told = |inserted| HandOver { inserted, issued: None, ..HandOver::default() };
        let us = Nanos::from_micros;
        let of_others = Asked { inserted: Some(us(50)), issued: Some(us(4)) };
        let mut all = vec![told(Some(us(7))); ENOUGH - 1];
        assert_eq!(Asked::of(&all.iter(), of_others), of_others, "too few");
        all.push(told(Some(us(9))));
        let asked = Asked::of(&all.iter(), of_others);
        assert_eq!(asked, Asked { inserted: Some(us(7)), ..of_others });
        let filled = asked.filled(&[told(None), told(Some(us(30)))]);
        assert_eq!(
            filled.iter().map(|one| (one.inserted, one.issued)).collect::<Vec<_>>(),
            [(Some(us(7)), Some(us(4))), (Some(us(30)), Some(us(4)))]
        );
    }

    #[test]
    fn a_tag_goes_to_its_own_task_or_to_who_is_issued_first() {
        let one = |process: u32, arrival: u64, issue: u64, completion: u64| TraceRecord {
            process: Some(ProcessId(process)),
            issue: Some(Nanos(1000 * issue)),
            completion: Some(Nanos(1000 * completion)),
            ..TraceRecord::new(Nanos(1000 * arrival), Op::Read, Lba(0), Sectors(8))
        };
        // One tag: the first task keeps it once, then the other has it, and that one keeps it.
        let records = [one(1, 0, 4, 100), one(1, 120, 124, 200), one(2, 50, 230, 300), one(2, 320, 324, 400)];
        let told = of_tags(&records);
        let next: Vec<_> = told.iter().map(|one| one.next).collect();
        assert_eq!(next, [Some(1), Some(2), Some(3), None]);
        assert_eq!(told[1].completed, Some(Nanos::from_micros(30)));
    }
}
