//! [`Steady`]: what windows one after the other tell together.

use iopilot_block::ProcessId;
use iopilot_trace::TraceRecord;
use std::collections::HashSet;

/// So many windows are told apart no more: the last counts for one in so many at least.
const WINDOWS: u32 = 4;
/// A cost in one window is off by so much, as a logarithm squared, as far as is known before there are more.
const VARIANCE: f64 = 0.01;

/// The costs of the candidates, each as a share of the window's, over the windows in which the same processes were at work: a
/// second holds so few requests that the next may tell otherwise, and a scheduler such as `bfq` has more than one way to go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steady {
    /// Means of logarithms, each less the mean over the candidates; and by how much they vary from window to window.
    scores: Vec<f64>,
    variances: Vec<f64>,
    windows: u32,
    processes: HashSet<Option<ProcessId>>,
    /// By what factor the scheduler in use was better than the model had it, as a logarithm; never above 0. And in how many
    /// windows that was seen.
    better: f64,
    seen: u32,
    /// The scheduler in use.
    current: usize,
}

impl Steady {
    /// The costs in this window, and those before: as large for the scheduler in use, `current`, as the model has it there,
    /// or as it was `measured` where that is less, for a trial begins anew each time, and the scheduler in use has found its way.
    /// Those of the others are a standard error higher than they seem: a change is made for a gain that is there.
    pub(crate) fn costs(
        &mut self,
        costs: &[f64],
        current: usize,
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
            *self = Self { scores: of_each(0.0), variances: of_each(VARIANCE), ..Self::default() };
        }
        if self.current != current {
            (self.current, self.better, self.seen) = (current, 0.0, 0);
        }
        self.processes = processes;
        self.windows += 1;
        let mean = costs.iter().map(|cost| cost.ln()).sum::<f64>() / costs.len() as f64;
        let windows = f64::from(self.windows.min(WINDOWS));
        for ((score, variance), cost) in self.scores.iter_mut().zip(&mut self.variances).zip(costs) {
            let off = cost.ln() - mean - *score;
            *score += off / windows;
            if self.windows > 1 {
                *variance += (off * off * (1.0 - 1.0 / windows) - *variance) / windows;
            }
        }
        if let Some(measured) = measured.filter(|&m| m > 0.0) {
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
    fn one_window_that_tells_otherwise_does_not_turn_it() {
        let mut steady = Steady::default();
        let first = steady.costs(&[1.0, 0.8], 0, None, &of(0..8));
        assert!((first[0] - 1.0).abs() < 1e-9 && (first[1] - 0.8 * 0.1f64.exp()).abs() < 1e-9, "{first:?}");
        let second = steady.costs(&[1.0, 0.8], 0, None, &of(0..8));
        assert!(second[1] > 0.8 && second[1] < first[1], "two windows tell more: {second:?}");
        for _ in 0..5 {
            steady.costs(&[1.0, 0.8], 0, None, &of(0..8));
        }
        let other = steady.costs(&[2.0, 2.4], 0, None, &of(0..8));
        assert!(other[1] < other[0], "{other:?}");
        assert!((other[0] - 2.0).abs() < 1e-9, "on the scale of this window");
        let anew = steady.costs(&[2.0, 2.4], 0, None, &of(8..16));
        assert!(anew[1] > 2.4, "other processes are another load: {anew:?}");
    }

    #[test]
    fn who_is_to_take_over_must_beat_what_was_measured() {
        let mut steady = Steady::default();
        let costs = steady.costs(&[5.0, 4.0], 0, Some(1.0), &of(0..8));
        assert!((costs[0] - 1.0).abs() < 1e-9 && costs[1] > costs[0], "{costs:?}");
        let costs = steady.costs(&[5.0, 4.0], 1, Some(9.0), &of(0..8));
        assert!((costs[1] - 4.0).abs() < 1e-9, "worse than the model has it may be the model's fault: {costs:?}");
    }
}
