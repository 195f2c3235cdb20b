//! The latencies of a domain, relative to their target.

use crate::jiffies::{HZ, Jiffies};

/// Each bucket is a quarter of the target wide. The last one has no upper limit.
const BUCKETS: usize = 8;
/// The first four buckets count latencies within the target.
pub(super) const GOOD_BUCKETS: usize = 4;
/// A percentile needs this many samples, or fewer that are a second old.
const ENOUGH: u32 = 500;

type Counts = [u32; BUCKETS];

/// The latencies of a domain since they were last evaluated.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies {
    /// From insertion to completion.
    total: Counts,
    /// From issue to completion.
    io: Counts,
    /// When few samples are enough. Both kinds share this timer, as in the kernel: evaluating one restarts it for the
    /// other.
    deadline: Option<Jiffies>,
    /// The last percentile of total latency that was evaluated without congestion, for use under congestion.
    pub(super) remembered: Option<usize>,
}

impl Latencies {
    /// Counts a completion; nanoseconds.
    pub(super) fn record(&mut self, total: u64, io: u64, target: u64) {
        let width = (target / 4).max(1);
        let bucket = |latency: u64| (latency.saturating_sub(1) / width).min(BUCKETS as u64 - 1) as usize;
        self.total[bucket(total)] += 1;
        self.io[bucket(io)] += 1;
    }

    /// The bucket of a percentile of the device's latency, if there are enough samples.
    pub(super) fn io_percentile(&mut self, percent: u32, now: Jiffies) -> Option<usize> {
        percentile(&mut self.io, &mut self.deadline, percent, now)
    }

    /// The bucket of a percentile of the total latency, if there are enough samples.
    pub(super) fn total_percentile(&mut self, percent: u32, now: Jiffies) -> Option<usize> {
        percentile(&mut self.total, &mut self.deadline, percent, now)
    }
}

/// The bucket of a percentile, if there are enough samples. The samples are dropped then.
fn percentile(counts: &mut Counts, deadline: &mut Option<Jiffies>, percent: u32, now: Jiffies) -> Option<usize> {
    let samples: u32 = counts.iter().sum();
    if samples == 0 {
        return None;
    }
    let due = *deadline.get_or_insert(Jiffies(now.0 + HZ));
    if samples < ENOUGH && due > now {
        return None;
    }
    *deadline = None;
    let mut left = (samples * percent).div_ceil(100);
    let mut bucket = 0;
    while bucket < BUCKETS - 1 && counts[bucket] < left {
        left -= counts[bucket];
        bucket += 1;
    }
    *counts = Counts::default();
    Some(bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_five_hundred_samples_or_a_second() {
        let mut l = Latencies::default();
        for latency in 1..=100 {
            l.record(latency, latency, 80);
        }
        assert_eq!(l.io_percentile(90, Jiffies(0)), None);
        assert_eq!(l.io_percentile(90, Jiffies(249)), None);
        // Buckets of 20: the 90th is in the fifth.
        assert_eq!(l.io_percentile(90, Jiffies(250)), Some(4));
        assert_eq!(l.io_percentile(90, Jiffies(900)), None, "evaluated samples are dropped");
        for _ in 0..400 {
            l.record(20, 20, 80);
        }
        assert_eq!(l.total_percentile(50, Jiffies(250)), Some(0), "500 are enough at once");
    }
}
