//! [`Closed`]: a fixed number of requests is always outstanding.

use super::ReplayRecord;
use crate::{Source, SourceHandle, Step};
use iopilot_block::{Nanos, ProcessId};
use std::borrow::Borrow;

/// The next request arrives when one completes, so that `population` are always outstanding.
#[derive(Clone, Debug)]
pub struct Closed<R> {
    records: R,
    next: usize,
    /// The number of requests that may arrive now, and since when.
    permits: usize,
    since: Nanos,
}

impl<R: Borrow<[ReplayRecord]>> Closed<R> {
    /// Replays `records` in their order with `population` outstanding; at least one.
    pub fn new(records: R, population: u32) -> Self {
        Self { records, next: 0, permits: population.max(1) as usize, since: Nanos::ZERO }
    }
}

impl<R: Borrow<[ReplayRecord]>> Source for Closed<R> {
    fn next_event(&self) -> Option<Nanos> {
        (self.permits > 0 && self.next < self.records.borrow().len()).then_some(self.since)
    }

    fn advance(&mut self, _: Nanos, out: &mut Vec<Step>) {
        let records = &self.records.borrow()[self.next..];
        let n = self.permits.min(records.len());
        out.extend(records[..n].iter().zip(self.next as u64..).map(|(r, n)| Step::Request(r.arrival(SourceHandle(n)))));
        self.next += n;
        self.permits -= n;
    }

    fn completed(&mut self, _: SourceHandle, now: Nanos) {
        self.permits += 1;
        self.since = now;
    }

    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}

    fn is_serial(&self) -> bool {
        false
    }
}
