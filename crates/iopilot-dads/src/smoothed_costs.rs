//! [`SmoothedCosts`]: the candidates' costs, averaged over the last windows.

use iopilot_block::ProcessId;
use iopilot_trace::TraceRecord;
use std::collections::HashSet;

/// The mean becomes exponential after this many windows: the last one always counts for at least a quarter.
const WINDOWS: u32 = 4;
/// The variance of a candidate's log cost between windows of [`FEW`] requests, assumed until more windows have shown
/// it. That of larger windows is smaller in proportion.
const VARIANCE: f64 = 0.01;
const FEW: f64 = 256.0;

/// The candidates' costs, relative to each other, averaged over the windows in which the same processes were at work.
/// One window is not enough: a second holds few requests, and a scheduler such as `bfq` can settle into one of several
/// states.
#[derive(Clone, Debug, Default)]
pub(crate) struct SmoothedCosts {
    /// The mean log cost of each candidate, relative to the mean over all candidates, and its variance between windows.
    scores: Vec<f64>,
    variances: Vec<f64>,
    windows: u32,
    processes: HashSet<Option<ProcessId>>,
    /// The mean log ratio of measured to predicted cost of the scheduler in use, at most 0; and over how many windows.
    better: f64,
    seen: u32,
    /// The scheduler in use.
    current: usize,
}

impl SmoothedCosts {
    /// Adds a window and returns the smoothed costs, on the scale of this window.
    ///
    /// The scheduler in use, `current`, gets its predicted cost. If it `learns`, it gets less where it was `measured`
    /// to cost less: each trial starts with nothing learned, while the real scheduler has adapted. (If it does not
    /// learn, the model is wrong, and equally so for all candidates.) The others get one standard error more than their
    /// mean, so that a change is made only for a gain beyond the noise.
    pub(crate) fn update(
        &mut self,
        costs: &[f64],
        (current, learns): (usize, bool),
        measured: Option<f64>,
        records: &[TraceRecord],
    ) -> Vec<f64> {
        if costs.iter().any(|&cost| cost <= 0.0 || !cost.is_finite()) {
            return costs.to_vec();
        }
        let processes: HashSet<_> = records.iter().map(|r| r.process).collect();
        let both = processes.intersection(&self.processes).count();
        if 2 * both < processes.len().max(self.processes.len()) || self.scores.len() != costs.len() {
            let of_each = |x| vec![x; costs.len()];
            let variance = VARIANCE * (FEW / records.len().max(1) as f64).min(1.0);
            *self = Self { scores: of_each(0.0), variances: of_each(variance), ..Self::default() };
        }
        if self.current != current {
            (self.current, self.better, self.seen) = (current, 0.0, 0);
        }
        self.processes = processes;
        self.windows += 1;
        let mean = costs.iter().map(|cost| cost.ln()).sum::<f64>() / costs.len() as f64;
        let windows = f64::from(self.windows.min(WINDOWS));
        for ((score, variance), cost) in self.scores.iter_mut().zip(&mut self.variances).zip(costs) {
            let deviation = cost.ln() - mean - *score;
            *score += deviation / windows;
            if self.windows > 1 {
                *variance += (deviation * deviation * (1.0 - 1.0 / windows) - *variance) / windows;
            }
        }
        if let Some(measured) = measured.filter(|&m| m > 0.0 && learns) {
            self.seen += 1;
            let better = (measured / costs[current]).ln().min(0.0);
            self.better += (better - self.better) / f64::from(self.seen.min(WINDOWS));
        }
        let at = |i: usize| costs[current] * (self.scores[i] - self.scores[current]).exp();
        let error = |i: usize| (self.variances[i] / windows).sqrt();
        let cost = |i| if i == current { at(i) * self.better.exp() } else { at(i) * error(i).exp() };
        (0..costs.len()).map(cost).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Nanos, Op, Sectors};

    fn of(processes: std::ops::Range<u32>) -> Vec<TraceRecord> {
        let record = |p| TraceRecord {
            process: Some(ProcessId(p)),
            ..TraceRecord::new(Nanos::ZERO, Op::Read, Lba(0), Sectors(8))
        };
        processes.map(record).collect()
    }

    #[test]
    fn one_different_window_does_not_change_the_order() {
        let mut smoothed = SmoothedCosts::default();
        let first = smoothed.update(&[1.0, 0.8], (0, true), None, &of(0..8));
        assert!((first[0] - 1.0).abs() < 1e-9 && (first[1] - 0.8 * 0.1f64.exp()).abs() < 1e-9, "{first:?}");
        let second = smoothed.update(&[1.0, 0.8], (0, true), None, &of(0..8));
        assert!(second[1] > 0.8 && second[1] < first[1], "two windows are surer: {second:?}");
        for _ in 0..5 {
            smoothed.update(&[1.0, 0.8], (0, true), None, &of(0..8));
        }
        let other = smoothed.update(&[2.0, 2.4], (0, true), None, &of(0..8));
        assert!(other[1] < other[0], "{other:?}");
        assert!((other[0] - 2.0).abs() < 1e-9, "on the scale of this window");
        let fresh = smoothed.update(&[2.0, 2.4], (0, true), None, &of(8..16));
        assert!(fresh[1] > 2.4, "other processes are another load: {fresh:?}");
    }

    #[test]
    fn a_successor_must_beat_the_measured_cost() {
        let mut smoothed = SmoothedCosts::default();
        let costs = smoothed.update(&[5.0, 4.0], (0, true), Some(1.0), &of(0..8));
        assert!((costs[0] - 1.0).abs() < 1e-9 && costs[1] > costs[0], "{costs:?}");
        let costs = smoothed.update(&[5.0, 4.0], (1, true), Some(9.0), &of(0..8));
        assert!((costs[1] - 4.0).abs() < 1e-9, "a higher measured cost may be the model's fault: {costs:?}");
        let costs = SmoothedCosts::default().update(&[5.0, 4.0], (0, false), Some(1.0), &of(0..8));
        assert!((costs[0] - 5.0).abs() < 1e-9, "and so is a lower one, of what does not learn: {costs:?}");
        let many: Vec<TraceRecord> = (0..128).flat_map(|_| of(0..8)).collect();
        let costs = SmoothedCosts::default().update(&[1.0, 0.8], (0, true), None, &many);
        assert!(
            (costs[1] - 0.8 * 0.05f64.exp()).abs() < 1e-9,
            "four times as many requests, half the error: {costs:?}"
        );
    }
}
