//! [`RequestWindow`]: the requests that completed since the last check.

use iopilot_block::Nanos;
use iopilot_trace::TraceRecord;

/// The latest requests that completed since the last check, and how many completed in all. A check tries candidates on
/// the latest only, so older ones are dropped.
#[derive(Clone, Debug)]
pub(crate) struct RequestWindow {
    records: Vec<TraceRecord>,
    /// How many are kept at least; up to twice as many are.
    kept: usize,
    left_out: u64,
}

impl RequestWindow {
    /// Keeps the latest `kept`, at least one.
    pub(crate) fn new(kept: usize) -> Self {
        Self { records: Vec::new(), kept: kept.max(1), left_out: 0 }
    }

    pub(crate) fn add(&mut self, records: impl Iterator<Item = TraceRecord>) {
        for record in records {
            if self.records.len() == 2 * self.kept {
                self.records.drain(..self.kept);
                self.left_out += self.kept as u64;
            }
            self.records.push(record);
        }
    }

    /// The kept requests, in order of arrival.
    pub(crate) fn records(&mut self) -> &[TraceRecord] {
        self.records.sort_by_key(|record| record.arrival);
        &self.records
    }

    /// How many are not kept.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Drops the kept requests, but still counts them.
    pub(crate) fn forget(&mut self) {
        self.left_out += self.records.len() as u64;
        self.records.clear();
    }

    /// Drops the requests that arrived before `time`, but still counts them.
    pub(crate) fn forget_before(&mut self, time: Nanos) {
        let kept = self.records.len();
        self.records.retain(|record| record.arrival >= time);
        self.left_out += (kept - self.records.len()) as u64;
    }

    /// Counts `count` requests that were not captured.
    pub(crate) fn leave_out(&mut self, count: u64) {
        self.left_out += count;
    }

    /// How many completed.
    pub(crate) fn count(&self) -> u64 {
        self.left_out + self.records.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Empties it; its memory is kept.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.left_out = 0;
    }

    /// Takes the whole window, and leaves an empty one.
    pub(crate) fn take(&mut self) -> Self {
        let kept = self.kept;
        std::mem::replace(self, Self::new(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    fn records(numbers: std::ops::Range<u64>) -> impl Iterator<Item = TraceRecord> {
        numbers.map(|n| TraceRecord::new(Nanos(n), Op::Read, Lba(n), Sectors(8)))
    }

    #[test]
    fn the_latest_are_kept_and_all_are_counted() {
        let mut window = RequestWindow::new(10);
        for (end, first) in [(20, 0), (21, 10), (30, 10), (31, 20), (1005, 990)] {
            window.clear();
            window.add(records(0..end));
            assert_eq!(window.records()[0].arrival, Nanos(first), "after {end}");
            assert_eq!(window.records().last().unwrap().arrival, Nanos(end - 1));
            assert_eq!(window.count(), end);
        }
        window.leave_out(1000);
        assert_eq!((window.count(), window.left_out(), window.records().len()), (2005, 1990, 15));
        window.forget_before(Nanos(1000));
        assert_eq!((window.count(), window.records().len()), (2005, 5));
        window.forget();
        assert_eq!((window.count(), window.records().len()), (2005, 0));
    }

    #[test]
    fn requests_are_sorted_by_arrival() {
        let mut window = RequestWindow::new(10);
        window.add(records(3..5).chain(records(0..2)));
        assert_eq!(window.records().iter().map(|r| r.arrival.0).collect::<Vec<_>>(), [0, 1, 3, 4]);
    }

    #[test]
    fn what_was_taken_is_gone() {
        let mut window = RequestWindow::new(10);
        window.add(records(0..35));
        let mut taken = window.take();
        assert_eq!((taken.left_out(), taken.records().len()), (20, 15));
        assert!(window.is_empty() && window.left_out() == 0);
    }
}
