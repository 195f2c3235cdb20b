//! `scan` and `look`: the elevator (Carroll 2.2.5).
//!
//! The arm moves in one direction until no request is left there, then in the other. No request starves, but one near
//! an edge has a longer worst wait than one in the middle. SCAN proper moves on to the edge of the disk before it
//! turns. LOOK turns at the last request (Carroll, like most of today's authors, says SCAN for LOOK). A scheduler
//! cannot move an arm without a request, and the request after the turn is the same for both. So `scan` differs only in
//! its assumed arm position at the turn. That shows in [`ArmQueue`], but in no order of dispatch.

use crate::Environment;
use crate::arm::{ArmQueue, ArmRule, ArmScheduler};
use crate::tunables::no_tunables;
use iopilot_block::{Lba, RequestId, Requests};

/// SCAN or LOOK.
pub(crate) type Scan = ArmScheduler<Sweep>;

/// The rule of [`Scan`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweep {
    /// The last sector, where SCAN turns; `None` for LOOK.
    edge: Option<Lba>,
}

impl Scan {
    /// SCAN on a disk of `env.capacity`.
    pub(crate) fn to_the_edge(env: &Environment) -> Self {
        Self::with_rule(Sweep { edge: Some(Lba(env.capacity.saturating_sub(1))) })
    }

    /// LOOK.
    pub(crate) fn to_the_last() -> Self {
        Self::default()
    }
}

impl ArmRule for Sweep {
    fn pick(&mut self, arm: &mut ArmQueue, rqs: &Requests) -> Option<RequestId> {
        // A request that starts right under the arm needs no movement in either direction.
        let above = arm.above().filter(|&id| arm.upwards || rqs[id].lba == arm.position);
        if above.is_some() {
            return above;
        }
        if arm.upwards {
            arm.upwards = false;
            if let Some(edge) = self.edge {
                arm.position = edge.max(arm.position);
                // A request that starts in the last sector is served at the turn.
                return arm.above().or_else(|| arm.below(rqs));
            }
            return arm.below(rqs);
        }
        let below = arm.below(rqs);
        if below.is_some() {
            return below;
        }
        arm.upwards = true;
        if self.edge.is_some() {
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
    fn sweeps_up_then_down() {
        for scheduler in [Scan::to_the_last(), Scan::to_the_edge(&Environment::default())] {
            let mut b = Bench::new(scheduler);
            for lba in [500, 200, 800] {
                b.read(lba);
            }
            assert_eq!(b.take(2), [200, 500]);
            for lba in [300, 600, 100] {
                b.read(lba);
            }
            assert_eq!(b.take(3), [600, 800, 300]);
            for lba in [900, 250, 300] {
                b.read(lba);
            }
            assert_eq!(b.take(9), [300, 250, 100, 900]);
        }
    }
}
