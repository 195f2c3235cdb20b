//! [`Spread`]: the differences between several replays of one load.

use serde::Serialize;

/// The least and the greatest value of several replays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range {
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Range {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let start = Self { min: f64::INFINITY, max: f64::NEG_INFINITY };
        values.fold(start, |range, value| Self { min: range.min.min(value), max: range.max.max(value) })
    }

    /// Half of its width, in percent of `value`.
    pub fn percent_of(&self, value: f64) -> f64 {
        if value > 0.0 { 50.0 * (self.max - self.min) / value } else { 0.0 }
    }
}

/// The differences between replays of one load under one scheduler: with other recordings of the load, other think times, or
/// other seeds. The report is that of the median run by the verdict's measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The number of replays.
    pub replays: u32,
    /// Half of the spread of the verdict's measure, in percent of the value that is reported.
    pub percent: f64,
    /// Seconds from the first arrival to the last completion.
    pub elapsed_s: Range,
    /// Throughput, 10^6 bytes a second.
    pub throughput_mb_s: Range,
    /// The mean time that a process waits for a request that it waits for, ms.
    pub wait_ms_mean: Range,
    /// The mean time that a process waits for one of its requests, the geometric mean over processes, ms.
    pub process_wait_ms: Range,
    /// The 99th percentile of the response time of requests that a process waits for, ms; of all if no process waits.
    pub wait_ms_p99: Range,
    /// The mean time of the tasks, s. `None` unless all runs have tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_s_mean: Option<Range>,
    /// Mean response time, ms.
    pub response_ms_mean: Range,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_from_the_least_to_the_greatest() {
        let range = Range::of([3.0, 1.0, 2.0].into_iter());
        assert_eq!((range, range.percent_of(2.0)), (Range { min: 1.0, max: 3.0 }, 50.0));
        assert_eq!(range.percent_of(0.0), 0.0);
    }
}
