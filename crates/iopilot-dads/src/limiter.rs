//! [`Limiter`]: limits changing back and forth (GF 4.4.3).

/// Whether changes are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeLimit {
    /// Changes are allowed.
    Free,
    /// There were too many changes in a row: the default is installed and pinned.
    Pin,
    /// The default is pinned; simulation goes on.
    Pinned {
        /// How many more consecutive quiet checks are needed before changes are allowed again.
        left: u32,
    },
}

/// Counts changes in a row. Too many pin the administrator's default, until enough checks in a row would not have
/// changed the scheduler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limiter {
    changes: u32,
    quiet: u32,
    in_a_row: u32,
    /// Quiet checks since the default was pinned.
    pinned: Option<u32>,
}

impl Limiter {
    /// Pins after `changes` changes in a row, releases after `quiet` consecutive checks that would not change. The
    /// thesis has 5 and 7.
    pub(crate) fn new(changes: u32, quiet: u32) -> Self {
        Self { changes: changes.max(1), quiet, in_a_row: 0, pinned: None }
    }

    /// Counts a check; `would_change` says whether the rule would change the scheduler. Returns whether it may. A
    /// release takes effect at the next check.
    pub(crate) fn check(&mut self, would_change: bool) -> ChangeLimit {
        if let Some(quiet) = &mut self.pinned {
            *quiet = if would_change { 0 } else { *quiet + 1 };
            let left = self.quiet.saturating_sub(*quiet);
            if left == 0 {
                (self.pinned, self.in_a_row) = (None, 0);
            }
            return ChangeLimit::Pinned { left };
        }
        self.in_a_row = if would_change { self.in_a_row + 1 } else { 0 };
        if self.in_a_row >= self.changes {
            (self.pinned, self.in_a_row) = (Some(0), 0);
            return ChangeLimit::Pin;
        }
        ChangeLimit::Free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_changes_in_a_row_pin_the_default_and_seven_quiet_checks_release_it() {
        let mut limiter = Limiter::new(5, 7);
        let free: Vec<ChangeLimit> = (0..4).map(|_| limiter.check(true)).collect();
        assert_eq!(free, [ChangeLimit::Free; 4]);
        assert_eq!(limiter.check(true), ChangeLimit::Pin);
        assert_eq!(limiter.check(true), ChangeLimit::Pinned { left: 7 });
        let quiet: Vec<ChangeLimit> = (0..6).map(|_| limiter.check(false)).collect();
        assert_eq!(quiet.last(), Some(&ChangeLimit::Pinned { left: 1 }));
        assert_eq!(limiter.check(true), ChangeLimit::Pinned { left: 7 }, "quiet checks are in a row");
        let quiet: Vec<ChangeLimit> = (0..7).map(|_| limiter.check(false)).collect();
        assert_eq!(quiet.last(), Some(&ChangeLimit::Pinned { left: 0 }));
        assert_eq!(limiter.check(true), ChangeLimit::Free);
    }

    #[test]
    fn a_check_that_changes_nothing_breaks_the_row() {
        let mut limiter = Limiter::new(5, 7);
        let changes = [true, true, true, true, false, true, true, true, true];
        assert!(changes.iter().all(|&c| limiter.check(c) == ChangeLimit::Free));
        assert_eq!(limiter.check(true), ChangeLimit::Pin);
    }

    proptest! {
        /// There are never as many changes in a row as pin the default, whatever is predicted.
        #[test]
        fn changes_in_a_row_stay_below_the_limit(would in prop::collection::vec(any::<bool>(), 0..200)) {
            let mut limiter = Limiter::new(5, 7);
            let mut row = 0;
            for change in would {
                row = if change && limiter.check(change) == ChangeLimit::Free { row + 1 } else { 0 };
                prop_assert!(row < 5);
            }
        }
    }
}
