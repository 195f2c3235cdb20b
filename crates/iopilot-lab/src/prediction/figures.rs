//! [`PredictionFigures`]: the figures of a run that are compared.

use serde_json::Value;

/// The figures of a run that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PredictionFigures {
    /// From the first arrival to the last completion, in seconds.
    pub(super) elapsed_s: f64,
    /// The mean wait for a request that a process waits for, in milliseconds.
    pub(super) wait_ms: f64,
}

impl PredictionFigures {
    /// The figures of a run in the JSON of `iopilot compare`.
    pub(super) fn of(run: &Value) -> Option<Self> {
        Some(Self { elapsed_s: run["elapsed_s"].as_f64()?, wait_ms: run["wait_ms_mean"].as_f64()? })
    }

    /// The median of each figure by itself.
    pub(super) fn median(all: &[Self]) -> Self {
        Self { elapsed_s: median(all.iter().map(|f| f.elapsed_s)), wait_ms: median(all.iter().map(|f| f.wait_ms)) }
    }
}

/// The median of `values`; for an even number, the mean of the two in the middle.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    match all.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => all[n / 2],
        n => (all[n / 2 - 1] + all[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!((median([3.0, 1.0, 2.0].into_iter()), median([4.0, 1.0].into_iter())), (2.0, 2.5));
        assert!(median(std::iter::empty()).is_nan());
    }
}
