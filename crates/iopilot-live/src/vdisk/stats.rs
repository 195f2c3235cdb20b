//! [`VdiskStats`]: the statistics of a virtual disk, and how punctual it was.

use crate::block_server::OpCounts;
use iopilot_block::{Distribution, Histogram, Nanos, Op, Sectors};
use serde::{Deserialize, Serialize};

/// An answer that leaves later than this after its due time counts as late, ns.
const LATE: u64 = 100_000;

/// The statistics of a virtual disk since it was attached, and how punctual it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VdiskStats {
    /// Requests answered, of each kind.
    pub requests: OpCounts,
    /// Bytes of them.
    pub bytes: OpCounts,
    /// Those of them that were answered with an I/O error, as data could not be moved: the backing file's disk is full,
    /// say.
    pub errors: OpCounts,
    /// Bytes that its backing file really takes on its own disk.
    pub stored: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Answers that left more than 100 µs after the time that the model gave.
    pub late: u64,
    /// How long after the time that the model gave answers left, µs.
    pub lateness_us: Distribution,
    /// From arrival to the time that the model gave, in real milliseconds.
    pub modelled_ms: Distribution,
    /// From arrival to departure, ms.
    pub real_ms: Distribution,
}

/// An answer, as it is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub(super) op: Op,
    pub(super) sectors: Sectors,
    /// How long after its due time it left, ns.
    pub(super) late: u64,
    /// The time from the arrival of its request to its departure, ns.
    pub(super) took: u64,
    /// The time from the arrival of its request to its due time, in the model's time.
    pub(super) modelled: Nanos,
    /// Whether it was an I/O error.
    pub(super) failed: bool,
}

/// The counters behind [`VdiskStats`].
#[derive(Clone, Debug)]
pub(super) struct VdiskTally {
    requests: OpCounts,
    bytes: OpCounts,
    errors: OpCounts,
    late: u64,
    lateness: Histogram,
    modelled: Histogram,
    real: Histogram,
    /// Seconds of the model per real second.
    speed: f64,
}

impl VdiskTally {
    /// Empty counters for a model that runs at `speed`.
    pub(super) fn new(speed: f64) -> Self {
        Self {
            requests: OpCounts::default(),
            bytes: OpCounts::default(),
            errors: OpCounts::default(),
            late: 0,
            lateness: Histogram::new(),
            modelled: Histogram::new(),
            real: Histogram::new(),
            speed,
        }
    }

    /// Counts an answer.
    pub(super) fn count(&mut self, one: &Counted) {
        *self.requests.of(one.op) += 1;
        *self.bytes.of(one.op) += one.sectors.bytes();
        *self.errors.of(one.op) += u64::from(one.failed);
        self.late += u64::from(one.late > LATE);
        self.lateness.record(Nanos(one.late));
        self.real.record(Nanos(one.took));
        self.modelled.record(Nanos((one.modelled.0 as f64 / self.speed) as u64));
    }

    /// The statistics, with `in_flight` requests in flight and `stored` bytes in the backing file.
    pub(super) fn stats(&self, in_flight: u64, stored: u64) -> VdiskStats {
        VdiskStats {
            requests: self.requests,
            bytes: self.bytes,
            errors: self.errors,
            stored,
            in_flight,
            late: self.late,
            lateness_us: micros(&self.lateness),
            modelled_ms: self.modelled.distribution(),
            real_ms: self.real.distribution(),
        }
    }
}

fn micros(histogram: &Histogram) -> Distribution {
    let d = histogram.distribution();
    Distribution { mean: d.mean * 1e3, p50: d.p50 * 1e3, p95: d.p95 * 1e3, p99: d.p99 * 1e3, max: d.max * 1e3 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_real_ones() {
        let mut tally = VdiskTally::new(10.0);
        let modelled = Nanos(10_000_000);
        tally.count(&Counted {
            op: Op::Read,
            sectors: Sectors(8),
            late: 500,
            took: 1_000_500,
            modelled,
            failed: false,
        });
        tally.count(&Counted {
            op: Op::Flush,
            sectors: Sectors(0),
            late: 100_001,
            took: 1_100_001,
            modelled,
            failed: true,
        });
        let stats = tally.stats(3, 8192);
        assert_eq!((stats.requests.read, stats.requests.flush, stats.requests.total()), (1, 1, 2));
        assert_eq!((stats.bytes.read, stats.bytes.total()), (4096, 4096));
        assert_eq!((stats.errors.flush, stats.errors.total(), stats.stored), (1, 1, 8192));
        assert_eq!((stats.late, stats.in_flight), (1, 3));
        assert_eq!((stats.lateness_us.max, stats.modelled_ms.mean), (100.001, 1.0));
    }
}
