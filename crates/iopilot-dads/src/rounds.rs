//! [`Rounds`]: the processes of a window at work, again and again.

use crate::habits::Habits;
use iopilot_block::{Lba, Nanos, ProcessId};
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

#[derive(Clone, Copy, Debug)]
struct Process {
    /// Its next request, and in which round.
    next: usize,
    round: u32,
    /// Those it waits for.
    outstanding: u32,
    /// Those that were refused admission.
    refused: u32,
    due: Option<Nanos>,
}

/// The processes at work: each its round again and again, at its own pace.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    habits: &'a Habits,
    processes: Vec<Process>,
    by_id: HashMap<ProcessId, usize>,
    /// When each process issues its next request. May hold what is no longer due, but not as the first.
    ///
    /// Not an [`EventQueue`](iopilot_block::EventQueue): processes that are due at one time go in the order of the window,
    /// not of insertion, and that shows in results.
    due: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// The process of each request, and which of its turns it was: by handle.
    issued: Vec<(u32, u32)>,
    /// Whether no more are to come.
    over: bool,
    /// Processes that wait now: they neither think nor have anything to issue. And for how long any have, until when.
    waiting: u64,
    waited: Nanos,
    until: Nanos,
}

impl<'a> Rounds<'a> {
    /// A source that does it all from `start` on, without end.
    pub(crate) fn new(habits: &'a Habits, start: Nanos) -> Self {
        let state = Process { next: 0, round: 0, outstanding: 0, refused: 0, due: None };
        let by_id = habits.list.iter().enumerate().map(|(p, habit)| (habit.process, p)).collect();
        let mut rounds = Self {
            habits,
            processes: vec![state; habits.list.len()],
            by_id,
            due: BinaryHeap::new(),
            issued: Vec::new(),
            over: false,
            waiting: habits.list.iter().filter(|habit| habit.waits).count() as u64,
            waited: Nanos::ZERO,
            until: start,
        };
        (0..habits.list.len()).for_each(|p| rounds.consider(p, start));
        rounds
    }

    /// How long processes have waited by `now`, all together: for what they issued, or to be admitted.
    pub(crate) fn waited(&mut self, now: Nanos) -> Nanos {
        self.waited += Nanos(self.waiting * now.since(self.until).0);
        self.until = self.until.max(now);
        self.waited
    }

    /// Process `p` begins to wait, or to think.
    fn becomes(&mut self, p: usize, due: Option<Nanos>, now: Nanos) {
        self.waited(now);
        let state = &mut self.processes[p];
        if self.habits.list[p].waits {
            self.waiting += u64::from(due.is_none() && state.due.is_some());
            self.waiting -= u64::from(due.is_some() && state.due.is_none());
        }
        state.due = due;
    }

    /// Ends it: no more are issued. The place in the window of each request that was, by handle.
    pub(crate) fn end(&mut self) -> Vec<usize> {
        self.over = true;
        self.due.clear();
        self.issued.iter().map(|&(p, n)| self.habits.list[p as usize].turns[n as usize].record).collect()
    }

    fn consider(&mut self, p: usize, now: Nanos) {
        let habit = &self.habits.list[p];
        let state = &self.processes[p];
        let turn = &habit.turns[state.next];
        if self.over || state.refused > 0 || state.due.is_some() || state.outstanding > turn.window {
            return;
        }
        let think = if state.next == 0 && state.round > 0 { habit.pause } else { turn.think };
        let at = now.saturating_add(think);
        self.becomes(p, Some(at), now);
        self.due.push(Reverse((at, p)));
    }

    /// The first is due.
    fn tidy(&mut self) {
        while let Some(&Reverse((at, p))) = self.due.peek() {
            if self.processes[p].due == Some(at) {
                return;
            }
            self.due.pop();
        }
    }
}

impl Source for Rounds<'_> {
    fn next_event(&self) -> Option<Nanos> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while let Some(&Reverse((at, p))) = self.due.peek() {
            if at > now {
                return;
            }
            self.due.pop();
            let habit = &self.habits.list[p];
            let state = &mut self.processes[p];
            let turn = &habit.turns[state.next];
            let room = self.habits.capacity.saturating_sub(u64::from(turn.arrival.sectors.0)).max(1);
            let on = habit.step * i64::from(state.round);
            let lba = Lba((turn.arrival.lba.0 as i64 + on).rem_euclid(room as i64) as u64);
            let handle = SourceHandle(self.issued.len() as u64);
            self.issued.push((p as u32, state.next as u32));
            out.push(Step::Request(Arrival { lba, handle, ..turn.arrival }));
            state.outstanding += u32::from(turn.blocking);
            state.next += 1;
            if state.next == habit.turns.len() {
                (state.next, state.round) = (0, state.round + 1);
            }
            self.becomes(p, None, now);
            self.consider(p, now);
            self.tidy();
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        let (p, n) = self.issued[handle.0 as usize];
        let blocking = self.habits.list[p as usize].turns[n as usize].blocking;
        if blocking {
            self.processes[p as usize].outstanding -= 1;
            self.consider(p as usize, now);
        }
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(&p) = self.by_id.get(&process) {
            self.processes[p].refused += 1;
            self.becomes(p, None, now);
            self.tidy();
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(&p) = self.by_id.get(&process) {
            self.processes[p].refused -= 1;
            self.consider(p, now);
        }
    }

    fn thinks_from_block_layer(&self) -> bool {
        true
    }
}
