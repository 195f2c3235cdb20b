//! [`LogHistogram`]: a distribution over many orders of magnitude.

use serde::Serialize;

/// Buckets for each power of two: values are known to 1 in 32.
const PER_OCTAVE: usize = 32;
const SHIFT: u32 = PER_OCTAVE.trailing_zeros();

/// Counts of whole numbers, exact below 64 and to 3 % above.
#[derive(Clone, Debug, Default)]
pub(super) struct LogHistogram {
    counts: Vec<u64>,
    total: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// A distribution in a few numbers and a coarse histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DistributionSummary {
    /// Arithmetic mean, exact.
    pub mean: f64,
    /// Smallest, exact.
    pub min: f64,
    /// Median, to 3 %.
    pub p50: f64,
    /// 95th percentile, to 3 %.
    pub p95: f64,
    /// 99th percentile, to 3 %.
    pub p99: f64,
    /// Largest, exact.
    pub max: f64,
    /// Counts between powers of two; empty ones are left out.
    pub histogram: Vec<Bin>,
}

/// How many values lie from `from` up to (not including) twice that; from 0 to (not including) one unit where `from` is
/// 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The smallest value counted here.
    pub from: f64,
    /// How many.
    pub count: u64,
}

fn bucket(value: u64) -> usize {
    let octave = (64 - value.leading_zeros()).saturating_sub(SHIFT + 1);
    octave as usize * PER_OCTAVE + (value >> octave) as usize
}

/// The smallest value of a bucket.
fn floor(bucket: usize) -> u64 {
    let octave = (bucket / PER_OCTAVE).saturating_sub(1);
    ((bucket - octave * PER_OCTAVE) as u64) << octave
}

impl LogHistogram {
    pub(super) fn record(&mut self, value: u64) {
        let at = bucket(value);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.min = if self.total == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.total += 1;
        self.sum += u128::from(value);
    }

    fn quantile(&self, q: f64) -> u64 {
        let wanted = (q * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return floor(at).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// The distribution, with each counted value multiplied by `scale`.
    pub(super) fn summary(&self, scale: f64) -> DistributionSummary {
        if self.total == 0 {
            return DistributionSummary::default();
        }
        let mut histogram: Vec<Bin> = Vec::new();
        for (at, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let from = match floor(at) {
                0 => 0,
                low => 1u64 << low.ilog2(),
            };
            let from = from as f64 * scale;
            match histogram.last_mut() {
                Some(bin) if bin.from == from => bin.count += count,
                _ => histogram.push(Bin { from, count }),
            }
        }
        let at = |q| self.quantile(q) as f64 * scale;
        DistributionSummary {
            mean: self.sum as f64 / self.total as f64 * scale,
            min: self.min as f64 * scale,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: self.max as f64 * scale,
            histogram,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_dense_and_tell_their_floor() {
        let mut last = 0;
        for value in 0..100_000 {
            let at = bucket(value);
            assert!(at == last || at == last + 1, "{value}");
            assert!(floor(at) <= value && (value as f64) < floor(at) as f64 * 1.0323 + 1.0, "{value}");
            last = at;
        }
        assert!(floor(bucket(u64::MAX)) > u64::MAX / 100 * 96);
    }

    #[test]
    fn quantiles_and_bins() {
        let mut h = LogHistogram::default();
        (1..=1000).for_each(|v| h.record(v));
        let s = h.summary(1.0);
        assert_eq!((s.mean, s.min, s.max), (500.5, 1.0, 1000.0));
        assert!((s.p50 / 500.0 - 1.0).abs() < 0.04 && (s.p95 / 950.0 - 1.0).abs() < 0.04, "{s:?}");
        assert_eq!(s.histogram.iter().map(|b| b.count).sum::<u64>(), 1000);
        assert_eq!(s.histogram[3], Bin { from: 8.0, count: 8 });
        h.record(u64::MAX);
        assert_eq!(h.summary(1.0).histogram.last().unwrap().from, (1u64 << 63) as f64);
    }
}
