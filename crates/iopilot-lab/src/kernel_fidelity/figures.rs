//! [`FidelityFigures`]: the figures that are compared.

use iopilot_block::{Nanos, SECTOR_BYTES};
use iopilot_trace::TraceRecord;

/// The figures that are compared between a recording and its simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FidelityFigures {
    /// From arrival to completion, ms.
    pub(super) mean_ms: f64,
    pub(super) p99_ms: f64,
    /// Bytes over the time from the first arrival to the last completion, in MB/s.
    pub(super) mb_s: f64,
}

impl FidelityFigures {
    /// The figures of a recording.
    pub(super) fn of(records: &[TraceRecord]) -> Self {
        let response = |r: &TraceRecord| r.completion.map(|c| c.since(r.arrival));
        let responses: Vec<Nanos> = records.iter().filter_map(response).collect();
        let first = records.iter().map(|r| r.arrival).min().unwrap_or_default();
        let last = records.iter().filter_map(|r| r.completion).max().unwrap_or_default();
        let bytes: u64 = records.iter().map(|r| u64::from(r.sectors.0) * SECTOR_BYTES).sum();
        Self::from_responses(responses, bytes, last.since(first).as_secs_f64())
    }

    pub(super) fn from_responses(mut responses: Vec<Nanos>, bytes: u64, elapsed_s: f64) -> Self {
        responses.sort_unstable();
        let n = responses.len().max(1);
        let sum: f64 = responses.iter().map(|r| r.as_millis_f64()).sum();
        let p99 = responses.get((n * 99).div_ceil(100) - 1).copied().unwrap_or_default();
        Self { mean_ms: sum / n as f64, p99_ms: p99.as_millis_f64(), mb_s: bytes as f64 / 1e6 / elapsed_s }
    }

    /// The mean of each figure over recordings of the same size. Throughput has the harmonic mean: all bytes over all
    /// the time.
    pub(super) fn mean(all: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| all.iter().map(figure).sum::<f64>() / all.len() as f64;
        Self { mean_ms: of(|f| f.mean_ms), p99_ms: of(|f| f.p99_ms), mb_s: of(|f| f.mb_s.recip()).recip() }
    }
}

/// The standard deviation of `values` in percent of their mean; 0 for one value.
pub(super) fn spread_percent(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    100.0 * (squares / (n - 1.0).max(1.0)).sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_throughputs_is_all_bytes_over_all_the_time() {
        let of = |elapsed_s: f64| FidelityFigures::from_responses(vec![Nanos::from_secs(1)], 6_000_000, elapsed_s);
        let mean = FidelityFigures::mean(&[of(1.0), of(2.0), of(6.0)]);
        assert!((mean.mb_s - 2.0).abs() < 1e-9 && (mean.mean_ms - 1000.0).abs() < 1e-9, "{mean:?}");
    }

    #[test]
    fn the_99th_percentile_is_a_request() {
        let of =
            |n: u64| FidelityFigures::from_responses((1..=n).rev().map(Nanos::from_millis).collect(), 0, 1.0).p99_ms;
        assert_eq!([1, 100, 200].map(of), [1.0, 99.0, 198.0]);
    }

    #[test]
    fn the_spread_is_the_standard_deviation() {
        assert!((spread_percent(&[90.0, 110.0]) - 200f64.sqrt()).abs() < 1e-9);
        assert_eq!(spread_percent(&[7.0]), 0.0);
    }
}
