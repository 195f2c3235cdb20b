//! Distributions of times, and fairness.

use crate::Nanos;
use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

/// A distribution of times: exact count, mean and maximum; quantiles to three significant digits.
#[derive(Clone, Debug)]
pub struct Histogram {
    hdr: Hdr<u64>,
    sum: u128,
    sum_of_squares: f64,
    max: Nanos,
}

impl Histogram {
    /// An empty histogram. It grows to hold any time.
    pub fn new() -> Self {
        let hdr = Hdr::new(3).expect("three significant digits are within 0..=5");
        Self { hdr, sum: 0, sum_of_squares: 0.0, max: Nanos::ZERO }
    }

    /// Counts `time`. O(1); allocates only if `time` is far longer than all before.
    pub fn record(&mut self, time: Nanos) {
        self.hdr.record(time.0).expect("the histogram resizes itself");
        self.sum += u128::from(time.0);
        self.sum_of_squares += time.as_millis_f64().powi(2);
        self.max = self.max.max(time);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.hdr.add(&other.hdr).expect("the histogram resizes itself");
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.max = self.max.max(other.max);
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.hdr.len()
    }

    /// The exact mean in milliseconds; 0 if nothing was counted.
    pub fn mean_ms(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum as f64 / self.count() as f64 / 1e6 }
    }

    /// The population's standard deviation in milliseconds.
    pub fn stddev_ms(&self) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let mean = self.mean_ms();
        (self.sum_of_squares / self.count() as f64 - mean * mean).max(0.0).sqrt()
    }

    /// The quantile `q` (0 to 1): a share `q` of the times counted did not exceed it.
    pub fn quantile(&self, q: f64) -> Nanos {
        Nanos(self.hdr.value_at_quantile(q)).min(self.max)
    }

    /// The longest time counted; zero if none was.
    pub fn max(&self) -> Nanos {
        self.max
    }

    /// The sum of all times counted.
    pub fn total(&self) -> Nanos {
        Nanos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// The five numbers that reports print.
    pub fn distribution(&self) -> Distribution {
        let ms = |q| self.quantile(q).as_millis_f64();
        Distribution {
            mean: self.mean_ms(),
            p50: ms(0.50),
            p95: ms(0.95),
            p99: ms(0.99),
            max: self.max.as_millis_f64(),
        }
    }

    /// The cumulative distribution: (time, share of the times counted that did not exceed it), one point for each
    /// bucket that is not empty.
    pub fn cdf(&self) -> Vec<(Nanos, f64)> {
        let total = self.count() as f64;
        let mut seen = 0;
        self.hdr
            .iter_recorded()
            .map(|point| {
                seen += point.count_at_value();
                (Nanos(point.value_iterated_to()), seen as f64 / total)
            })
            .collect()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// A distribution in five numbers, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Jain's fairness index of the shares that `n` parties received: 1 if all are equal, 1/n if one party got everything.
/// Also 1 for no parties, or if all shares are zero.
pub fn jain_index(shares: impl IntoIterator<Item = f64>) -> f64 {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for x in shares {
        n += 1.0;
        sum += x;
        squares += x * x;
    }
    if squares == 0.0 { 1.0 } else { sum * sum / (n * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_is_exact_and_quantiles_are_close() {
        let mut h = Histogram::new();
        for ms in 1..=1000 {
            h.record(Nanos::from_millis(ms));
        }
        let d = h.distribution();
        assert_eq!(d.mean, 500.5);
        assert!((d.p99 / 990.0 - 1.0).abs() < 2e-3, "{}", d.p99);
        assert_eq!(d.max, 1000.0);
        assert!((h.stddev_ms() - 288.675).abs() < 0.01);
        assert_eq!(h.cdf().last().unwrap().1, 1.0);
    }

    #[test]
    fn jains_index_is_one_for_equal_shares_and_one_over_n_if_one_party_gets_all() {
        assert_eq!(jain_index([3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain_index([1.0, 0.0, 0.0, 0.0]), 0.25);
        assert_eq!(jain_index([]), 1.0);
    }
}
