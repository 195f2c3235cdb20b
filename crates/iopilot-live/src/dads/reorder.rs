//! [`ReorderBuffer`]: what completes in any order, in order of arrival.

use iopilot_block::Nanos;
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;

/// Holds requests until all that arrived before them are there, or have had their time.
#[derive(Debug, Default)]
pub(super) struct ReorderBuffer {
    /// By arrival; and by number, of those that arrived at one time.
    held: BTreeMap<(Nanos, u64), TraceRecord>,
    next: u64,
    /// What arrived before this has been told.
    told: Nanos,
}

impl ReorderBuffer {
    /// Takes a request in. One that arrived before what has been told comes too late, and is left out. O(log n) in those held.
    pub(super) fn put(&mut self, record: &TraceRecord) {
        if record.arrival >= self.told {
            self.held.insert((record.arrival, self.next), record.clone());
            self.next += 1;
        }
    }

    /// Tells those that arrived before `until`.
    pub(super) fn tell(&mut self, until: Nanos, mut sink: impl FnMut(&TraceRecord)) {
        self.told = self.told.max(until);
        while let Some(first) = self.held.first_entry().filter(|first| first.key().0 < until) {
            sink(&first.remove());
        }
    }

    /// Forgets all; what arrives from now on is told.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    #[test]
    fn who_is_much_too_late_is_left_out() {
        let record = |arrival| TraceRecord::new(Nanos(arrival), Op::Read, Lba(arrival), Sectors(8));
        let mut order = ReorderBuffer::default();
        let tell = |order: &mut ReorderBuffer, until| {
            let mut told = Vec::new();
            order.tell(Nanos(until), |r| told.push(r.arrival.0));
            told
        };
        [5, 3, 3, 9].iter().for_each(|&at| order.put(&record(at)));
        assert_eq!(tell(&mut order, 5), [3, 3]);
        [4, 5, 7].iter().for_each(|&at| order.put(&record(at)));
        assert_eq!(tell(&mut order, 100), [5, 5, 7, 9]);
        order.put(&record(101));
        order.clear();
        assert!(tell(&mut order, 200).is_empty());
    }
}
