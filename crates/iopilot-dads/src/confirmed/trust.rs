//! What experience says of predictions and of installations, and what trials may cost.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The error of predictions: the standard deviation of a candidate's own ln rate, learned from predictions that were
/// checked on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PredictionError {
    sum: f64,
    count: f64,
}

/// At first it counts as this many checked predictions.
const AT_FIRST: f64 = 4.0;
/// Older checks count this much less with each new one.
const FORGET: f64 = 0.97;

impl PredictionError {
    /// Begins with this standard deviation.
    pub(crate) fn new(deviation: f64) -> Self {
        Self { sum: AT_FIRST * deviation * deviation, count: AT_FIRST }
    }

    /// The standard deviation of a candidate's own error.
    pub(crate) fn deviation(&self) -> f64 {
        (self.sum / self.count).sqrt()
    }

    /// Notes that the contrast of two candidates was off by `error`. Two candidates' errors are in it.
    pub(crate) fn checked(&mut self, error: f64) {
        let most = 18.0 * self.sum / self.count;
        self.sum = FORGET * self.sum + (error * error).min(most) / 2.0;
        self.count = FORGET * self.count + 1.0;
    }
}

/// How often putting a candidate in place under load works, for those that need an early start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct InstallOdds {
    worked: f64,
    tried: f64,
}

impl Default for InstallOdds {
    /// Measured on Linux 6.18 with a real-time thread that sets the tunable: 21 of 36, less some caution.
    fn default() -> Self {
        Self { worked: 4.0, tried: 10.0 }
    }
}

impl InstallOdds {
    /// The share that works.
    pub(crate) fn share(&self) -> f64 {
        self.worked / self.tried
    }

    /// Notes an attempt.
    pub(crate) fn tried(&mut self, worked: bool) {
        self.worked = FORGET * self.worked + f64::from(u8::from(worked));
        self.tried = FORGET * self.tried + 1.0;
    }
}

/// What trials may cost: lost work in seconds, 3 % of the time; and their own time, 3 % of any five minutes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrialBudget {
    credit: f64,
    now: f64,
    /// The trials of the last five minutes that were not kept: when each ended, and how long it took.
    slices: VecDeque<(f64, f64)>,
}

const SHARE: f64 = 0.03;
const FIRST_CREDIT: f64 = 1.0;
const MOST_CREDIT: f64 = 4.0;
const PERIOD: f64 = 300.0;
/// What a change costs beyond the work that is lost meanwhile, in seconds.
const CHANGE: f64 = 0.02;
/// A candidate that is expected to be better by less than this (ln rate) is tried only for credit.
const FOR_CREDIT: f64 = 0.02;

impl Default for TrialBudget {
    fn default() -> Self {
        Self { credit: FIRST_CREDIT, now: 0.0, slices: VecDeque::new() }
    }
}

impl TrialBudget {
    /// Lets `seconds` pass.
    pub(crate) fn pass(&mut self, seconds: f64) {
        self.now += seconds;
        self.credit = (self.credit + SHARE * seconds).min(MOST_CREDIT);
        while self.slices.front().is_some_and(|(ended, _)| *ended < self.now - PERIOD) {
            self.slices.pop_front();
        }
    }

    /// Seconds of work that may still be lost.
    pub(crate) fn credit(&self) -> f64 {
        self.credit
    }

    /// Charges a trial of `took` seconds that lost `lost` seconds of work.
    pub(crate) fn charge(&mut self, took: f64, lost: f64, kept: bool) {
        self.credit -= lost.clamp(0.0, took) + CHANGE;
        if !kept {
            self.slices.push_back((self.now, took));
        }
    }

    /// Whether a trial of `length` seconds that is expected to cost `cost` and to gain `contrast` may begin.
    pub(crate) fn allows(&self, length: f64, cost: f64, contrast: f64) -> bool {
        let used: f64 = self.slices.iter().map(|(_, took)| took).sum();
        let in_time = contrast >= 0.1 || used + length <= SHARE * PERIOD;
        let in_credit = contrast >= FOR_CREDIT || self.credit >= cost.min(0.9 * MOST_CREDIT);
        in_time && in_credit && self.credit >= -FIRST_CREDIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_that_hold_are_trusted_more() {
        let mut error = PredictionError::new(0.3);
        assert!((error.deviation() - 0.3).abs() < 1e-12);
        (0..50).for_each(|_| error.checked(0.05));
        assert!(error.deviation() < 0.08, "{}", error.deviation());
        let before = error.deviation();
        error.checked(5.0);
        assert!(error.deviation() < 1.3 * before, "one surprise is bounded");
        (0..50).for_each(|_| error.checked(0.5));
        assert!(error.deviation() > 0.25);
    }

    #[test]
    fn lost_work_stays_within_three_per_cent() {
        let mut budget = TrialBudget::default();
        let mut lost = 0.0;
        for _ in 0..2000 {
            budget.pass(0.5);
            if budget.allows(0.5, 0.5, 0.0) {
                budget.charge(0.5, 0.5, false);
                lost += 0.5;
            }
        }
        assert!(lost <= 1.0 + 0.03 * 1000.0 && lost > 20.0, "{lost}");
    }

    #[test]
    fn slices_take_at_most_three_per_cent_of_five_minutes() {
        let mut budget = TrialBudget::default();
        let mut ends = Vec::new();
        for n in 0..4000 {
            budget.pass(0.5);
            // They cost nothing: the candidate is as good.
            if budget.allows(2.0, 0.04, 0.05) {
                budget.charge(2.0, 0.0, false);
                ends.push(f64::from(n) * 0.5);
            }
        }
        let within = |from: f64| ends.iter().filter(|&&end| (from..from + PERIOD).contains(&end)).count();
        assert!((0..1700).all(|from| within(f64::from(from)) <= 4), "four of two seconds each");
        assert!(ends.len() > 20);
    }
}
