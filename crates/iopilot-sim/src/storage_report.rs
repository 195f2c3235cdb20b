//! [`StorageReport`]: the device's idle periods, and the seeks of its arm.

use iopilot_block::{Distribution, Histogram, Nanos};
use iopilot_device::ServiceBreakdown;
use serde::Serialize;

/// The device's idle periods, and the seeks of its arm (Ganger 5.4, 6.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StorageReport {
    /// Periods in which the device had no request, including those at the beginning and at the end of the run.
    pub idle_periods: u64,
    /// Their lengths.
    pub idle_ms: Distribution,
    /// The mean seek distance of requests that the device's cache did not serve, in cylinders. 0 if the device has no arm.
    pub seek_cylinders_mean: f64,
    /// The mean time of these seeks, with head switches, in milliseconds.
    pub seek_ms_mean: f64,
}

/// Measures the values of a [`StorageReport`].
#[derive(Clone, Debug)]
pub(crate) struct StorageRecorder {
    idle: Histogram,
    /// The time since which the device has had no request, if it has none.
    idle_since: Option<Nanos>,
    moves: u64,
    cylinders: u64,
    seek: Nanos,
}

impl StorageRecorder {
    /// Starts at `now`, when the device is idle or not.
    pub(crate) fn new(now: Nanos, is_idle: bool) -> Self {
        let idle_since = is_idle.then_some(now);
        Self { idle: Histogram::new(), idle_since, moves: 0, cylinders: 0, seek: Nanos::ZERO }
    }

    /// The device gets a request.
    pub(crate) fn dispatched(&mut self, now: Nanos) {
        let idle = self.idle_since.take().map(|since| now.since(since));
        if let Some(idle) = idle.filter(|&idle| idle > Nanos::ZERO) {
            self.idle.record(idle);
        }
    }

    /// The device has completed its last request.
    pub(crate) fn emptied(&mut self, now: Nanos) {
        self.idle_since = Some(now);
    }

    /// The device has served a request that counts.
    pub(crate) fn served(&mut self, service: &ServiceBreakdown) {
        if !service.cache_hit {
            self.moves += 1;
            self.cylinders += u64::from(service.cylinders);
            self.seek += service.seek;
        }
    }

    /// The report of a run that ended at `now`.
    pub(crate) fn finish(mut self, now: Nanos) -> StorageReport {
        self.dispatched(now);
        let mean = |sum: f64| sum / self.moves.max(1) as f64;
        StorageReport {
            idle_periods: self.idle.count(),
            idle_ms: self.idle.distribution(),
            seek_cylinders_mean: mean(self.cylinders as f64),
            seek_ms_mean: mean(self.seek.as_millis_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_periods_are_between_requests_and_before_the_end() {
        let at = Nanos::from_millis;
        let mut storage = StorageRecorder::new(at(10), true);
        storage.dispatched(at(14));
        let moved = |cylinders, cache_hit| ServiceBreakdown { cylinders, cache_hit, seek: at(3), ..Default::default() };
        storage.served(&moved(100, false));
        storage.served(&moved(50, false));
        storage.served(&moved(7, true));
        storage.emptied(at(20));
        storage.dispatched(at(20));
        storage.emptied(at(25));
        let report = storage.finish(at(33));
        assert_eq!((report.idle_periods, report.idle_ms.mean, report.idle_ms.max), (2, 6.0, 8.0));
        assert_eq!((report.seek_cylinders_mean, report.seek_ms_mean), (75.0, 3.0));
        assert_eq!(StorageRecorder::new(at(1), false).finish(at(9)), StorageReport::default());
    }
}
