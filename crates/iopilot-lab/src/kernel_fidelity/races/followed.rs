//! [`Followed`]: the wait queues of `sbitmap`, followed through a recording under `none`.

use super::super::race::{AT_ONCE, BACK};
use super::{RESTS_US, Races, Tally};
use iopilot_block::{Nanos, ProcessId};
use iopilot_sim::TagOdds;
use iopilot_trace::TraceRecord;
use std::collections::{HashMap, VecDeque};

/// Wait queues of Linux 6 (`SBQ_WAIT_QUEUES`).
pub(super) const QUEUES: usize = 8;

/// What happens to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Completed,
    /// Its task finds no tag.
    Asleep,
    Issued,
}

/// How many of a recording's requests had tags, by time.
struct Taken {
    steps: Vec<(Nanos, u32)>,
    most: u32,
}

impl Taken {
    fn by(records: &[TraceRecord]) -> Self {
        let ends = records.iter().filter_map(|r| Some((r.completion?, false)));
        let mut changes: Vec<_> = records.iter().filter_map(|r| Some((r.issue?, true))).chain(ends).collect();
        changes.sort_unstable();
        let mut taken = 0_u32;
        let step = |(at, more): (Nanos, bool)| {
            taken = if more { taken + 1 } else { taken.saturating_sub(1) };
            (at, taken)
        };
        let steps: Vec<_> = changes.into_iter().map(step).collect();
        let most = steps.iter().map(|step| step.1).max().unwrap_or_default();
        Self { steps, most }
    }

    /// Whether all were, at any time from `from` until before `to`.
    fn all_taken(&self, from: Nanos, to: Nanos) -> bool {
        let first = self.steps.partition_point(|&(at, _)| at <= from).saturating_sub(1);
        let last = self.steps.partition_point(|&(at, _)| at < to);
        self.steps.get(first..last).is_some_and(|steps| steps.iter().any(|&(_, taken)| taken == self.most))
    }
}

/// What happens to `records`, in order.
pub(super) fn events(records: &[TraceRecord]) -> Vec<(Event, usize)> {
    let taken = Taken::by(records);
    // A task may be slow to take a free tag, too.
    let slept = |r: &TraceRecord| {
        r.issue.is_none_or(|issue| issue.since(r.arrival) >= AT_ONCE && taken.all_taken(r.arrival, issue))
    };
    let mut all: Vec<(Nanos, Event, usize)> = Vec::with_capacity(3 * records.len());
    for (n, r) in records.iter().enumerate() {
        all.extend(r.completion.map(|at| (at, Event::Completed, n)));
        all.extend(slept(r).then_some((r.arrival, Event::Asleep, n)));
        all.extend(r.issue.map(|at| (at, Event::Issued, n)));
    }
    all.sort_unstable();
    // Who gets a tag takes its turn for a bed before it looks: who finds none because of that lies down after it, though its request is
    // recorded earlier than the other's hand-over.
    for at in 1..all.len() {
        let (time, event, n) = all[at];
        let woken = event == Event::Issued && slept(&records[n]);
        let before = all[at - 1];
        if woken && before.1 == Event::Asleep && time.since(before.0) < AT_ONCE {
            all.swap(at - 1, at);
        }
    }
    all.into_iter().map(|(_, event, n)| (event, n)).collect()
}

/// A sleeper that has been called, and the record whose completion called it.
#[derive(Clone, Copy, Debug)]
struct Call {
    sleeper: usize,
    behind: usize,
    rest: usize,
}

/// The queues, and what was told by them.
pub(super) struct Followed<'a> {
    records: &'a [TraceRecord],
    heard_on: u16,
    /// The next record of the same task.
    next: Vec<Option<usize>>,
    beds: [VecDeque<usize>; QUEUES],
    next_bed: usize,
    next_call: usize,
    /// Whose outcome is open, and how many tags are free for them.
    calls: Vec<Call>,
    free: usize,
    /// Who lay down last because it had lost, and which bed was the next then.
    lay_down: Option<(usize, usize)>,
    lost: HashMap<Option<ProcessId>, usize>,
    pub(super) races: Races,
    last: Nanos,
    /// Sleepers that got a tag when they had been called, and when they had not.
    pub(super) called: u32,
    pub(super) uncalled: u32,
}

impl<'a> Followed<'a> {
    pub(super) fn through(records: &'a [TraceRecord], events: &[(Event, usize)], heard_on: u16, first: usize) -> Self {
        let mut next = vec![None; records.len()];
        let mut last = HashMap::new();
        for (n, r) in records.iter().enumerate() {
            if let Some(before) = last.insert(r.process, n) {
                next[before] = Some(n);
            }
        }
        let mut followed = Self {
            records,
            heard_on,
            next,
            beds: Default::default(),
            next_bed: 0,
            next_call: first,
            calls: Vec::new(),
            free: 0,
            lay_down: None,
            lost: HashMap::new(),
            races: Races::default(),
            last: Nanos::ZERO,
            called: 0,
            uncalled: 0,
        };
        for &(event, n) in events {
            match event {
                Event::Completed => followed.call(n),
                Event::Asleep => followed.bed().push_back(n),
                Event::Issued => followed.issued(n),
            }
        }
        followed
    }

    /// The next bed: who has it does so whether it lies down or not.
    fn bed(&mut self) -> &mut VecDeque<usize> {
        let bed = self.next_bed;
        self.next_bed = (bed + 1) % QUEUES;
        &mut self.beds[bed]
    }

    /// The record `behind` is complete.
    fn call(&mut self, behind: usize) {
        let end = self.records[behind].completion.unwrap_or_default();
        let rest = end.since(self.last).as_micros_f64();
        self.last = end;
        let rest = RESTS_US.iter().rposition(|&r| r <= rest).unwrap_or_default();
        for _ in 0..QUEUES {
            let queue = &mut self.beds[self.next_call];
            self.next_call = (self.next_call + 1) % QUEUES;
            if let Some(sleeper) = queue.pop_front() {
                self.calls.push(Call { sleeper, behind, rest });
                self.free += 1;
                return;
            }
        }
    }

    /// The record `n` has got a tag.
    fn issued(&mut self, n: usize) {
        let raced = !self.calls.is_empty();
        if let Some(at) = self.calls.iter().position(|call| call.sleeper == n) {
            let call = self.calls.remove(at);
            self.called += 1;
            self.bed();
            self.count(call, false);
            self.lost.remove(&self.records[n].process);
        } else if raced && self.lay_down == Some((n, self.next_bed)) {
            self.was_late(n);
        } else if let Some(bed) = self.beds.iter_mut().find(|bed| bed.contains(&n)) {
            bed.retain(|&sleeper| sleeper != n);
            self.uncalled += 1;
            self.bed();
            self.lost.remove(&self.records[n].process);
        }
        if raced {
            self.free -= 1;
            self.settle();
        }
    }

    /// It was said to have lost, but had not looked: it does now, and who was called since has lost.
    fn was_late(&mut self, n: usize) {
        self.next_bed = (self.next_bed + QUEUES - 1) % QUEUES;
        self.beds[self.next_bed].pop_back();
        self.lost.remove(&self.records[n].process);
        let loser = self.calls.remove(0).sleeper;
        self.lose(loser);
        self.bed();
    }

    /// Where no tag is left, whoever was called and has none has lost.
    fn settle(&mut self) {
        if self.free > 0 {
            return;
        }
        let mut calls = std::mem::take(&mut self.calls);
        for call in calls.drain(..) {
            self.count(call, true);
            self.lose(call.sleeper);
            self.lay_down = Some((call.sleeper, self.next_bed));
        }
        self.calls = calls;
    }

    fn lose(&mut self, sleeper: usize) {
        *self.lost.entry(self.records[sleeper].process).or_default() += 1;
        self.bed().push_back(sleeper);
    }

    fn count(&mut self, call: Call, kept: bool) {
        let (sleeper, behind) = (&self.records[call.sleeper], &self.records[call.behind]);
        let back = self.next[call.behind].map(|n| &self.records[n]);
        let soon = |r: &&TraceRecord| behind.completion.is_some_and(|end| r.arrival.since(end) <= BACK);
        // A task that is not back by then does not race.
        let Some(back) = back.filter(soon) else { return };
        let away = sleeper.cpu != Some(self.heard_on);
        let lost = self.lost.get(&sleeper.process).copied().unwrap_or_default().min(TagOdds::TIMES - 1);
        let told = &mut self.races.0[call.rest];
        let tally = if back.cpu != Some(self.heard_on) {
            &mut told.gone[usize::from(away)]
        } else if away {
            &mut told.away[lost]
        } else {
            &mut told.here[lost]
        };
        let slept = behind.issue.is_some_and(|issue| issue.since(behind.arrival) >= AT_ONCE);
        tally[usize::from(slept)] += Tally::one(kept);
    }
}
