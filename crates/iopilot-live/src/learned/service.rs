//! [`ServiceOrder`]: the requests that had the disk for themselves, and the disk's position before each.

use iopilot_block::{Lba, Nanos, Op};
use iopilot_trace::TraceRecord;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A request at the disk, with all that was merged into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) issue: Nanos,
    pub(super) completion: Nanos,
    pub(super) op: Op,
    pub(super) lba: Lba,
    pub(super) sectors: u32,
}

/// Order at the disk: issue, completion, first sector; then length and operation.
type Key = (Nanos, Nanos, u64, u32, u8);

/// Puts requests, which come in order of arrival, in the order in which they were issued.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceOrder {
    /// Requests before which an earlier issue may still come. A sort, not a queue of events: parts of one merged request
    /// have the same times, and must come in the order of their addresses.
    waiting: BinaryHeap<Reverse<Key>>,
    latest_arrival: Nanos,
    /// The latest request in order; parts that were merged into it may still come.
    merging: Option<Served>,
    /// The request before that, and the disk's position before it if it came alone. Its successor is not known yet.
    candidate: Option<(Served, Option<Lba>)>,
    /// When all before the candidate had completed, and where the last of them ended.
    idle_since: Nanos,
    last_end: Option<Lba>,
    alone: VecDeque<(Served, Lba)>,
}

impl ServiceOrder {
    /// Takes a request; those without times are ignored.
    pub(super) fn take(&mut self, record: &TraceRecord) {
        if record.arrival < self.latest_arrival {
            // Another capture, with a clock of its own.
            *self = Self::default();
        }
        self.latest_arrival = record.arrival;
        if let (Some(issue), Some(completion)) = (record.issue, record.completion) {
            self.waiting.push(Reverse((issue, completion, record.lba.0, record.sectors.0, number(record.op))));
        }
        // What arrives from now on is issued later.
        while self.waiting.peek().is_some_and(|Reverse(key)| key.0 < self.latest_arrival) {
            if let Some(Reverse((issue, completion, lba, sectors, op))) = self.waiting.pop() {
                self.issued(Served { issue, completion, op: OPS[usize::from(op)], lba: Lba(lba), sectors });
            }
        }
    }

    /// The next request that was alone, and where the one before it ended.
    pub(super) fn next_alone(&mut self) -> Option<(Served, Lba)> {
        self.alone.pop_front()
    }

    fn issued(&mut self, next: Served) {
        if let Some(whole) = &mut self.merging {
            let same = (whole.issue, whole.completion, whole.op) == (next.issue, next.completion, next.op);
            if same && whole.lba.0 + u64::from(whole.sectors) == next.lba.0 {
                whole.sectors = whole.sectors.saturating_add(next.sectors);
                return;
            }
        }
        if let Some(whole) = self.merging.replace(next) {
            self.at_disk(whole);
        }
    }

    fn at_disk(&mut self, next: Served) {
        if let Some((served, previous_end)) = self.candidate.take() {
            if let (Some(end), true) = (previous_end, next.issue >= served.completion) {
                self.alone.push_back((served, end));
            }
            if served.completion >= self.idle_since {
                self.idle_since = served.completion;
                if served.op.transfers() {
                    self.last_end = Some(Lba(served.lba.0 + u64::from(served.sectors)));
                }
            }
        }
        let alone_so_far = next.issue >= self.idle_since;
        self.candidate = Some((next, self.last_end.filter(|_| alone_so_far)));
    }
}

const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Flush, Op::Discard];

fn number(op: Op) -> u8 {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Flush => 2,
        Op::Discard => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Sectors;

    /// Arrival, issue, completion, lba.
    fn alone(requests: &[(u64, u64, u64, u64)]) -> Vec<(u64, u32, u64)> {
        let mut order = ServiceOrder::default();
        let mut out = Vec::new();
        let end = requests.iter().map(|r| r.2).max().unwrap_or_default() + 1000;
        // Three more, each alone, so that all before are judged.
        let more = [(end, end + 1, end + 2, 0), (end + 10, end + 11, end + 12, 0), (end + 20, end + 21, end + 22, 0)];
        for &(arrival, issue, completion, lba) in requests.iter().chain(&more) {
            let mut r = TraceRecord::new(Nanos(arrival), Op::Read, Lba(lba), Sectors(8));
            (r.issue, r.completion) = (Some(Nanos(issue)), Some(Nanos(completion)));
            order.take(&r);
            out.extend(std::iter::from_fn(|| order.next_alone()));
        }
        let of = |(s, end): &(Served, Lba)| (s.lba.0, s.sectors, end.0);
        out.iter().filter(|(s, _)| s.issue.0 < end).map(of).collect()
    }

    #[test]
    fn one_after_the_other_each_is_a_sample_but_the_first() {
        assert_eq!(alone(&[(0, 1, 10, 100), (11, 12, 20, 200), (21, 22, 30, 300)]), [(200, 8, 108), (300, 8, 208)]);
    }

    #[test]
    fn those_that_overlap_are_not() {
        let overlapping = [(0, 1, 10, 100), (11, 12, 30, 200), (13, 14, 20, 300), (40, 41, 50, 400)];
        assert_eq!(alone(&overlapping), [(400, 8, 208)], "the disk was last where the last one to complete ended");
    }

    #[test]
    fn the_order_at_the_disk_counts_not_that_of_arrival() {
        let reordered = [(0, 1, 10, 100), (2, 22, 30, 300), (3, 11, 20, 200), (40, 41, 50, 400)];
        assert_eq!(alone(&reordered), [(200, 8, 108), (300, 8, 208), (400, 8, 308)]);
    }

    #[test]
    fn what_was_merged_is_one_request() {
        let merged = [(0, 1, 10, 100), (11, 20, 30, 208), (12, 20, 30, 200), (40, 41, 50, 400)];
        assert_eq!(alone(&merged), [(200, 16, 108), (400, 8, 216)]);
    }

    #[test]
    fn another_capture_begins_anew() {
        let mut order = ServiceOrder::default();
        for (arrival, lba) in [(1000, 0), (2000, 8), (0, 16), (100, 24), (200, 32), (300, 40), (400, 48)] {
            let mut r = TraceRecord::new(Nanos(arrival), Op::Read, Lba(lba), Sectors(8));
            (r.issue, r.completion) = (Some(Nanos(arrival + 1)), Some(Nanos(arrival + 2)));
            order.take(&r);
        }
        let seen: Vec<_> = std::iter::from_fn(|| order.next_alone()).map(|(s, _)| s.lba.0).collect();
        assert_eq!(seen, [24], "the one after the first, whose own successor is known");
    }
}
