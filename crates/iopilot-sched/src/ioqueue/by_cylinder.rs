//! The policies by cylinder: ELEVATOR_CYL, CYCLE_CYL, SSTF_CYL, VSCAN_CYL, SDF.
//!
//! On the cylinder of the last request, the blocks after it come first, then the blocks before it. Both have distance
//! zero.

use super::by_block::{Neighbour, nearer, reversing};
use super::sub_queue::{cylinder_of, key_of_cylinder};
use super::view::{LastPick, PolicyView};
use iopilot_block::{Lba, RequestId};

impl PolicyView<'_> {
    /// The candidate after the last block on its cylinder, or else the first candidate of that cylinder.
    fn on_last_cylinder(&self, here: u32) -> Option<RequestId> {
        let on_it = |&(key, _): &(Lba, RequestId)| cylinder_of(key) == here;
        let beyond = self.at_or_above(self.last_key()).filter(on_it);
        beyond.or_else(|| self.at_or_above(key_of_cylinder(here)).filter(on_it)).map(|(_, id)| id)
    }

    /// The nearest candidates above and below cylinder `here`, with their distances.
    fn on_other_cylinders(&self, here: u32) -> (Neighbour<u64>, Neighbour<u64>) {
        let far = |(key, id): (Lba, RequestId)| (id, u64::from(cylinder_of(key).abs_diff(here)));
        let above = here.checked_add(1).and_then(|next| self.at_or_above(key_of_cylinder(next)));
        (above.map(far), self.on_cylinder_below(here).map(far))
    }

    /// LOOK.
    pub(super) fn elevator_cylinder(&self) -> Option<RequestId> {
        let here = self.last_cylinder();
        self.on_last_cylinder(here).or_else(|| {
            let (above, below) = self.on_other_cylinders(here);
            let found = if self.last.upwards { above.or(below) } else { below.or(above) };
            found.map(|(id, _)| id)
        })
    }

    /// C-LOOK.
    pub(super) fn cycle_cylinder(&self) -> Option<RequestId> {
        self.at_or_above(self.last_key()).or_else(|| self.at_or_above(Lba(0))).map(|(_, id)| id)
    }

    /// The nearest cylinder.
    pub(super) fn nearest_cylinder(&self, last: &mut LastPick) -> Option<RequestId> {
        let here = self.last_cylinder();
        self.on_last_cylinder(here).or_else(|| {
            let (above, below) = self.on_other_cylinders(here);
            nearer(above, below, last)
        })
    }

    /// V(R).
    pub(super) fn vscan_cylinder(&self) -> Option<RequestId> {
        let here = self.last_cylinder();
        self.on_last_cylinder(here).or_else(|| {
            let (above, below) = self.on_other_cylinders(here);
            let far = |(id, distance)| (id, distance as f64);
            let penalty = self.config.reversal * f64::from(self.device().cylinders());
            reversing(above.map(far), below.map(far), self.last.upwards, penalty)
        })
    }

    /// The shortest distance from cylinder `here`; of equals, the lower cylinder; on one cylinder, the lowest block.
    pub(super) fn shortest_distance(&self, here: u32) -> Option<RequestId> {
        let above = self.at_or_above(key_of_cylinder(here)).map(|(key, id)| (cylinder_of(key) - here, id));
        let below = self.on_cylinder_below(here).map(|(key, id)| (here - cylinder_of(key), id));
        match (above, below) {
            (Some((up, above)), Some((down, below))) => Some(if up < down { above } else { below }),
            (above, below) => above.or(below).map(|(_, id)| id),
        }
    }
}
