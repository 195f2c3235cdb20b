//! [`WaitDeltas`]: the time-limited requests for which a process has not waited yet.

use std::collections::VecDeque;

/// Future waits, each with the computation left before it, as differences.
///
/// DiskSim compares the head of this list with the computation before the *next* request, and puts the wait before the
/// request if it is shorter. Computation that passes without a wait does not shorten the rest. This behaviour is kept
/// because DiskSim's reference results depend on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitDeltas {
    /// (operation, computation after the entry before).
    waits: VecDeque<(u64, f64)>,
}

impl WaitDeltas {
    /// Adds a wait for `operation` after `time` of computation. Equal times keep their order.
    pub(crate) fn insert(&mut self, operation: u64, mut time: f64) {
        let mut at = 0;
        while let Some(&(_, step)) = self.waits.get(at) {
            if time < step {
                break;
            }
            time -= step;
            at += 1;
        }
        if let Some((_, step)) = self.waits.get_mut(at) {
            *step -= time;
        }
        self.waits.insert(at, (operation, time));
    }

    /// The first wait, if it comes before `time` of computation has passed.
    pub(crate) fn take_before(&mut self, time: f64) -> Option<(u64, f64)> {
        match self.waits.front() {
            Some(&(_, step)) if step < time => self.waits.pop_front(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_come_in_order_of_time_and_as_differences() {
        let mut limits = WaitDeltas::default();
        limits.insert(1, 30.0);
        limits.insert(2, 10.0);
        limits.insert(3, 20.0);
        assert_eq!(limits.take_before(5.0), None);
        assert_eq!(limits.take_before(50.0), Some((2, 10.0)));
        assert_eq!(limits.take_before(50.0), Some((3, 10.0)));
        assert_eq!(limits.take_before(50.0), Some((1, 10.0)));
        assert_eq!(limits.take_before(f64::INFINITY), None);
    }
}
