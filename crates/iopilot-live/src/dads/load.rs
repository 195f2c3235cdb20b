//! [`LoadMeter`]: requests per second, and how long they take.

use iopilot_trace::TraceRecord;
use std::time::{Duration, Instant};

/// The load of a disk over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DiskLoad {
    /// Completed requests per second.
    pub(super) iops: f64,
    /// The mean time from arrival to completion of those that were captured, in milliseconds.
    pub(super) latency_ms: f64,
}

/// Measures the load from one reading to the next.
#[derive(Debug)]
pub(super) struct LoadMeter {
    since: Instant,
    /// All requests, also those that were only counted.
    requests: u64,
    captured: u64,
    took_ms: f64,
}

impl LoadMeter {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, requests: 0, captured: 0, took_ms: 0.0 }
    }

    /// Adds captured requests.
    pub(super) fn add(&mut self, records: &[TraceRecord]) {
        self.requests += records.len() as u64;
        for record in records {
            let Some(completion) = record.completion else { continue };
            self.captured += 1;
            self.took_ms += completion.since(record.arrival).as_millis_f64();
        }
    }

    /// Adds requests that were only counted.
    pub(super) fn add_unseen(&mut self, requests: u64) {
        self.requests += requests;
    }

    /// How long it has measured.
    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    /// The load since the last reading; it begins anew.
    pub(super) fn read(&mut self, now: Instant) -> DiskLoad {
        let seconds = self.elapsed(now).as_secs_f64();
        let per_second = if seconds > 0.0 { self.requests as f64 / seconds } else { 0.0 };
        let mean = if self.captured > 0 { self.took_ms / self.captured as f64 } else { 0.0 };
        *self = Self::new(now);
        DiskLoad { iops: per_second, latency_ms: mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Nanos, Op, Sectors};

    #[test]
    fn all_requests_count_and_those_that_were_captured_are_timed() {
        let began = Instant::now();
        let mut meter = LoadMeter::new(began);
        let took = |ms: u64| TraceRecord {
            completion: Some(Nanos::from_millis(10 + ms)),
            ..TraceRecord::new(Nanos::from_millis(10), Op::Read, Lba(0), Sectors(8))
        };
        meter.add(&[took(2), took(4)]);
        meter.add_unseen(98);
        let now = began + Duration::from_secs(2);
        assert_eq!(meter.read(now), DiskLoad { iops: 50.0, latency_ms: 3.0 });
        assert_eq!(meter.read(now + Duration::from_secs(1)), DiskLoad::default());
    }
}
