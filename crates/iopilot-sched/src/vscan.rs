//! `vscan`: V(R), a continuum from SSTF to SCAN (Geist and Daniel 1987; Carroll 2.2.5, Ganger A.1.2.1).
//!
//! The nearest request goes first, but one that reverses the arm counts as `r` times the whole disk farther away. `r=0`
//! is SSTF, `r=1` is SCAN (LOOK). With a larger `r` response times vary less, with a smaller one their mean is shorter.
//! `vr` is the variant for Linux, which multiplies instead of adding.

use crate::Environment;
use crate::arm::{ArmQueue, ArmRule, ArmScheduler};
use crate::tunables::{plain_tunables, tunables};
use iopilot_block::{RequestId, Requests};

tunables! {
    /// The tunable of `vscan`.
    pub(crate) struct VscanTunables {
        /// The penalty of reversing the arm, as a share of the disk's size.
        r: f64, Factor = 0.2, 0..=1;
    }
}

/// V(R).
pub(crate) type Vscan = ArmScheduler<ReversalCosts>;

/// The rule of [`Vscan`].
#[derive(Clone, Debug)]
pub(crate) struct ReversalCosts {
    capacity: u64,
    tunables: VscanTunables,
}

impl Vscan {
    /// V(0.2) on a disk of `env.capacity`.
    pub(crate) fn new(env: &Environment) -> Self {
        Self::with_rule(ReversalCosts { capacity: env.capacity, tunables: VscanTunables::default() })
    }
}

impl ArmRule for ReversalCosts {
    fn pick(&mut self, arm: &mut ArmQueue, rqs: &Requests) -> Option<RequestId> {
        let penalty = (self.tunables.r * self.capacity as f64) as u64;
        match arm.both(rqs) {
            (Some((above, up)), Some((below, down))) => {
                // A request that starts right under the arm does not reverse it.
                let up = if arm.upwards || up == 0 { up } else { up + penalty };
                let down = if arm.upwards { down + penalty } else { down };
                Some(if up <= down { above } else { below })
            }
            (above, below) => above.or(below).map(|(id, _)| id),
        }
    }

    plain_tunables!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_queue::Bench;

    #[test]
    fn reverses_only_if_that_saves_more_than_r_of_the_disk() {
        let env = Environment { capacity: 1000, ..Environment::default() };
        let mut b = Bench::new(Vscan::new(&env));
        b.read(500);
        assert_eq!(b.take(1), [500]);
        for lba in [490, 700, 900] {
            b.read(lba);
        }
        // 490 is 10 + 200 away, 700 is 200; then 900 is 200 and 490 is 410.
        assert_eq!(b.take(9), [700, 900, 490]);
        for lba in [480, 900] {
            b.read(lba);
        }
        assert_eq!(b.take(1), [480]);
        for lba in [481, 200] {
            b.read(lba);
        }
        // Going down, 481 is 1 + 200 away and 200 is 280; going up again, 900 is 419 and 200 is 281 + 200.
        assert_eq!(b.take(9), [481, 900, 200]);
    }
}
