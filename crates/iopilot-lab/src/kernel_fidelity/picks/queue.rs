//! [`Queue`]: a scheduler and what it holds.

use super::Event;
use iopilot_block::{Nanos, Request, RequestId, Requests};
use iopilot_sched::{AnyScheduler, Bfq, Dispatch, MergeLimits, Scheduler, retry_at};
use iopilot_trace::TraceRecord;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Those of a loop device (`max_sectors_kb` 1280).
const LIMITS: MergeLimits = MergeLimits { max_sectors: 2560, nomerges: 0 };
/// By how much the clock of whoever tells bfq something may differ from what a recording says: it stands still while a task
/// submits, and choices are made shortly before or after they are recorded.
const CLOCK_NS: i64 = 30_000;

/// A scheduler with what it holds.
#[derive(Clone)]
pub(super) struct Queue<'a> {
    records: &'a [TraceRecord],
    pub(super) scheduler: AnyScheduler,
    requests: Requests,
    /// The request of each record that is under way.
    pub(super) ids: HashMap<usize, RequestId>,
    /// Chosen here, and not issued by the kernel yet.
    pub(super) pulled: Vec<RequestId>,
    /// Issued by the kernel, and not chosen here yet.
    owed: HashSet<RequestId>,
    /// When it asked to be asked again.
    pub(super) timer: Option<Nanos>,
    /// When the kernel asks it again of itself.
    pub(super) retry: Option<Nanos>,
}

impl<'a> Queue<'a> {
    /// One that holds nothing yet.
    pub(super) fn new(scheduler: AnyScheduler, records: &'a [TraceRecord]) -> Self {
        Self {
            records,
            scheduler,
            requests: Requests::new(),
            ids: HashMap::new(),
            pulled: Vec::new(),
            owed: HashSet::new(),
            timer: None,
            retry: None,
        }
    }

    /// Tells the scheduler what happened.
    pub(super) fn apply(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Inserted(n) => self.inserted(n, now),
            Event::Completed(n) => {
                // What is still queued here completes when it is chosen.
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

    /// Has it choose one; `None` where it does not want to.
    pub(super) fn pull(&mut self, now: Nanos) -> Option<RequestId> {
        self.timer = None;
        loop {
            match self.scheduler.dispatch(&mut self.requests, now) {
                Dispatch::Request(id) if self.owed.remove(&id) => {
                    if !self.ids.values().any(|&under_way| under_way == id) {
                        self.finish(id, now);
                    }
                }
                Dispatch::Request(id) => {
                    self.pulled.push(id);
                    return Some(id);
                }
                Dispatch::WaitUntil(at) => {
                    self.timer = Some(at.max(Nanos(now.0 + 1)));
                    self.retry.get_or_insert(retry_at(now));
                    return None;
                }
                Dispatch::Empty => {
                    if self.scheduler.queued() > 0 {
                        self.retry.get_or_insert(retry_at(now));
                    }
                    return None;
                }
            }
        }
    }

    /// When it is asked next, if nothing happens.
    pub(super) fn next_timer(&self) -> Option<Nanos> {
        [self.timer, self.retry].into_iter().flatten().min()
    }

    /// Whether clocks decide what it does.
    pub(super) fn is_bfq(&self) -> bool {
        matches!(self.scheduler, AnyScheduler::Bfq(_))
    }

    fn bfq(&mut self) -> Option<&mut Bfq> {
        match &mut self.scheduler {
            AnyScheduler::Bfq(bfq) => Some(bfq),
            _ => None,
        }
    }

    /// The same for two bfq that go on alike.
    pub(super) fn digest(&self) -> Option<u64> {
        let AnyScheduler::Bfq(bfq) = &self.scheduler else { return None };
        let mut digest = DefaultHasher::new();
        bfq.digest(&mut digest);
        self.pulled.hash(&mut digest);
        Some(digest.finish())
    }

    /// Does `act` at `now`; and what it may have come to instead, where the clock of whoever acted decides what bfq charges a queue.
    pub(super) fn either<R>(&mut self, now: Nanos, act: impl Fn(&mut Self) -> R) -> Vec<Self> {
        if self.bfq().is_none_or(|bfq| bfq.clock_margin(now) > CLOCK_NS) {
            act(self);
            return Vec::new();
        }
        let before = self.clone();
        act(self);
        let charged = self.bfq().map(|bfq| bfq.charged_for_time());
        let otherwise = |error: i64| {
            let mut other = before.clone();
            other.bfq()?.clock_error(error);
            act(&mut other);
            let bfq = other.bfq()?;
            bfq.clock_error(0);
            (Some(bfq.charged_for_time()) != charged).then_some(other)
        };
        [-CLOCK_NS, CLOCK_NS].into_iter().filter_map(otherwise).collect()
    }

    /// Has bfq or kyber choose record `n`; false where it is neither, or does not hold it.
    pub(super) fn steer(&mut self, n: usize, now: Nanos) -> bool {
        let Some(&id) = self.ids.get(&n).filter(|id| !self.pulled.contains(id) && !self.owed.contains(id)) else {
            return false;
        };
        match &mut self.scheduler {
            AnyScheduler::Bfq(bfq) => bfq.steer(&self.requests, id, now),
            AnyScheduler::Kyber(kyber) => kyber.steer(&self.requests, id),
            _ => return false,
        }
        self.pull(now) == Some(id)
    }

    /// The device has the request of record `n`, whatever was chosen here.
    pub(super) fn issued(&mut self, n: usize, now: Nanos) {
        let Some(&id) = self.ids.get(&n) else { return };
        while !self.pulled.contains(&id) && self.pull(now).is_some() {}
        match self.pulled.iter().position(|&p| p == id) {
            Some(at) => drop(self.pulled.remove(at)),
            None => drop(self.owed.insert(id)),
        }
    }
}
