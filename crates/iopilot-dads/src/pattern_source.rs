//! [`PatternSource`]: a source that repeats a [`WindowPattern`] without end.

use crate::pattern::WindowPattern;
use iopilot_block::{Lba, Nanos, ProcessId};
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

#[derive(Clone, Copy, Debug)]
struct Process {
    /// The index of its next request, and the round it is in.
    next: usize,
    round: u32,
    /// Requests that it waits for.
    outstanding: u32,
    /// Requests for which it sleeps until it gets a tag.
    refused: u32,
    /// When it issues its next request; `None` while it waits.
    due: Option<Nanos>,
    /// Whether it slept for a tag, so that its requests since then are late; and when its last request was ready.
    held_back: bool,
    ready: Nanos,
    /// How many of the requests that it has issued are ones that it waits for.
    blocking: usize,
}

/// Repeats the requests of every process, each at its own pace.
#[derive(Debug)]
pub(crate) struct PatternSource<'a> {
    pattern: &'a WindowPattern,
    processes: Vec<Process>,
    by_id: HashMap<ProcessId, usize>,
    /// When each process issues its next request. It may hold entries that were replaced, but never at the front.
    ///
    /// Not an [`EventQueue`](iopilot_block::EventQueue): processes that are due at one time go in the order of the
    /// window, not of insertion, and results depend on that.
    due: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// For each handle: the index of the process, and the index of the request in its pattern.
    issued: Vec<(u32, u32)>,
    /// For each handle: when its process would have issued it, had it not slept for a tag.
    ready: Vec<Nanos>,
    /// For each process: when the requests that it waits for were complete.
    completions: Vec<Vec<Nanos>>,
    /// Whether the source has ended.
    over: bool,
    /// How many processes wait now: they neither think nor have a request to issue. `waited` is their total time until
    /// `until`.
    waiting: u64,
    waited: Nanos,
    until: Nanos,
}

impl<'a> PatternSource<'a> {
    /// A source that starts at `start`.
    pub(crate) fn new(pattern: &'a WindowPattern, start: Nanos) -> Self {
        let state = Process {
            next: 0,
            round: 0,
            outstanding: 0,
            refused: 0,
            due: None,
            held_back: false,
            ready: start,
            blocking: 0,
        };
        let by_id = pattern.processes.iter().enumerate().map(|(p, pattern)| (pattern.process, p)).collect();
        let mut source = Self {
            pattern,
            processes: vec![state; pattern.processes.len()],
            by_id,
            due: BinaryHeap::new(),
            issued: Vec::new(),
            ready: Vec::new(),
            completions: vec![Vec::new(); pattern.processes.len()],
            over: false,
            waiting: pattern.processes.iter().filter(|process| process.waits).count() as u64,
            waited: Nanos::ZERO,
            until: start,
        };
        (0..pattern.processes.len()).for_each(|p| source.schedule_next(p, start));
        source
    }

    /// The total time that processes have waited by `now`, for completions or for a tag.
    pub(crate) fn waited(&mut self, now: Nanos) -> Nanos {
        self.waited += Nanos(self.waiting * now.since(self.until).0);
        self.until = self.until.max(now);
        self.waited
    }

    /// Process `p` begins to think, until `due`, or to wait.
    fn set_due(&mut self, p: usize, due: Option<Nanos>, now: Nanos) {
        self.waited(now);
        let state = &mut self.processes[p];
        if self.pattern.processes[p].waits {
            self.waiting += u64::from(due.is_none() && state.due.is_some());
            self.waiting -= u64::from(due.is_some() && state.due.is_none());
        }
        state.due = due;
    }

    /// Ends the source. Returns, for each handle, the index of its request in the window, and when its process would
    /// have issued it, had it not slept for a tag.
    pub(crate) fn end(&mut self) -> Vec<(usize, Nanos)> {
        self.over = true;
        self.due.clear();
        let record = |&(p, n): &(u32, u32)| self.pattern.processes[p as usize].requests[n as usize].record;
        self.issued.iter().map(record).zip(self.ready.iter().copied()).collect()
    }

    /// When process `p` would have issued its next request, which it issues at `at`, had it not slept for a tag. The
    /// rule is that of [`ready_times`](crate::tag_waits::ready_times).
    fn next_ready(&mut self, p: usize, at: Nanos) -> Nanos {
        let process = &self.pattern.processes[p];
        let state = &mut self.processes[p];
        let request = &process.requests[state.next];
        let mut ready = at;
        if state.held_back && request.blocking {
            let needed = state.blocking.checked_sub(request.outstanding_limit as usize + 1);
            let eligible = needed.and_then(|n| self.completions[p].get(n)).copied().unwrap_or_default();
            let think = if state.next == 0 && state.round > 0 { process.pause } else { request.think };
            ready = at.min(eligible.max(state.ready).saturating_add(think));
        }
        state.held_back &= ready < at;
        state.ready = ready;
        state.blocking += usize::from(request.blocking);
        ready
    }

    /// Schedules the next request of process `p`, unless it waits.
    fn schedule_next(&mut self, p: usize, now: Nanos) {
        let process = &self.pattern.processes[p];
        let state = &self.processes[p];
        let request = &process.requests[state.next];
        if self.over || state.refused > 0 || state.due.is_some() || state.outstanding > request.outstanding_limit {
            return;
        }
        let think = if state.next == 0 && state.round > 0 { process.pause } else { request.think };
        let at = now.saturating_add(think);
        self.set_due(p, Some(at), now);
        self.due.push(Reverse((at, p)));
    }

    /// Drops replaced entries from the front of the queue.
    fn drop_replaced(&mut self) {
        while self.due.peek().is_some_and(|&Reverse((at, p))| self.processes[p].due != Some(at)) {
            self.due.pop();
        }
    }
}

impl Source for PatternSource<'_> {
    fn next_event(&self) -> Option<Nanos> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while let Some(&Reverse((at, p))) = self.due.peek() {
            if at > now {
                return;
            }
            self.due.pop();
            let ready = self.next_ready(p, at);
            let process = &self.pattern.processes[p];
            let state = &mut self.processes[p];
            let request = &process.requests[state.next];
            let room = self.pattern.capacity.saturating_sub(u64::from(request.arrival.sectors.0)).max(1);
            let offset = process.step * i64::from(state.round);
            let lba = Lba((request.arrival.lba.0 as i64 + offset).rem_euclid(room as i64) as u64);
            let handle = SourceHandle(self.issued.len() as u64);
            self.issued.push((p as u32, state.next as u32));
            self.ready.push(ready);
            out.push(Step::Request(Arrival { lba, handle, ..request.arrival }));
            state.outstanding += u32::from(request.blocking);
            state.next += 1;
            if state.next == process.requests.len() {
                (state.next, state.round) = (0, state.round + 1);
            }
            self.set_due(p, None, now);
            self.schedule_next(p, now);
            self.drop_replaced();
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        let (p, n) = self.issued[handle.0 as usize];
        let blocking = self.pattern.processes[p as usize].requests[n as usize].blocking;
        if blocking {
            self.completions[p as usize].push(now);
            self.processes[p as usize].outstanding -= 1;
            self.schedule_next(p as usize, now);
        }
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(&p) = self.by_id.get(&process) {
            self.processes[p].refused += 1;
            self.processes[p].held_back = true;
            self.set_due(p, None, now);
            self.drop_replaced();
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(&p) = self.by_id.get(&process) {
            self.processes[p].refused -= 1;
            self.schedule_next(p, now);
        }
    }

    fn goes_on(&self, handle: SourceHandle, by: Nanos) -> Option<Nanos> {
        let (p, _) = self.issued[handle.0 as usize];
        self.processes[p as usize].due.filter(|at| *at <= by)
    }

    fn thinks_from_block_layer(&self) -> bool {
        true
    }
}
