//! [`DegradationDetector`]: whether the scheduler in use does worse than it would freshly installed.

/// The number of consecutive checks that must show it.
const PATIENCE: u32 = 3;
/// The scheduler has degraded when it costs more than this many times its trial.
const TIMES: f64 = 2.0;
/// How many checks to wait after reinstalling it did not help. Each further failure doubles the wait, up to
/// `LONGEST_REST`.
const FIRST_REST: u32 = 7;
const LONGEST_REST: u32 = 448;

/// A trial starts its scheduler with nothing learned. When the scheduler in use costs much more than its own trial,
/// check after check, either the model is wrong or the scheduler has degraded. `bfq` can: it takes streams that it
/// serves slowly (below 7000 sectors a second) for soft real-time ones and raises their weight. While it does, it does
/// not idle for them, so they stay slow (`bfq_bfqq_softrt_next_start`, `idling_boosts_thr_without_issues`).
/// Reinstalling the scheduler costs two changes, and shows which of the two it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DegradationDetector {
    /// For how many consecutive checks it has cost too much.
    missed: u32,
    /// It was reinstalled, and has cost too much ever since.
    in_vain: bool,
    /// For how many more checks the scheduler is left alone, and for how many the next time.
    rest: u32,
    next_rest: u32,
}

impl DegradationDetector {
    pub(crate) fn new() -> Self {
        Self { missed: 0, in_vain: false, rest: 0, next_rest: FIRST_REST }
    }

    /// Counts a check: the scheduler in use cost `measured`, its trial `cost`, and two changes cost `change`. Returns
    /// whether the scheduler should be reinstalled.
    pub(crate) fn check(&mut self, measured: f64, cost: f64, change: f64) -> bool {
        self.rest = self.rest.saturating_sub(1);
        if TIMES * cost >= measured || cost + change >= measured {
            *self = Self { rest: self.rest, ..Self::new() };
            return false;
        }
        self.missed += 1;
        self.missed >= PATIENCE && self.rest == 0
    }

    /// Notes that the scheduler is reinstalled.
    pub(crate) fn reinstalled(&mut self) {
        self.missed = 0;
        if self.in_vain {
            self.rest = self.next_rest;
            self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
        }
        self.in_vain = true;
    }

    /// Notes that another scheduler is in use.
    pub(crate) fn changed(&mut self) {
        *self = Self { rest: self.rest, next_rest: self.next_rest, ..Self::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degraded(detector: &mut DegradationDetector) -> bool {
        let due = detector.check(9.0, 2.0, 0.1);
        if due {
            detector.reinstalled();
        }
        due
    }

    #[test]
    fn three_checks_in_a_row_show_it() {
        let mut a = DegradationDetector::new();
        assert!(!degraded(&mut a) && !degraded(&mut a));
        assert!(!a.check(9.0, 8.0, 0.1), "it has recovered");
        assert!(!degraded(&mut a) && !degraded(&mut a) && degraded(&mut a));
        assert!(!a.check(9.0, 8.0, 0.1));
        assert!(!degraded(&mut a) && !degraded(&mut a) && degraded(&mut a), "it helped: it may be reinstalled again");
    }

    #[test]
    fn reinstalling_in_vain_becomes_rare() {
        let mut a = DegradationDetector::new();
        let reinstalled: Vec<usize> = (1..=100).filter(|_| degraded(&mut a)).collect();
        assert_eq!(reinstalled, [3, 6, 13, 27, 55]);
    }

    #[test]
    fn a_gain_below_the_cost_of_the_change_does_not_count() {
        let mut a = DegradationDetector::new();
        assert!((0..9).all(|_| !a.check(0.09, 0.02, 0.08)));
        assert!((0..9).all(|_| !a.check(9.0, 5.0, 0.1)), "a model may be wrong by that much");
    }
}
