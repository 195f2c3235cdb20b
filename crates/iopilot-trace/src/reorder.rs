//! [`Reorder`]: arrival order, where a format promises it only nearly.

use crate::TraceRecord;
use iopilot_block::Nanos;
use std::collections::VecDeque;

/// Holds back the last `window` records, and hands them out by arrival; those of one time in the order they came.
#[derive(Debug)]
pub(crate) struct Reorder {
    window: usize,
    held: VecDeque<TraceRecord>,
    /// The arrival of the last one handed out.
    passed: Nanos,
    /// How many had to be moved.
    pub(crate) moved: u64,
}

/// A record arrived before one that has been handed out already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLate {
    /// By how much.
    pub(crate) by: Nanos,
}

impl Reorder {
    pub(crate) fn new(window: usize) -> Self {
        Self { window, held: VecDeque::new(), passed: Nanos::ZERO, moved: 0 }
    }

    /// Takes `record` in. O(1) in order, O(window) otherwise.
    pub(crate) fn push(&mut self, record: TraceRecord) -> Result<(), TooLate> {
        if record.arrival < self.passed {
            return Err(TooLate { by: self.passed - record.arrival });
        }
        match self.held.back() {
            Some(last) if record.arrival < last.arrival => {
                let at = self.held.partition_point(|r| r.arrival <= record.arrival);
                self.held.insert(at, record);
                self.moved += 1;
            }
            _ => self.held.push_back(record),
        }
        Ok(())
    }

    /// The next one, once there are more than the window; at the end of the trace (`flush`) all.
    pub(crate) fn pop(&mut self, flush: bool) -> Option<TraceRecord> {
        if !flush && self.held.len() <= self.window {
            return None;
        }
        let record = self.held.pop_front()?;
        self.passed = record.arrival;
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    fn record(arrival: u64, lba: u64) -> TraceRecord {
        TraceRecord::new(Nanos(arrival), Op::Read, Lba(lba), Sectors(8))
    }

    fn order(window: usize, times: &[u64]) -> Result<Vec<(u64, u64)>, TooLate> {
        let mut reorder = Reorder::new(window);
        let mut out = Vec::new();
        for (i, &t) in times.iter().enumerate() {
            reorder.push(record(t, i as u64))?;
            out.extend(std::iter::from_fn(|| reorder.pop(false)));
        }
        out.extend(std::iter::from_fn(|| reorder.pop(true)));
        Ok(out.iter().map(|r| (r.arrival.0, r.lba.0)).collect())
    }

    #[test]
    fn sorts_within_the_window_and_keeps_ties() {
        assert_eq!(order(2, &[5, 3, 5, 4, 9]).unwrap(), [(3, 1), (4, 3), (5, 0), (5, 2), (9, 4)]);
    }

    #[test]
    fn refuses_what_is_beyond_the_window() {
        assert_eq!(order(0, &[5, 5, 3]), Err(TooLate { by: Nanos(2) }));
        assert_eq!(order(1, &[5, 6, 7, 3]), Err(TooLate { by: Nanos(3) }));
        assert!(order(0, &[1, 1, 2]).is_ok());
    }
}
