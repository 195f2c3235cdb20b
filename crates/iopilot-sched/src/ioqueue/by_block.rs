//! The policies by block number: ELEVATOR_LBN, CYCLE_LBN, SSTF_LBN, VSCAN_LBN, PRI_VSCAN_LBN.

use super::config::DistanceRule;
use super::view::{LastPick, PolicyView};
use iopilot_block::{Criticality, Lba, Op, RequestId};

impl PolicyView<'_> {
    /// LOOK. A request that starts where the last one did costs nothing in either direction.
    pub(super) fn elevator(&self) -> Option<RequestId> {
        let here = self.last.first;
        let above = self.at_or_above(here);
        let found = match above {
            Some((at, _)) if self.last.upwards || at == here => above,
            _ => self.below(here).or(above),
        };
        found.map(|(_, id)| id)
    }

    /// C-LOOK.
    pub(super) fn cycle(&self) -> Option<RequestId> {
        self.at_or_above(self.last.first).or_else(|| self.at_or_above(Lba(0))).map(|(_, id)| id)
    }

    /// The nearest request to the end of the last one.
    pub(super) fn nearest_block(&self, last: &mut LastPick) -> Option<RequestId> {
        let here = last.end;
        let far = |(at, id): (Lba, RequestId)| (id, at.distance(here));
        nearer(self.at_or_above(here).map(far), self.below(here).map(far), last)
    }

    /// V(R) from the last block of the last request.
    pub(super) fn vscan_block(&self) -> Option<RequestId> {
        let here = self.last.block;
        let penalty = self.config.reversal * self.config.capacity as f64;
        let far = |(at, id): (Lba, RequestId)| (id, at.distance(here) as f64);
        reversing(self.at_or_above(here).map(far), self.below(here).map(far), self.last.upwards, penalty)
    }

    /// The largest sum of nearness, urgency and age. O(n).
    pub(super) fn weighed_block(&self) -> Option<RequestId> {
        let disk = self.config.capacity as f64;
        let here = self.last.block;
        let mut best: Option<(f64, RequestId)> = None;
        for id in self.sub_queue.by_age.iter(self.links).filter(|&id| self.is_candidate(id)) {
            let request = &self.entry(id).request;
            let mut distance = here.distance(request.lba) as f64;
            let upwards = request.lba >= here;
            match self.config.distance_rule {
                DistanceRule::Elevator if distance > 0.0 && upwards != self.last.upwards => distance += disk,
                DistanceRule::Cyclic if !upwards => distance = disk - distance,
                _ => {}
            }
            let urgent = request.op == Op::Read || request.criticality == Criticality::TimeCritical;
            let urgency = if urgent { self.config.urgency_percent * disk / 100.0 } else { 0.0 };
            let age = self.config.age_weight * (self.age(id) / 1e6).trunc() / 1280.0;
            let value = disk - distance + urgency + age;
            if best.is_none_or(|(most, _)| value > most) {
                best = Some((value, id));
            }
        }
        best.map(|(_, id)| id)
    }
}

/// A request and its distance.
pub(super) type Neighbour<T> = Option<(RequestId, T)>;

/// The nearer of two requests. At equal distances, up and down alternate.
pub(super) fn nearer(above: Neighbour<u64>, below: Neighbour<u64>, last: &mut LastPick) -> Option<RequestId> {
    match (above, below) {
        (Some((above, up)), Some((below, down))) => {
            let upwards = if up == down { last.tie_upwards } else { up < down };
            last.tie_upwards ^= up == down;
            Some(if upwards { above } else { below })
        }
        (above, below) => above.or(below).map(|(id, _)| id),
    }
}

/// The nearer of two requests, where reversing adds `penalty`; of equals, the lower. A request at distance zero does
/// not reverse the arm.
pub(super) fn reversing(
    above: Neighbour<f64>,
    below: Neighbour<f64>,
    upwards: bool,
    penalty: f64,
) -> Option<RequestId> {
    match (above, below) {
        (Some((above, up)), Some((below, down))) => {
            let up = if upwards || up == 0.0 { up } else { up + penalty };
            let down = if upwards { down + penalty } else { down };
            Some(if up < down { above } else { below })
        }
        (above, below) => above.or(below).map(|(id, _)| id),
    }
}
