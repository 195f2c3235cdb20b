//! [`Open`]: requests arrive at their recorded times.

use super::ReplayRecord;
use crate::{Source, SourceHandle, Step};
use iopilot_block::{Nanos, ProcessId};
use std::borrow::Borrow;

/// Requests arrive at their recorded times, whether or not earlier ones are complete.
#[derive(Clone, Debug)]
pub struct Open<R> {
    records: R,
    next: usize,
    /// Whether the records name processes. If so, a process' requests are submitted one after the other.
    serial: bool,
}

impl<R: Borrow<[ReplayRecord]>> Open<R> {
    /// Replays `records`, which are in order of arrival.
    pub fn new(records: R) -> Self {
        let serial = records.borrow().iter().any(|r| r.process != ProcessId(0));
        Self { records, next: 0, serial }
    }
}

impl<R: Borrow<[ReplayRecord]>> Source for Open<R> {
    fn next_event(&self) -> Option<Nanos> {
        self.records.borrow().get(self.next).map(|r| r.arrival)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while let Some(record) = self.records.borrow().get(self.next).filter(|r| r.arrival <= now) {
            out.push(Step::Request(record.arrival(SourceHandle(self.next as u64))));
            self.next += 1;
        }
    }

    fn completed(&mut self, _: SourceHandle, _: Nanos) {}

    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}

    fn goes_on(&self, handle: SourceHandle, by: Nanos) -> Option<Nanos> {
        if !self.serial {
            return None;
        }
        let records = self.records.borrow();
        let process = records[handle.0 as usize].process;
        let mut soon = records[self.next..].iter().take_while(|r| r.arrival <= by);
        let next = soon.find(|r| r.process == process)?;
        records[handle.0 as usize].may_share_plug(next).then_some(next.arrival)
    }

    fn is_serial(&self) -> bool {
        self.serial
    }
}
