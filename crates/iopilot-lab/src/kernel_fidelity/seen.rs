//! [`Seen`]: when a scheduler was asked, where it says so.

use iopilot_block::{Lba, Nanos, ProcessId};
use iopilot_live::{Note, Noted};
use iopilot_sim::{Ask, AskedAfter};
use iopilot_trace::TraceRecord;
use std::collections::HashMap;

/// Two kinds of trace tell of one event at times that are no further apart than this.
const SAME: Nanos = Nanos::from_micros(50);
/// Who asks later than this after something does not ask for that.
const AT_ONCE: Nanos = Nanos::from_micros(200);
/// Who asks within this time after he was given something asks for more.
const MORE: Nanos = Nanos::from_micros(100);

/// What blktrace told of a request beside its record.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// When it got its tag, on the clock of the record.
    pub(super) tagged: Option<Nanos>,
    /// When the scheduler was asked after it; `None` where that was not watched.
    pub(super) asked: Option<AskedAfter>,
    /// How long after it was complete the scheduler heard of it.
    pub(super) heard: Option<Nanos>,
    /// How long after it was issued the next one was that whoever did so was given with it.
    pub(super) follows: Option<Nanos>,
}

/// What a scheduler is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Inserted,
    Completed,
    Issued,
}

/// What `notes` tell of each of `records`, whose times count from `origin`.
pub(super) fn all(records: &[TraceRecord], origin: Nanos, notes: &[Note]) -> Vec<Seen> {
    let mut watch = Watch::new(records);
    let mut ends: Vec<(Nanos, usize)> =
        (records.iter().enumerate()).filter_map(|(n, r)| Some((r.completion?, n))).collect();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    for note in notes.iter().filter(|note| note.time >= origin) {
        let now = note.time.since(origin);
        while let Some(end) = ends.next_if(|(end, _)| *end <= now) {
            watch.completed = Some(end);
        }
        watch.take(now, note.task, note.what);
    }
    watch.seen
}

/// Follows who does what.
struct Watch<'a> {
    records: &'a [TraceRecord],
    /// By where they begin.
    there: HashMap<Lba, Vec<usize>>,
    /// The last of each task.
    last: HashMap<ProcessId, usize>,
    seen: Vec<Seen>,
    /// What each task did last, if it has not asked since.
    did: HashMap<u32, (Nanos, After, usize)>,
    /// What any of them did last.
    latest: Option<(Nanos, After, usize)>,
    /// The last completion, if nobody has asked for it.
    completed: Option<(Nanos, usize)>,
    /// What each task has completed, if the scheduler has not heard of it since.
    unheard: HashMap<u32, usize>,
    /// What each task has asked for, if it has handed over nothing since.
    asked: HashMap<u32, Asked>,
}

/// That a task has asked.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Nanos,
    after: After,
    of: usize,
    /// When it was given something last: it asks for more at once, as far as there is room, and hands over what it got then.
    given: Option<Nanos>,
}

impl<'a> Watch<'a> {
    fn new(records: &'a [TraceRecord]) -> Self {
        let mut there: HashMap<Lba, Vec<usize>> = HashMap::new();
        records.iter().enumerate().for_each(|(n, r)| there.entry(r.lba).or_default().push(n));
        Self {
            records,
            there,
            last: records.iter().enumerate().map(|(n, r)| (r.process.unwrap_or_default(), n)).collect(),
            seen: vec![Seen { asked: Some(AskedAfter::default()), ..Seen::default() }; records.len()],
            did: HashMap::new(),
            latest: None,
            completed: None,
            unheard: HashMap::new(),
            asked: HashMap::new(),
        }
    }

    /// The request at `lba` to which something happened at `now`, by its record at a time that `of` tells.
    fn find(&self, lba: Lba, now: Nanos, of: impl Fn(&TraceRecord) -> Option<Nanos>) -> Option<usize> {
        let near = |&&n: &&usize| of(&self.records[n]).is_some_and(|at| now.since(at).max(at.since(now)) <= SAME);
        self.there.get(&lba)?.iter().find(near).copied()
    }

    fn take(&mut self, now: Nanos, task: u32, what: Noted) {
        match what {
            Noted::Tagged(lba) => {
                let waits = |r: &TraceRecord| r.arrival <= now && r.inserted.is_some_and(|inserted| now <= inserted);
                let found = self.there.get(&lba).and_then(|there| there.iter().find(|&&n| waits(&self.records[n])));
                if let Some(&n) = found {
                    self.seen[n].tagged = Some(now);
                }
            }
            Noted::Inserted(lba) => {
                let found = self.find(lba, now, |r| r.inserted);
                self.did(task, found.map(|n| (now, After::Inserted, n)));
            }
            Noted::Issued(lba) => {
                if let Some(Asked { at, after, of, .. }) = self.asked.remove(&task) {
                    self.slot(after, of).iter_mut().for_each(|ask| ask.choice = Some(now.since(at)));
                } else if let Some((at, After::Issued, before)) = self.did.get(&task) {
                    self.seen[*before].follows = Some(now.since(*at));
                }
                let found = self.find(lba, now, |r| r.issue);
                self.did(task, found.map(|n| (now, After::Issued, n)));
            }
            Noted::Completed(lba) => {
                let found = self.find(lba, now, |r| r.completion);
                self.unheard.extend(found.map(|n| (task, n)));
            }
            Noted::LetGo => {
                if let Some(n) = self.unheard.remove(&task) {
                    self.seen[n].heard = self.records[n].completion.map(|end| now.since(end));
                }
            }
            Noted::Asked => self.is_asked(now, task),
            Noted::InService => self.has_chosen(now, task),
            Noted::Gave => {
                self.asked.entry(task).and_modify(|asked| asked.given = Some(now));
            }
        }
    }

    fn did(&mut self, task: u32, what: Option<(Nanos, After, usize)>) {
        self.did.remove(&task);
        self.asked.remove(&task);
        self.did.extend(what.map(|what| (task, what)));
        self.latest = what.or(self.latest);
    }

    fn is_asked(&mut self, now: Nanos, task: u32) {
        let asked = self.asked.remove(&task);
        if let Some(more) = asked.filter(|asked| asked.given.is_some_and(|at| now.since(at) <= MORE)) {
            if let Some(ask) = self.slot(more.after, more.of) {
                ask.again.push(now.since(more.at));
            }
            self.asked.insert(task, more);
            return;
        }
        let in_time = |(at, ..): &(Nanos, After, usize)| now.since(*at) <= AT_ONCE;
        // Who has done nothing before is a thread of the kernel that runs the queue, as it does after a completion.
        let own = self.did.remove(&task).filter(in_time);
        let end = self.completed.map(|(at, n)| (at, After::Completed, n)).filter(in_time);
        // After the last of a task the kernel asks because that exits.
        let is_last = |n: usize| self.last.get(&self.records[n].process.unwrap_or_default()) == Some(&n);
        if own.is_none() && end.is_some_and(|(.., n)| is_last(n)) {
            return;
        }
        // Or it wanted to run it before, and had to wait while another was at it.
        let latest = self.latest.filter(in_time).filter(|&(_, after, n)| self.slot(after, n).is_none());
        let Some((at, after, n)) = own.or(end).or(latest) else { return };
        if after == After::Completed {
            self.completed = None;
        }
        *self.slot(after, n) = Some(Ask { after: now.since(at), ..Ask::default() });
        self.asked.insert(task, Asked { at: now, after, of: n, given: None });
    }

    /// The scheduler, asked by `task`, put a queue in service at `now`: what it is charged counts from then, so that it is asked then. Nobody
    /// comes between, as it is locked.
    fn has_chosen(&mut self, now: Nanos, task: u32) {
        let Some(asked) = self.asked.get_mut(&task).filter(|asked| asked.given.is_none()) else { return };
        let Asked { at, after, of, .. } = std::mem::replace(asked, Asked { at: now, ..*asked });
        if let Some(ask) = self.slot(after, of) {
            ask.after += now.since(at);
            ask.locked += now.since(at);
        }
    }

    fn slot(&mut self, after: After, n: usize) -> &mut Option<Ask> {
        let asked = self.seen[n].asked.get_or_insert_default();
        match after {
            After::Inserted => &mut asked.inserted,
            After::Completed => &mut asked.completed,
            After::Issued => &mut asked.issued,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Op, Sectors};

    fn us(us: u64) -> Nanos {
        Nanos::from_micros(us)
    }

    fn record(lba: u64, [arrival, inserted, issue, completion]: [u64; 4]) -> TraceRecord {
        TraceRecord {
            inserted: Some(us(inserted)),
            issue: Some(us(issue)),
            completion: Some(us(completion)),
            process: Some(ProcessId((lba / 8 % 2) as u32)),
            ..TraceRecord::new(us(arrival), Op::Read, Lba(lba), Sectors(8))
        }
    }

    /// An ask so long after, where the scheduler was locked for so long by then, and from then to the device.
    fn ask(after: u64, locked: u64, choice: Option<u64>) -> Option<Ask> {
        Some(Ask { after: us(after), locked: us(locked), choice: choice.map(us), ..Ask::default() })
    }

    #[test]
    fn who_asks_does_so_for_what_he_did_or_for_what_is_complete() {
        // Task 1's request goes at once. That of task 2 waits for it, is handed over by a thread of the kernel, 9, and that asks for more.
        let records =
            [record(0, [0, 10, 20, 5000]), record(8, [100, 110, 5030, 9000]), record(24, [5010, 5012, 9030, 9900])];
        let note = |at: u64, task, what| Note { time: us(1_000_000 + at), task, what };
        let notes = [
            note(8, 1, Noted::Tagged(Lba(0))),
            note(10, 1, Noted::Inserted(Lba(0))),
            note(12, 1, Noted::Asked),
            note(13, 1, Noted::InService),
            note(20, 1, Noted::Issued(Lba(0))),
            note(24, 1, Noted::Asked),
            note(103, 2, Noted::Tagged(Lba(8))),
            note(110, 2, Noted::Inserted(Lba(8))),
            note(115, 2, Noted::Asked),
            note(5030, 9, Noted::Issued(Lba(8))),
            note(5037, 9, Noted::Asked),
            note(5038, 9, Noted::LetGo),
            note(9001, 9, Noted::Completed(Lba(8))),
            note(9004, 1, Noted::LetGo),
            note(9012, 9, Noted::LetGo),
            note(9014, 9, Noted::LetGo),
            note(9020, 9, Noted::Asked),
            note(9030, 9, Noted::Issued(Lba(24))),
            // For the exit of the last task.
            note(9910, 9, Noted::Asked),
        ];
        let seen = all(&records, us(1_000_000), &notes);
        let first = AskedAfter { inserted: ask(3, 1, Some(7)), completed: None, issued: ask(4, 0, None) };
        assert_eq!(seen[0], Seen { tagged: Some(us(8)), asked: Some(first), ..Seen::default() });
        let second = AskedAfter { inserted: ask(5, 0, None), completed: ask(20, 0, Some(10)), issued: ask(7, 0, None) };
        assert_eq!(
            seen[1],
            Seen { tagged: Some(us(103)), asked: Some(second), heard: Some(us(12)), ..Seen::default() }
        );
        assert_eq!(seen[2], Seen { asked: Some(AskedAfter::default()), ..Seen::default() });
    }

    #[test]
    fn who_asks_for_more_hands_over_what_he_got_then() {
        // Task 1 is given its own request and asks for more, which is the other's, and again, in vain, before it hands them over.
        let records = [record(0, [0, 10, 40, 5000]), record(8, [11, 12, 43, 9000])];
        let note = |at: u64, task, what| Note { time: us(at), task, what };
        let notes = [
            note(10, 1, Noted::Inserted(Lba(0))),
            note(13, 1, Noted::Asked),
            note(14, 1, Noted::InService),
            note(15, 1, Noted::Gave),
            note(16, 1, Noted::Asked),
            note(17, 1, Noted::InService),
            note(18, 1, Noted::Gave),
            // It was held up.
            note(38, 1, Noted::Asked),
            note(40, 1, Noted::Issued(Lba(0))),
            note(43, 1, Noted::Issued(Lba(8))),
            note(45, 1, Noted::Asked),
        ];
        let seen = all(&records, Nanos::ZERO, &notes);
        let again = vec![us(2), us(24)];
        let inserted = ask(4, 1, Some(26)).map(|ask| Ask { again, ..ask });
        assert_eq!(seen[0].asked, Some(AskedAfter { inserted, ..AskedAfter::default() }));
        assert_eq!(seen[0].follows, Some(us(3)));
        assert_eq!(seen[1].asked, Some(AskedAfter { issued: ask(2, 0, None), ..AskedAfter::default() }));
    }

    #[test]
    fn of_two_requests_to_one_sector_each_has_its_own() {
        let records = [record(8, [0, 10, 20, 100]), record(8, [1000, 1010, 1020, 1100])];
        let note = |at: u64, what| Note { time: us(at), task: 1, what };
        let notes = [
            note(5, Noted::Tagged(Lba(8))),
            note(10, Noted::Inserted(Lba(8))),
            note(1007, Noted::Tagged(Lba(8))),
            note(1010, Noted::Inserted(Lba(8))),
            note(1012, Noted::Asked),
        ];
        let seen = all(&records, Nanos::ZERO, &notes);
        assert_eq!([seen[0].tagged, seen[1].tagged], [5, 1007].map(|at| Some(us(at))));
        let asked = seen.iter().map(|seen| seen.asked.as_ref()?.inserted.as_ref().map(|ask| ask.after));
        assert_eq!(asked.collect::<Vec<_>>(), [None, Some(us(2))]);
    }
}
