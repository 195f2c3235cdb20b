//! [`ServiceOrder`]: how long the disk took for each request, and where it was before.

use iopilot_block::{Lba, Nanos, Op};
use iopilot_trace::TraceRecord;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A request that the disk served, with all that was merged into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServedRequest {
    pub(super) op: Op,
    pub(super) lba: Lba,
    pub(super) sectors: u32,
    /// When the disk began with it: when it was issued, or when the request before it was complete.
    pub(super) start: Nanos,
    pub(super) completion: Nanos,
    /// Where the request before it ended.
    pub(super) previous_end: Lba,
}

impl ServedRequest {
    /// The sector behind it.
    pub(super) fn end(&self) -> Lba {
        Lba(self.lba.0 + u64::from(self.sectors))
    }
}

/// Order at the disk: completion, issue, first sector; then length and operation.
type Key = (Nanos, Nanos, u64, u32, u8);

/// Requests come nearly in order of completion: a request comes before any that completed this much later.
const SLACK: Nanos = Nanos::from_millis(50);

/// Puts requests in the order in which the disk completed them, and separates their times.
///
/// A disk serves one request at a time, in an order of its own. A request's service begins when it is issued, or, if
/// the disk was busy then, when the disk completes the one before it. So the completions alone show the order.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceOrder {
    /// A sort, not a queue of events: parts of one merged request have the same times, and must come in the order of
    /// their addresses.
    waiting: BinaryHeap<Reverse<Key>>,
    latest: Nanos,
    /// The next in order; parts that were merged into it may still come. Its times are those of issue and completion.
    merging: Option<ServedRequest>,
    /// When the disk completed the one before that, and where that one ended.
    before: Option<(Nanos, Option<Lba>)>,
}

impl ServiceOrder {
    /// Takes a request; those without times are ignored. Passes those whose service is known by now to `sink`.
    pub(super) fn take(&mut self, record: &TraceRecord, mut sink: impl FnMut(&ServedRequest)) {
        let (Some(issue), Some(completion)) = (record.issue, record.completion) else { return };
        if completion + SLACK < self.latest {
            // The record is of another capture, with a clock of its own, or comes far too late. What the disk did
            // before it is unknown.
            *self = Self::default();
        }
        self.latest = self.latest.max(completion);
        self.waiting.push(Reverse((completion, issue, record.lba.0, record.sectors.0, number(record.op))));
        while self.waiting.peek().is_some_and(|Reverse(key)| key.0 + SLACK <= self.latest) {
            self.next(&mut sink);
        }
    }

    /// Passes on the rest: no more requests come for now.
    pub(super) fn rest(&mut self, mut sink: impl FnMut(&ServedRequest)) {
        while !self.waiting.is_empty() {
            self.next(&mut sink);
        }
        self.complete(None, &mut sink);
    }

    fn next(&mut self, sink: &mut impl FnMut(&ServedRequest)) {
        let Some(Reverse((completion, issue, lba, sectors, op))) = self.waiting.pop() else { return };
        let op = OPS[usize::from(op)];
        if let Some(whole) = &mut self.merging {
            let same = (whole.start, whole.completion, whole.op) == (issue, completion, op);
            if same && whole.end().0 == lba {
                whole.sectors = whole.sectors.saturating_add(sectors);
                return;
            }
        }
        let next = ServedRequest { op, lba: Lba(lba), sectors, start: issue, completion, previous_end: Lba(0) };
        self.complete(Some(next), sink);
    }

    /// All parts of the present request have come.
    fn complete(&mut self, next: Option<ServedRequest>, sink: &mut impl FnMut(&ServedRequest)) {
        let Some(whole) = std::mem::replace(&mut self.merging, next) else { return };
        let end = match self.before {
            Some((free, position)) => {
                if let Some(previous_end) = position {
                    sink(&ServedRequest { start: whole.start.max(free), previous_end, ..whole });
                }
                // A flush does not move the arm.
                if whole.op.transfers() { Some(whole.end()) } else { position }
            }
            None => whole.op.transfers().then(|| whole.end()),
        };
        self.before = Some((whole.completion, end));
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

/// The most of `records` that were at the disk at the same time; 0 where their times are unknown. O(n log n).
pub(crate) fn most_at_disk(records: &[TraceRecord]) -> u32 {
    let at_disk = records.iter().filter(|r| r.merged != Some(true) && r.op.transfers());
    let (mut issues, mut completions): (Vec<Nanos>, Vec<Nanos>) =
        at_disk.filter_map(|r| Some((r.issue?, r.completion?))).unzip();
    issues.sort_unstable();
    completions.sort_unstable();
    let (mut over, mut most) = (0, 0);
    for (n, issue) in issues.iter().enumerate() {
        over += completions[over..].partition_point(|completion| completion <= issue);
        most = most.max((n + 1).saturating_sub(over));
    }
    u32::try_from(most).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Sectors;

    fn record(issue: u64, completion: u64, lba: u64) -> TraceRecord {
        let mut r = TraceRecord::new(Nanos(issue), Op::Read, Lba(lba), Sectors(8));
        (r.issue, r.completion) = (Some(Nanos(issue)), Some(Nanos(completion)));
        r
    }

    /// First sector, length, where the disk was, and how long it took; of requests by issue, completion, first sector.
    fn served(requests: &[(u64, u64, u64)]) -> Vec<(u64, u32, u64, u64)> {
        let (mut order, mut out) = (ServiceOrder::default(), Vec::new());
        let of = |s: &ServedRequest| (s.lba.0, s.sectors, s.previous_end.0, s.completion.since(s.start).0);
        for &(issue, completion, lba) in requests {
            order.take(&record(issue, completion, lba), |s| out.push(of(s)));
        }
        order.rest(|s| out.push(of(s)));
        out
    }

    #[test]
    fn one_after_the_other_each_is_a_sample_but_the_first() {
        assert_eq!(served(&[(1, 10, 100), (12, 20, 200), (22, 30, 300)]), [(200, 8, 108, 8), (300, 8, 208, 8)]);
    }

    #[test]
    fn on_a_busy_disk_service_begins_when_the_one_before_is_complete() {
        // Four in the disk, which serves the third before the second.
        let busy = [(1, 10, 100), (2, 30, 200), (3, 18, 300), (4, 50, 400)];
        assert_eq!(served(&busy), [(300, 8, 108, 8), (200, 8, 308, 12), (400, 8, 208, 20)]);
        assert_eq!(most_at_disk(&busy.map(|(issue, completion, lba)| record(issue, completion, lba))), 4);
    }

    #[test]
    fn the_order_of_completion_counts_not_that_in_which_they_come() {
        assert_eq!(served(&[(22, 30, 300), (1, 10, 100), (11, 20, 200)]), [(200, 8, 108, 9), (300, 8, 208, 8)]);
    }

    #[test]
    fn what_was_merged_is_one_request() {
        let merged = [(1, 10, 100), (20, 30, 208), (20, 30, 200), (41, 50, 400)];
        assert_eq!(served(&merged), [(200, 16, 108, 10), (400, 8, 216, 9)]);
    }

    #[test]
    fn a_flush_keeps_the_disk_busy_and_the_arm_where_it_is() {
        let (mut order, mut out) = (ServiceOrder::default(), Vec::new());
        let flush = TraceRecord { op: Op::Flush, sectors: Sectors(0), ..record(2, 40, 0) };
        for r in [record(1, 10, 100), flush, record(3, 50, 300)] {
            order.take(&r, |s| out.push(*s));
        }
        order.rest(|s| out.push(*s));
        let last = out.last().unwrap();
        assert_eq!((last.lba, last.previous_end, last.completion.since(last.start)), (Lba(300), Lba(108), Nanos(10)));
    }

    #[test]
    fn another_capture_begins_anew() {
        let (mut order, mut out) = (ServiceOrder::default(), Vec::new());
        let late = 1_000_000_000;
        for (at, lba) in [(late, 0), (late + 10, 8), (0, 16), (100, 24), (200, 32)] {
            order.take(&record(at + 1, at + 2, lba), |s| out.push(s.lba.0));
        }
        order.rest(|s| out.push(s.lba.0));
        assert_eq!(out, [24, 32], "the one after the first");
    }
}
