//! [`FollowedQueue`]: a scheduler and what it holds.

use super::Event;
use iopilot_block::{Nanos, Request, RequestId, Requests};
use iopilot_sched::{AnyScheduler, Dispatch, MergeLimits, ReplayDispatch, Scheduler, retry_at};
use iopilot_trace::TraceRecord;
use std::collections::{HashMap, HashSet};

/// The limits of a loop device (`max_sectors_kb` 1280).
const LIMITS: MergeLimits = MergeLimits { max_sectors: 2560, nomerges: 0 };

/// A scheduler and the requests that it holds.
#[derive(Clone)]
pub(super) struct FollowedQueue<'a> {
    records: &'a [TraceRecord],
    pub(super) scheduler: AnyScheduler,
    requests: Requests,
    /// The request of each record in flight.
    ids: HashMap<usize, RequestId>,
    /// Requests chosen here that the kernel has not issued yet, in the order of the choices.
    pub(super) chosen: Vec<RequestId>,
    /// Requests issued by the kernel that were not chosen here yet.
    owed: HashSet<RequestId>,
    /// When the scheduler asked to be asked again.
    timer: Option<Nanos>,
    /// When the kernel runs the queue again without being asked.
    retry: Option<Nanos>,
}

impl<'a> FollowedQueue<'a> {
    /// An empty queue.
    pub(super) fn new(scheduler: AnyScheduler, records: &'a [TraceRecord]) -> Self {
        Self {
            records,
            scheduler,
            requests: Requests::new(),
            ids: HashMap::new(),
            chosen: Vec::new(),
            owed: HashSet::new(),
            timer: None,
            retry: None,
        }
    }

    /// Passes an event to the scheduler. Issues are passed by [`FollowedQueue::issued`].
    pub(super) fn apply(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Inserted(n) => self.inserted(n, now),
            Event::Completed(n) => {
                // A request that is still queued here completes when it is chosen.
                if let Some(id) = self.ids.remove(&n).filter(|id| !self.owed.contains(id)) {
                    self.finish(id, now);
                }
            }
            Event::Exited(n) => self.scheduler.process_exited(self.records[n].process.unwrap_or_default(), now),
            Event::Issued(_) => {}
        }
    }

    fn inserted(&mut self, n: usize, now: Nanos) {
        let record = &self.records[n];
        let mut rq = Request::new(record.op, record.lba, record.sectors, record.process.unwrap_or_default());
        (rq.flags, rq.priority, rq.criticality) = (record.flags, record.priority, record.criticality());
        (rq.cpu, rq.arrived, rq.inserted) = (record.cpu.unwrap_or(0), now, now);
        let id = self.requests.insert(rq);
        if self.scheduler.try_merge(&mut self.requests, id, &LIMITS, now).is_none() {
            self.ids.insert(n, id);
            self.scheduler.insert(&mut self.requests, id, now);
        }
    }

    fn finish(&mut self, id: RequestId, now: Nanos) {
        self.scheduler.completed(&mut self.requests, id, now);
        let mut next = Some(id);
        while let Some(part) = next {
            next = self.requests.next_part(part);
            self.requests.remove(part);
        }
    }

    /// Lets the scheduler choose a request. False if it chooses none.
    pub(super) fn choose(&mut self, now: Nanos) -> bool {
        self.timer = None;
        loop {
            match self.scheduler.dispatch(&mut self.requests, now) {
                Dispatch::Request(id) if self.owed.remove(&id) => {
                    if !self.ids.values().any(|&under_way| under_way == id) {
                        self.finish(id, now);
                    }
                }
                Dispatch::Request(id) => {
                    self.chosen.push(id);
                    return true;
                }
                Dispatch::WaitUntil(at) => {
                    self.timer = Some(at.max(Nanos(now.0 + 1)));
                    self.retry.get_or_insert(retry_at(now));
                    return false;
                }
                Dispatch::Empty => {
                    if self.scheduler.queued() > 0 {
                        self.retry.get_or_insert(retry_at(now));
                    }
                    return false;
                }
            }
        }
    }

    /// The next time at which to ask the scheduler, if it is not after `now`.
    pub(super) fn expire_timers(&mut self, now: Nanos) -> Option<Nanos> {
        let at = [self.timer, self.retry].into_iter().flatten().min().filter(|&at| at <= now)?;
        // When the scheduler's own timer runs the queue, that replaces the retry.
        if self.timer.take_if(|timer| *timer <= at).is_some() {
            self.retry = None;
        }
        self.retry.take_if(|retry| *retry <= at);
        Some(at)
    }

    /// After a completion the scheduler wants to be asked at `at`, and not before.
    pub(super) fn run_at(&mut self, at: Option<Nanos>) {
        self.timer = at.filter(|_| self.scheduler.queued() > 0);
    }

    /// Whether record `n` is the next one that was chosen.
    pub(super) fn is_next(&self, n: usize) -> bool {
        self.chosen.first().is_some_and(|chosen| self.ids.get(&n) == Some(chosen))
    }

    /// Makes the scheduler choose record `n`. False if it cannot follow, or does not hold the request.
    pub(super) fn follow(&mut self, n: usize, now: Nanos) -> bool {
        let queued = |id: &RequestId| !self.chosen.contains(id) && !self.owed.contains(id);
        let Some(id) = self.ids.get(&n).copied().filter(queued) else { return false };
        let followed = self.scheduler.dispatch_recorded(&mut self.requests, id, now);
        self.chosen.extend(followed.then_some(id));
        followed
    }

    /// The kernel has issued the request of record `n`, whatever was chosen here.
    pub(super) fn issued(&mut self, n: usize, now: Nanos) {
        let Some(&id) = self.ids.get(&n) else { return };
        while !self.chosen.contains(&id) && self.choose(now) {}
        match self.chosen.iter().position(|&chosen| chosen == id) {
            Some(at) => drop(self.chosen.remove(at)),
            None => drop(self.owed.insert(id)),
        }
    }
}
