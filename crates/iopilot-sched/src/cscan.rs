//! `cscan` and `clook`: the one-way elevator (Carroll 2.2.5, Ganger 6.2).
//!
//! Requests are served in ascending order. After the last one, the arm goes back to the lowest. Waiting times vary less
//! than under SCAN, as the arm visits all positions equally often. C-SCAN proper returns to the first sector, C-LOOK to
//! the lowest request. As with `scan` and `look`, the order of dispatch is the same.

use crate::arm::{ArmQueue, ArmRule, ArmScheduler};
use crate::tunables::no_tunables;
use iopilot_block::{Lba, RequestId, Requests};

/// C-SCAN or C-LOOK.
pub(crate) type CircularScan = ArmScheduler<Circle>;

/// The rule of [`CircularScan`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Circle;

impl CircularScan {
    /// An empty queue, the arm at sector 0.
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

impl ArmRule for Circle {
    fn pick(&mut self, arm: &mut ArmQueue, _: &Requests) -> Option<RequestId> {
        if arm.above().is_none() {
            arm.position = Lba(0);
        }
        arm.above()
    }

    no_tunables!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_queue::Bench;

    #[test]
    fn ascends_and_starts_again_from_the_lowest() {
        let mut b = Bench::new(CircularScan::new());
        for lba in [500, 200, 800] {
            b.read(lba);
        }
        assert_eq!(b.take(2), [200, 500]);
        for lba in [300, 100] {
            b.read(lba);
        }
        assert_eq!(b.take(9), [800, 100, 300]);
    }
}
