//! [`Reorder`]: sorts records that are slightly out of arrival order.

use crate::TraceRecord;
use iopilot_block::{InputError, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// Holds back the last `limit` records and returns them in arrival order. Records of one time keep their order.
#[derive(Debug)]
pub(crate) struct Reorder {
    limit: usize,
    held: VecDeque<TraceRecord>,
    /// The arrival of the last one returned.
    last_returned: Nanos,
    /// How many records were moved.
    pub(crate) moved: u64,
}

/// A record arrived before one that has been returned already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLate {
    /// By how much.
    pub(crate) by: Nanos,
}

impl TooLate {
    /// The message to the user, where records may be late by `limit` places.
    pub(crate) fn error(&self, limit: usize) -> InputError {
        let expected = match limit {
            0 => "times that do not go back (--reorder puts late records in their place)".to_owned(),
            1 => "times that go back by at most 1 record (--reorder=N allows more)".to_owned(),
            n => format!("times that go back by at most {n} records (--reorder=N allows more)"),
        };
        InputError::new("time", format!("{} before an earlier record", self.by), expected)
    }
}

/// Checks that times do not go back on any CPU: each records its events one after the other.
#[derive(Debug, Default)]
pub(crate) struct CpuOrder {
    /// The last time of each CPU of each device. There are few, so the tree is usually one node.
    last: BTreeMap<(u32, u32), Nanos>,
}

impl CpuOrder {
    /// An event of `cpu` on `device` at `time`.
    pub(crate) fn check(&mut self, device: u32, cpu: u32, time: Nanos) -> Result<(), InputError> {
        let last = self.last.entry((device, cpu)).or_insert(time);
        if time < *last {
            let got = format!("{} before an earlier event of CPU {cpu}", *last - time);
            let expected = "times that do not go back on one CPU (--reorder puts late records in their place)";
            return Err(InputError::new("time", got, expected));
        }
        *last = time;
        Ok(())
    }
}

impl Reorder {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, held: VecDeque::new(), last_returned: Nanos::ZERO, moved: 0 }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Adds `record`. O(1) where it is in order, else O(limit).
    pub(crate) fn push(&mut self, record: TraceRecord) -> Result<(), TooLate> {
        if record.arrival < self.last_returned {
            return Err(TooLate { by: self.last_returned - record.arrival });
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

    /// The next record, once more than `limit` are held; with `flush` (at the end of the trace) always.
    pub(crate) fn pop(&mut self, flush: bool) -> Option<TraceRecord> {
        if !flush && self.held.len() <= self.limit {
            return None;
        }
        let record = self.held.pop_front()?;
        self.last_returned = record.arrival;
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

    fn order(limit: usize, times: &[u64]) -> Result<Vec<(u64, u64)>, TooLate> {
        let mut reorder = Reorder::new(limit);
        let mut out = Vec::new();
        for (i, &t) in times.iter().enumerate() {
            reorder.push(record(t, i as u64))?;
            out.extend(std::iter::from_fn(|| reorder.pop(false)));
        }
        out.extend(std::iter::from_fn(|| reorder.pop(true)));
        Ok(out.iter().map(|r| (r.arrival.0, r.lba.0)).collect())
    }

    #[test]
    fn sorts_up_to_the_limit_and_keeps_ties() {
        assert_eq!(order(2, &[5, 3, 5, 4, 9]).unwrap(), [(3, 1), (4, 3), (5, 0), (5, 2), (9, 4)]);
    }

    #[test]
    fn refuses_records_beyond_the_limit() {
        assert_eq!(order(0, &[5, 5, 3]), Err(TooLate { by: Nanos(2) }));
        assert_eq!(order(1, &[5, 6, 7, 3]), Err(TooLate { by: Nanos(3) }));
        assert!(order(0, &[1, 1, 2]).is_ok());
    }

    #[test]
    fn each_cpu_of_each_device_keeps_order() {
        let mut order = CpuOrder::default();
        for (device, cpu, time) in [(0, 0, 5), (0, 1, 3), (1, 0, 4), (0, 0, 5), (0, 1, 9), (0, 0, 8)] {
            order.check(device, cpu, Nanos(time)).unwrap();
        }
        let e = order.check(0, 1, Nanos(8)).unwrap_err().to_string();
        assert!(e.starts_with("time: got 1 ns before an earlier event of CPU 1, expected times"), "{e}");
    }
}
