//! [`ReorderBuffer`]: puts completed requests into order of arrival.

use iopilot_block::Nanos;
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;

/// Holds requests back until earlier ones can no longer come.
#[derive(Debug, Default)]
pub(super) struct ReorderBuffer {
    /// By arrival, then by number.
    held: BTreeMap<(Nanos, u64), TraceRecord>,
    next: u64,
    /// Requests that arrived before this have been released.
    released: Nanos,
}

impl ReorderBuffer {
    /// Takes a request. One that should have been released already is dropped. O(log n) in those held.
    pub(super) fn insert(&mut self, record: &TraceRecord) {
        if record.arrival >= self.released {
            self.held.insert((record.arrival, self.next), record.clone());
            self.next += 1;
        }
    }

    /// Passes the requests that arrived before `until` to `sink`.
    pub(super) fn release_before(&mut self, until: Nanos, mut sink: impl FnMut(&TraceRecord)) {
        self.released = self.released.max(until);
        while let Some(first) = self.held.first_entry().filter(|first| first.key().0 < until) {
            sink(&first.remove());
        }
    }

    /// Drops all held requests.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    #[test]
    fn a_request_that_is_too_late_is_dropped() {
        let record = |arrival| TraceRecord::new(Nanos(arrival), Op::Read, Lba(arrival), Sectors(8));
        let mut order = ReorderBuffer::default();
        let release = |order: &mut ReorderBuffer, until| {
            let mut released = Vec::new();
            order.release_before(Nanos(until), |r| released.push(r.arrival.0));
            released
        };
        [5, 3, 3, 9].iter().for_each(|&at| order.insert(&record(at)));
        assert_eq!(release(&mut order, 5), [3, 3]);
        [4, 5, 7].iter().for_each(|&at| order.insert(&record(at)));
        assert_eq!(release(&mut order, 100), [5, 5, 7, 9]);
        order.insert(&record(101));
        order.clear();
        assert!(release(&mut order, 200).is_empty());
    }
}
