//! How long the kernel takes to hand a request to the device: each time, and usually.

use super::measure::Recording;
use super::race::median;
use super::seen::Seen;
use iopilot_block::{Nanos, ProcessId};
use iopilot_sim::{HandOver, HandOvers, HostConfig};
use iopilot_trace::TraceRecord;
use std::collections::HashMap;
use std::sync::Arc;

/// What reaches the device later than this after it arrived waited for something.
const WAITED: Nanos = Nanos::from_micros(100);
/// For how long the clock of a task has stood still when it hands a request to the scheduler, where it was not seen: it looks at it when
/// it has a tag for that, which is after it waited for the scheduler to see whether the request could be merged.
const STOOD: Nanos = Nanos::from_micros(2);
/// Of fewer times no median is taken.
const ENOUGH: usize = 20;

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
        asked: seen.asked.clone(),
        next: None,
        heard: seen.heard.unwrap_or_default(),
        stood: seen.tagged.map_or(stood.min(STOOD), |tagged| r.arrival.since(tagged)),
    };
    records.iter().zip(submitted).zip(seen).map(of).collect()
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

/// Medians in microseconds; `None` where too few requests tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usual {
    /// From its insertion, of a request that waits for nothing; from its arrival, where there is no scheduler.
    issue_us: Option<f64>,
    /// From a completion, of a request that waited for it: it had left the scheduler already, where there is one.
    restart_us: Option<f64>,
    /// From a completion to its task's next request, where that thinks no longer than a CPU takes to get there.
    resume_us: Option<f64>,
    /// The ways to the disk and back: who hands a request to the loop device's worker wakes it on another CPU under one scheduler, on the same
    /// under another.
    there_us: Option<f64>,
    back_us: Option<f64>,
    /// For how long a task's clock has stood still when it hands over a request, where blktrace tells that of the scheduler.
    stood_us: Option<f64>,
}

impl Usual {
    /// As the requests of a recording tell it, the ways that they took, and what was seen beside.
    pub(super) fn of_recording(Recording { records, path, seen, .. }: &Recording) -> Self {
        let median_us = |mut times: Vec<Nanos>| median_us(&mut times);
        let stood = records.iter().zip(seen).filter_map(|(r, seen)| Some(r.inserted?.since(seen.tagged?)));
        Self {
            there_us: median_us(path.there.clone()),
            back_us: median_us(path.back.clone()),
            stood_us: median_us(stood.collect()),
            ..Self::of(records)
        }
    }

    /// As `records` tell it.
    pub(super) fn of(records: &[TraceRecord]) -> Self {
        let mut ends: Vec<Nanos> = records.iter().filter_map(|r| r.completion).collect();
        ends.sort_unstable();
        let mut insertions: Vec<Nanos> = records.iter().filter_map(|r| r.inserted).collect();
        insertions.sort_unstable();
        // What comes after an insertion was chosen then.
        let is_next = |end: Nanos, issue: Nanos| {
            insertions.get(insertions.partition_point(|&at| at <= end)).is_none_or(|&at| at > issue)
        };
        let (mut at_once, mut after) = (Vec::new(), Vec::new());
        for r in records {
            let Some(issue) = r.issue else { continue };
            // Tasks resume at the insertion, where there is one.
            let took = issue.since(r.inserted.unwrap_or(r.arrival));
            if took < WAITED {
                at_once.push(took);
            } else if let Some(end) = ends.partition_point(|&end| end <= issue).checked_sub(1).and_then(|n| ends.get(n))
            {
                // Later ones waited for something else than room.
                after.extend(Some(issue.since(*end)).filter(|took| *took < WAITED && is_next(*end, issue)));
            }
        }
        Self {
            issue_us: median_us(&mut at_once),
            restart_us: median_us(&mut after),
            resume_us: median_us(&mut resumed(records)),
            ..Self::default()
        }
    }

    /// The medians of what `all` tell.
    pub(super) fn typical(all: &[Self]) -> Self {
        let of = |time: fn(&Self) -> Option<f64>| median(all.iter().filter_map(time).collect());
        Self {
            issue_us: of(|h| h.issue_us),
            restart_us: of(|h| h.restart_us),
            resume_us: of(|h| h.resume_us),
            there_us: of(|h| h.there_us),
            back_us: of(|h| h.back_us),
            stood_us: of(|h| h.stood_us),
        }
    }

    /// `number` of `all`, from the least to the most that it takes after a completion, each for as many; what one of them does not tell is
    /// typical of all.
    pub(super) fn spread(mut all: Vec<Self>, number: usize) -> Vec<Self> {
        let typical = Self::typical(&all);
        all.sort_by(|a, b| a.restart_us.unwrap_or_default().total_cmp(&b.restart_us.unwrap_or_default()));
        let nth = |n: usize| {
            let one = all.get((2 * n + 1) * all.len() / (2 * number)).copied().unwrap_or_default();
            Self {
                issue_us: one.issue_us.or(typical.issue_us),
                restart_us: one.restart_us.or(typical.restart_us),
                resume_us: one.resume_us.or(typical.resume_us),
                there_us: one.there_us.or(typical.there_us),
                back_us: one.back_us.or(typical.back_us),
                stood_us: one.stood_us.or(typical.stood_us),
            }
        };
        (0..number).map(nth).collect()
    }

    /// `records` of tasks that take so long to go on instead of `recorded`.
    pub(super) fn resumed(self, recorded: Self, records: &[TraceRecord]) -> Vec<TraceRecord> {
        let (Some(now), Some(before)) = (self.resume_us, recorded.resume_us) else { return records.to_vec() };
        let mut all = records.to_vec();
        for (n, end, at) in at_once(records) {
            all[n].arrival = end + longer(at.since(end), now - before);
        }
        all.sort_by_key(|r| r.arrival);
        all
    }

    /// By how much longer the ways there and back are than those of `recorded`.
    pub(super) fn further(self, recorded: Self) -> Further {
        let of = |time: fn(&Self) -> Option<f64>| time(&self).zip(time(&recorded)).map_or(0.0, |(to, from)| to - from);
        Further { there_us: of(|h| h.there_us), back_us: of(|h| h.back_us) }
    }

    /// When the scheduler is usually asked, `choice` before a request reaches the device, where that is known.
    pub(super) fn hand_overs(self, choice: Nanos) -> Option<HandOvers> {
        Some(HandOvers::usual(Nanos::from_millis_f64(self.stood_us? / 1e3), choice))
    }

    /// What it takes to wake who sleeps for a tag, under a scheduler under which somebody does: the rest of what it takes from a completion.
    fn wake_us(self) -> Option<f64> {
        Some((self.restart_us? - self.issue_us?).max(0.0))
    }

    /// `host` with these times, as far as they are known.
    pub(super) fn on(self, host: &HostConfig) -> HostConfig {
        HostConfig {
            issue_us: self.issue_us.unwrap_or(host.issue_us),
            restart_us: self.restart_us.unwrap_or(host.restart_us),
            wake_us: self.wake_us().unwrap_or(host.wake_us),
            ..host.clone()
        }
    }
}

/// What is added to the ways there and back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Further {
    there_us: f64,
    back_us: f64,
}

impl Further {
    pub(super) fn there(self, way: Nanos) -> Nanos {
        longer(way, self.there_us)
    }

    pub(super) fn back(self, way: Nanos) -> Nanos {
        longer(way, self.back_us)
    }
}

fn longer(time: Nanos, by_us: f64) -> Nanos {
    Nanos::from_millis_f64((time.as_micros_f64() + by_us).max(0.0) / 1e3)
}

/// Of `records` those that a task makes as soon as one of its own is complete: which, when that is, and when they are handed on.
fn at_once(records: &[TraceRecord]) -> impl Iterator<Item = (usize, Nanos, Nanos)> {
    let mut ends: HashMap<ProcessId, Nanos> = HashMap::new();
    records.iter().enumerate().filter_map(move |(n, r)| {
        let at = r.inserted.unwrap_or(r.arrival);
        let before = ends.insert(r.process?, r.completion?);
        before.filter(|end| *end <= r.arrival && at.since(*end) < WAITED).map(|end| (n, end, at))
    })
}

fn resumed(records: &[TraceRecord]) -> Vec<Nanos> {
    at_once(records).map(|(_, end, at)| at.since(end)).collect()
}

fn median_us(times: &mut [Nanos]) -> Option<f64> {
    let middle = times.len() / 2;
    (times.len() >= ENOUGH).then(|| times.select_nth_unstable(middle).1.0 as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::super::measure::Path;
    use super::*;
    use iopilot_block::{Lba, Op, ProcessId, Sectors};
    use iopilot_sim::{Ask, AskedAfter};

    /// Two tasks that read in turns on a device that takes one request: the first of a pair waits for nothing, the other for it.
    fn recording(pairs: u64) -> Vec<TraceRecord> {
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
    fn it_is_what_a_request_takes_after_it_came_or_after_another_was_complete() {
        let told = Usual::of(&recording(20));
        assert_eq!(told, Usual { issue_us: Some(6.0), restart_us: Some(9.0), ..Usual::default() });
        let host = told.on(&HostConfig::default());
        assert_eq!((host.issue_us, host.restart_us, host.wake_us), (6.0, 9.0, 3.0));
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

    #[test]
    fn draws_are_spread_over_the_recordings() {
        let told = |restart| Usual { restart_us: Some(restart), ..Usual::default() };
        let issue = Usual { issue_us: Some(2.0), ..told(9.0) };
        let spread = Usual::spread(vec![issue, told(5.0), told(7.0), told(6.0)], 2);
        assert_eq!(spread, [Usual { issue_us: Some(2.0), ..told(6.0) }, issue]);
        assert_eq!(Usual::spread(Vec::new(), 2), [Usual::default(); 2]);
    }

    #[test]
    fn a_task_goes_on_as_soon_as_it_does_under_the_other_scheduler() {
        let read = |arrival: u64, completion: u64| TraceRecord {
            process: Some(ProcessId(1)),
            completion: Some(Nanos(1000 * completion)),
            ..TraceRecord::new(Nanos(1000 * arrival), Op::Read, Lba(0), Sectors(8))
        };
        // The third thinks.
        let records = [read(0, 100), read(110, 200), read(900, 1000)];
        let usual = |resume| Usual { resume_us: Some(resume), ..Usual::default() };
        let arrivals = |all: &[TraceRecord]| all.iter().map(|r| r.arrival.0 / 1000).collect::<Vec<_>>();
        assert_eq!(arrivals(&usual(15.0).resumed(usual(9.0), &records)), [0, 116, 900]);
        assert_eq!(arrivals(&usual(5.0).resumed(usual(30.0), &records)), [0, 100, 900], "not before it is complete");
        assert_eq!(usual(5.0).resumed(Usual::default(), &records), records);
    }

    fn made(records: Vec<TraceRecord>, seen: Vec<Seen>, path: Path) -> Recording {
        Recording { records, origin: Nanos::ZERO, seen, path }
    }

    #[test]
    fn a_clock_stands_from_the_tag_on_where_that_is_seen() {
        let inserted = TraceRecord { inserted: Some(Nanos(9_000)), ..recording(1)[0].clone() };
        let seen = Seen { tagged: Some(Nanos(6_000)), ..Seen::default() };
        let of = |seen: Seen| {
            Usual::of_recording(&made(vec![inserted.clone(); ENOUGH], vec![seen; ENOUGH], Path::default()))
        };
        assert_eq!(of(seen).stood_us, Some(3.0));
        assert!(of(Seen::default()).hand_overs(Nanos(400)).is_none());
    }

    #[test]
    fn the_ways_are_as_long_as_under_the_other_scheduler() {
        let path = |there: u64, back: u64| Path {
            there: vec![Nanos(1000 * there); ENOUGH],
            back: vec![Nanos(1000 * back); ENOUGH],
            ..Path::default()
        };
        let [none, bfq] =
            [path(24, 23), path(37, 22)].map(|path| Usual::of_recording(&made(Vec::new(), Vec::new(), path)));
        let further = bfq.further(none);
        assert_eq!([further.there(Nanos(30_000)), further.back(Nanos(30_000))], [Nanos(43_000), Nanos(29_000)]);
        assert_eq!(none.further(bfq).there(Nanos(5_000)), Nanos(0), "not before it is sent");
        assert_eq!(bfq.further(Usual::default()), Further::default());
    }

    #[test]
    fn what_is_inserted_late_is_issued_from_then_on() {
        let one = |at: u64| TraceRecord {
            inserted: Some(Nanos(1000 * (at + 6))),
            issue: Some(Nanos(1000 * (at + 13))),
            completion: Some(Nanos(1000 * (at + 200))),
            ..TraceRecord::new(Nanos(1000 * at), Op::Read, Lba(0), Sectors(8))
        };
        let records: Vec<TraceRecord> = (0..40).map(|n| one(1000 * n)).collect();
        assert_eq!(Usual::of(&records).issue_us, Some(7.0));
    }

    #[test]
    fn what_comes_after_an_insertion_did_not_wait_for_the_completion_alone() {
        let one = |inserted: u64, issue: u64, completion: u64| TraceRecord {
            inserted: Some(Nanos(1000 * inserted)),
            issue: Some(Nanos(1000 * issue)),
            completion: Some(Nanos(1000 * completion)),
            ..TraceRecord::new(Nanos(1000 * inserted), Op::Read, Lba(0), Sectors(8))
        };
        let recording = |second: u64| -> Vec<TraceRecord> {
            let pairs = (0..20).map(|n| 10_000 * n);
            pairs
                .flat_map(|at| {
                    [one(at, at + 6, at + 500), one(at + 1, at + second, at + 900), one(at + 510, at + 905, at + 990)]
                })
                .collect()
        };
        assert_eq!(Usual::of(&recording(507)).restart_us, Some(7.0));
        // The third request was there before the second was chosen.
        assert_eq!(Usual::of(&recording(512)).restart_us, Some(5.0));
    }

    #[test]
    fn too_few_tell_nothing() {
        assert_eq!(Usual::of(&recording(19)), Usual::default());
        let host = HostConfig::default();
        assert_eq!(Usual::default().on(&host).issue_us, host.issue_us);
    }

    #[test]
    fn of_several_recordings_it_is_the_middle() {
        let told = |issue| Usual { issue_us: Some(issue), ..Usual::default() };
        let typical = Usual::typical(&[told(9.0), told(2.0), Usual::default(), told(3.0)]);
        assert_eq!(typical, Usual { issue_us: Some(3.0), ..Usual::default() });
    }
}
