//! `sstf`: shortest seek time first, by distance in sectors (Carroll 2.2.5).
//!
//! It has the lowest mean seek of the greedy algorithms, and no protection from starvation: under load the arm stays
//! where requests are dense. Of two requests at the same distance, the higher one goes first.

use crate::arm::{ArmQueue, ArmRule, ArmScheduler};
use crate::tunables::no_tunables;
use iopilot_block::{RequestId, Requests};

/// Shortest seek time first.
pub(crate) type Sstf = ArmScheduler<NearestFirst>;

/// The rule of [`Sstf`].
#[derive(Clone, Debug, Default)]
pub(crate) struct NearestFirst;

impl Sstf {
    /// An empty queue, the arm at sector 0.
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

impl ArmRule for NearestFirst {
    fn pick(&mut self, arm: &mut ArmQueue, rqs: &Requests) -> Option<RequestId> {
        match arm.both(rqs) {
            (Some((above, up)), Some((below, down))) => Some(if up <= down { above } else { below }),
            (above, below) => above.or(below).map(|(id, _)| id),
        }
    }

    no_tunables!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_queue::Bench;

    #[test]
    fn nearest_first_and_upwards_between_equals() {
        let mut b = Bench::new(Sstf::new());
        for lba in [100, 300, 50, 55, 60, 110] {
            b.read(lba);
        }
        assert_eq!(b.take(9), [50, 55, 60, 100, 110, 300]);
        for lba in [280, 320] {
            b.read(lba);
        }
        assert_eq!(b.take(9), [320, 280]);
    }
}
