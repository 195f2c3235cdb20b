//! A test bench for one scheduler: submit, take, complete, with the block layer's protocol.

use crate::{Dispatch, MergeLimits, Scheduler};
use iopilot_block::{IoPriority, Lba, Nanos, Op, PriorityClass, ProcessId, Request, RequestId, Requests, Sectors};

/// A scheduler with its requests and a clock the test moves.
pub(crate) struct Bench<S> {
    pub(crate) scheduler: S,
    pub(crate) rqs: Requests,
    pub(crate) now: Nanos,
}

impl<S: Scheduler> Bench<S> {
    pub(crate) fn new(scheduler: S) -> Self {
        Self { scheduler, rqs: Requests::new(), now: Nanos::ZERO }
    }

    pub(crate) fn set(&mut self, name: &str, value: f64) {
        self.scheduler.set(name, value).expect("tests set what exists");
    }

    /// A request of process 1.
    pub(crate) fn request(&self, op: Op, lba: u64, sectors: u32) -> Request {
        let mut rq = Request::new(op, Lba(lba), Sectors(sectors), ProcessId(1));
        (rq.arrived, rq.inserted) = (self.now, self.now);
        rq
    }

    /// Submits; whether it merged. The answer of a merge that coalesced is checked for consistency.
    pub(crate) fn put(&mut self, rq: Request) -> bool {
        let id = self.rqs.insert(rq);
        let merged = self.scheduler.try_merge(&mut self.rqs, id, &MergeLimits::default(), self.now);
        match merged {
            Some(merged) => assert_ne!(merged.host, id, "a request does not merge with itself"),
            None => self.scheduler.insert(&mut self.rqs, id, self.now),
        }
        merged.is_some()
    }

    pub(crate) fn submit(&mut self, op: Op, lba: u64, class: PriorityClass) {
        let mut rq = self.request(op, lba, 1);
        rq.priority = IoPriority { class, level: 4 };
        rq.flags |= iopilot_block::Flags::NO_MERGE;
        self.put(rq);
    }

    pub(crate) fn submit_sectors(&mut self, op: Op, lba: u64, sectors: u32) -> bool {
        let rq = self.request(op, lba, sectors);
        self.put(rq)
    }

    /// One sector that never merges.
    pub(crate) fn read(&mut self, lba: u64) {
        self.submit(Op::Read, lba, PriorityClass::None);
    }

    /// One sector that never merges.
    pub(crate) fn write(&mut self, lba: u64) {
        self.submit(Op::Write, lba, PriorityClass::None);
    }

    pub(crate) fn dispatch(&mut self) -> Option<RequestId> {
        match self.scheduler.dispatch(&mut self.rqs, self.now) {
            Dispatch::Request(id) => {
                self.rqs[id].issued = self.now;
                Some(id)
            }
            _ => None,
        }
    }

    pub(crate) fn complete(&mut self, id: RequestId) {
        self.scheduler.completed(&mut self.rqs, id, self.now);
    }

    /// Dispatches and completes up to `n`, one at a time; where they started.
    pub(crate) fn take(&mut self, n: usize) -> Vec<u64> {
        let mut order = Vec::new();
        while order.len() < n {
            let Some(id) = self.dispatch() else { break };
            order.push(self.rqs[id].lba.0);
            self.complete(id);
        }
        order
    }

    /// As [`Bench::take`], from one hardware queue.
    pub(crate) fn take_from(&mut self, queue: usize, n: usize) -> Vec<u64> {
        let mut order = Vec::new();
        while order.len() < n {
            let Dispatch::Request(id) = self.scheduler.dispatch_queue(&mut self.rqs, queue, self.now) else { break };
            self.rqs[id].issued = self.now;
            order.push(self.rqs[id].lba.0);
            self.complete(id);
        }
        order
    }
}
