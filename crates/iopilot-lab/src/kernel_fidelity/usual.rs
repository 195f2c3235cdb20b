//! How long the kernel usually takes to hand a request to the device, and a task to go on.

use super::hand_over::{ENOUGH, WAITED};
use super::measure::Recording;
use super::race::median;
use super::rest::{self, Instead, Rest, Rested};
use super::ways::{self, Further};
use iopilot_block::{Nanos, ProcessId};
use iopilot_device::Rests;
use iopilot_sim::HostConfig;
use iopilot_trace::TraceRecord;
use std::collections::HashMap;

/// Medians in microseconds; `None` where too few requests tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usual {
    /// From its insertion, of a request that waits for nothing; from its arrival, where there is no scheduler.
    issue_us: Option<f64>,
    /// From a completion, of a request that waited for it: it had left the scheduler already, where there is one.
    restart_us: Option<f64>,
    /// From a completion to its task's next request, where that thinks no longer than a CPU takes to get there.
    resume: Rested,
    /// The ways to the disk and back: who hands a request to the loop device's worker wakes it on another CPU under one scheduler, on the same
    /// under another.
    there: Rested,
    back: Rested,
}

impl Usual {
    /// As the requests of a recording tell it, and the ways that they took.
    pub(super) fn of_recording(Recording { records, path, .. }: &Recording) -> Self {
        let ways = ways::alone(records, path);
        let rested = |rests: Vec<Rest>, of: fn((Nanos, Nanos)) -> Nanos| {
            Rested::of(rests.into_iter().zip(&ways).filter_map(|(rest, way)| Some((rest, of((*way)?)))))
        };
        Self {
            there: rested(rest::of_issues(records), |(there, _)| there),
            back: rested(rest::of_each(records), |(_, back)| back),
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
        let rests = rest::of_each(records);
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
            resume: Rested::of(resumptions(records).map(|one| (rests[one.before], one.resumed))),
            ..Self::default()
        }
    }

    /// The medians of what `all` tell.
    pub(super) fn typical(all: &[Self]) -> Self {
        let of = |time: fn(&Self) -> Option<f64>| median(all.iter().filter_map(time).collect());
        Self {
            issue_us: of(|h| h.issue_us),
            restart_us: of(|h| h.restart_us),
            there: Rested::typical(&all.iter().map(|h| h.there)),
            resume: Rested::typical(&all.iter().map(|h| h.resume)),
            back: Rested::typical(&all.iter().map(|h| h.back)),
        }
    }

    /// What is not known of it as in `other`.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            issue_us: self.issue_us.or(other.issue_us),
            restart_us: self.restart_us.or(other.restart_us),
            resume: self.resume.or(other.resume),
            there: self.there.or(other.there),
            back: self.back.or(other.back),
        }
    }

    /// `records` of tasks that take so long to go on instead of `recorded`, in a machine that never rests; and by how much later they do after a rest.
    pub(super) fn resumed(self, recorded: Self, records: &[TraceRecord]) -> (Vec<TraceRecord>, Rests) {
        let instead = Instead::of(recorded.resume, self.resume);
        let rests = rest::of_each(records);
        let mut all = records.to_vec();
        for AtOnce { of, before, end, resumed } in resumptions(records) {
            all[of].arrival = end + instead.at_once(resumed, rests[before]);
        }
        all.sort_by_key(|r| r.arrival);
        (all, instead.rests())
    }

    /// By how much longer the ways there and back are than those of `recorded`.
    pub(super) fn further(self, recorded: Self) -> Further {
        Further { there: Instead::of(recorded.there, self.there), back: Instead::of(recorded.back, self.back) }
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

pub(super) fn longer(time: Nanos, by_us: f64) -> Nanos {
    Nanos::from_millis_f64((time.as_micros_f64() + by_us).max(0.0) / 1e3)
}

/// `records` of tasks that take no time to go on where they do so as soon as one of their own is complete; and of each whether its task does.
pub(super) fn going_on(records: &[TraceRecord]) -> (Vec<TraceRecord>, Vec<bool>) {
    let mut all: Vec<(TraceRecord, bool)> = records.iter().map(|r| (r.clone(), false)).collect();
    for AtOnce { of, before, end, .. } in resumptions(records) {
        all[of].0.arrival = end;
        all[before].1 = true;
    }
    all.sort_by_key(|(r, _)| r.arrival);
    all.into_iter().unzip()
}

/// A request that a task makes as soon as one of its own is complete.
pub(super) struct AtOnce {
    pub(super) of: usize,
    /// That one, and when it is.
    pub(super) before: usize,
    pub(super) end: Nanos,
    /// How long after that it is handed on.
    pub(super) resumed: Nanos,
}

/// Those of `records`.
pub(super) fn resumptions(records: &[TraceRecord]) -> impl Iterator<Item = AtOnce> {
    let mut last: HashMap<ProcessId, usize> = HashMap::new();
    records.iter().enumerate().filter_map(move |(of, r)| {
        let before = last.insert(r.process?, of)?;
        let end = records[before].completion?;
        let resumed = r.inserted.unwrap_or(r.arrival).since(end);
        (end <= r.arrival && resumed < WAITED).then_some(AtOnce { of, before, end, resumed })
    })
}

pub(super) fn median_us(times: &mut [Nanos]) -> Option<f64> {
    let middle = times.len() / 2;
    (times.len() >= ENOUGH).then(|| times.select_nth_unstable(middle).1.0 as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::super::hand_over::tests::recording;
    use super::super::measure::Path;
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    #[test]
    fn it_is_what_a_request_takes_after_it_came_or_after_another_was_complete() {
        let told = Usual::of(&recording(20));
        assert_eq!(told, Usual { issue_us: Some(6.0), restart_us: Some(9.0), ..Usual::default() });
        let host = told.on(&HostConfig::default());
        assert_eq!((host.issue_us, host.restart_us, host.wake_us), (6.0, 9.0, 3.0));
    }

    #[test]
    fn what_one_does_not_tell_is_as_in_another() {
        let (one, other) = (told(None, Some(9.0)), told(Some(2.0), Some(5.0)));
        assert_eq!(one.or(other), told(Some(2.0), Some(9.0)));
        assert_eq!(Usual::default().or(other), other);
        fn told(issue_us: Option<f64>, restart_us: Option<f64>) -> Usual {
            Usual { issue_us, restart_us, ..Usual::default() }
        }
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
        let usual = |us: u64| {
            let at_rest = rest::of_each(&records)[0];
            let resume = Rested::of(std::iter::repeat_n((at_rest, Nanos::from_micros(us)), ENOUGH));
            Usual { resume, ..Usual::default() }
        };
        let arrivals =
            |(all, _): &(Vec<TraceRecord>, Rests)| all.iter().map(|r| r.arrival.0 / 1000).collect::<Vec<_>>();
        assert_eq!(arrivals(&usual(15).resumed(usual(9), &records)), [0, 116, 900]);
        assert_eq!(arrivals(&usual(5).resumed(usual(30), &records)), [0, 100, 900], "not before it is complete");
        assert_eq!(usual(5).resumed(Usual::default(), &records).0, records);
    }

    fn made(records: Vec<TraceRecord>, path: Path) -> Recording {
        Recording { records, origin: Nanos::ZERO, seen: Vec::new(), path }
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

    #[test]
    fn the_ways_are_as_long_as_under_the_other_scheduler() {
        let path = |there: u64, back: u64| Path {
            there: vec![Nanos(1000 * there); ENOUGH],
            of: vec![Some((Nanos(1000 * there), Nanos(1000 * back))); 2 * ENOUGH],
            ..Path::default()
        };
        let records = recording(ENOUGH as u64);
        let [none, bfq] = [path(24, 23), path(37, 22)].map(|path| Usual::of_recording(&made(records.clone(), path)));
        let ways = |to: Usual, from, there| to.further(from).ways(&made(records.clone(), path(there, 30))).of[0];
        assert_eq!(ways(bfq, none, 30), Some((Nanos(43_000), Nanos(29_000))));
        assert_eq!(ways(none, bfq, 5), Some((Nanos(0), Nanos(31_000))), "not before it is sent");
        assert_eq!(bfq.further(Usual::default()), Further::default());
    }

    #[test]
    fn who_goes_on_at_once_does_so_in_no_time() {
        let read = |process: u32, arrival: u64, completion: u64| TraceRecord {
            process: Some(ProcessId(process)),
            completion: Some(Nanos(1000 * completion)),
            ..TraceRecord::new(Nanos(1000 * arrival), Op::Read, Lba(0), Sectors(8))
        };
        // Another task comes between; the first thinks before its last.
        let (all, goes_on) = going_on(&[read(1, 0, 100), read(2, 105, 300), read(1, 110, 200), read(1, 900, 1000)]);
        assert_eq!(all.iter().map(|r| r.arrival.0 / 1000).collect::<Vec<_>>(), [0, 100, 105, 900]);
        assert_eq!(goes_on, [true, false, false, false]);
    }
}
