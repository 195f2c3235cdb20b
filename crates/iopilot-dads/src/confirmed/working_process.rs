//! [`WorkingProcess`]: what is known of a process of the present load.

use iopilot_block::{Nanos, Op};
use iopilot_trace::TraceRecord;

/// A request that begins at most this many sectors behind the end of its process' last one is sequential: 64 KiB.
const NEAR: u64 = 128;
/// Older requests of a process count this much less with each new one, so that a process may change its kind.
const FADE: f64 = 0.98;

/// A process of the present load.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkingProcess {
    /// When it started, or issued its first request.
    pub(super) came: Nanos,
    /// When its last request completed.
    pub(super) last: Nanos,
    /// Requests in this window.
    pub(super) requests: u32,
    /// Whether it got something done in the last window, or waited.
    pub(super) is_working: bool,
    /// When its first request arrived, and the sum of its responses, in seconds.
    first: Nanos,
    waited: f64,
    /// Where its last request ended.
    end: u64,
    /// Of its last requests: the count, the reads, the sequential ones, and the sum of the binary logarithms of sizes.
    seen: f64,
    reads: f64,
    sequential: f64,
    size_log2: f64,
}

impl WorkingProcess {
    /// A process whose first request to complete is `record`; it is still to be noted.
    pub(super) fn new(record: &TraceRecord, came: Nanos) -> Self {
        Self {
            came,
            last: Nanos::ZERO,
            requests: 0,
            is_working: false,
            first: record.arrival,
            waited: 0.0,
            end: 0,
            seen: 0.0,
            reads: 0.0,
            sequential: 0.0,
            size_log2: 0.0,
        }
    }

    /// Notes a request that completed at `completion`.
    pub(super) fn note(&mut self, record: &TraceRecord, completion: Nanos) {
        let begin = record.lba.0;
        let is_sequential = self.seen > 0.0 && (self.end..=self.end + NEAR).contains(&begin);
        self.end = begin + u64::from(record.sectors.0);
        self.last = self.last.max(completion);
        self.requests += 1;
        self.waited += completion.since(record.arrival.min(completion)).as_secs_f64();
        let add = |sum: &mut f64, value: f64| *sum = FADE * *sum + value;
        add(&mut self.seen, 1.0);
        add(&mut self.reads, f64::from(u8::from(record.op == Op::Read)));
        add(&mut self.sequential, f64::from(u8::from(is_sequential)));
        add(&mut self.size_log2, (record.sectors.bytes().max(512) as f64).log2());
    }

    /// Its class: whether it is sequential, and whether it writes.
    pub(super) fn class(&self) -> usize {
        usize::from(2.0 * self.sequential > self.seen) + 2 * usize::from(2.0 * self.reads < self.seen)
    }

    /// How many requests it has had in flight on the mean.
    pub(super) fn usually_in_flight(&self) -> f64 {
        self.waited / self.last.since(self.first.min(self.last)).as_secs_f64().max(1e-6)
    }

    /// The share of reads among its last requests.
    pub(super) fn reads(&self) -> f64 {
        self.reads / self.seen.max(1e-9)
    }

    /// The share of sequential ones.
    pub(super) fn sequential(&self) -> f64 {
        self.sequential / self.seen.max(1e-9)
    }

    /// The mean binary logarithm of their sizes in bytes.
    pub(super) fn size_log2(&self) -> f64 {
        self.size_log2 / self.seen.max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Sectors};

    #[test]
    fn a_process_has_the_class_of_its_last_requests() {
        let record = |lba: u64, op| TraceRecord::new(Nanos(0), op, Lba(lba), Sectors(8));
        let mut process = WorkingProcess::new(&record(0, Op::Read), Nanos(0));
        let mut note = |lba: u64, op| {
            process.note(&record(lba, op), Nanos(1));
            process.class()
        };
        let sequential: Vec<usize> = (0..100).map(|n| note(8 * n, Op::Read)).collect();
        assert_eq!((sequential[0], sequential[99]), (0, 1));
        let random: Vec<usize> = (0..100).map(|n| note(100_000 * (1 + n % 7), Op::Write)).collect();
        assert_eq!((random[0], random[99]), (1, 2));
    }
}
