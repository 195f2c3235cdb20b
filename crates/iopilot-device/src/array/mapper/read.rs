//! Reads: from the unit itself, from a copy, or from the rest of its stripe.

use super::{Mapper, Row};
use crate::array::copies::MemberView;
use crate::array::health::Health;
use crate::array::plan::Plan;
use iopilot_block::Op;

impl Mapper {
    pub(super) fn read_row(&mut self, row: &Row, health: &Health, view: &impl MemberView, plan: &mut Plan) {
        let (first, behind) = row.units();
        if self.layout.copies() > 1 {
            for position in first..behind {
                self.read_copy(row, position, health, view, plan);
            }
            return;
        }
        let data = self.layout.data_units();
        self.load_units(row, health, first, behind);
        if health.is_degraded() && self.layout.check_units() > 0 && self.units.iter().any(|unit| unit.lost) {
            self.load_units(row, health, 0, self.layout.width());
            self.read_degraded(data as usize, plan);
            return;
        }
        for i in 0..self.units.len() {
            let unit = self.units[i];
            self.push(plan, Op::Read, &unit, unit.lo, unit.hi);
        }
    }

    /// Reads one unit from the chosen copy. All units of a request in one column use the same copy.
    fn read_copy(&mut self, row: &Row, position: u32, health: &Health, view: &impl MemberView, plan: &mut Plan) {
        let (lo, hi) = row.part(position);
        let column = position as usize;
        let place = self.layout.place(row.stripe, position);
        let base = self.layout.row_lba(place.row).0;
        let usable = |member: u32| !health.is_lost(member, place.row);
        let member = match self.columns[column].filter(|&member| usable(member)) {
            Some(member) => member,
            None => {
                self.candidates.clear();
                for copy in 0..self.layout.copies() {
                    let member = self.layout.copy(row.stripe, position, copy).member;
                    if usable(member) {
                        self.candidates.push(member);
                    }
                }
                let member = self.selector.choose(&self.candidates, base + u64::from(lo), view);
                self.columns[column] = Some(member);
                member
            }
        };
        let unit = super::Unit { member, base, lo, hi, lost: false };
        self.push(plan, Op::Read, &unit, lo, hi);
    }

    /// Reads a stripe with a lost unit among those wanted: the same sectors of as many other units as it has data
    /// units.
    fn read_degraded(&mut self, data: usize, plan: &mut Plan) {
        let lost = self.units[..data].iter().filter(|unit| unit.lost);
        let wanted = lost.clone().filter(|unit| unit.is_touched());
        let lo = wanted.clone().map(|unit| unit.lo).min().unwrap_or_default();
        let hi = wanted.map(|unit| unit.hi).max().unwrap_or_default();
        let mut checks_needed = lost.count();
        for i in 0..self.units.len() {
            let unit = self.units[i];
            if unit.lost {
                continue;
            }
            let is_check = i >= data;
            if is_check && checks_needed == 0 {
                break;
            }
            checks_needed -= usize::from(is_check);
            let apart = unit.is_touched() && (unit.hi < lo || hi < unit.lo);
            if apart {
                let (near, far) = ((unit.lo, unit.hi), (lo, hi));
                for (lo, hi) in [near.min(far), near.max(far)] {
                    self.push(plan, Op::Read, &unit, lo, hi);
                }
            } else if unit.is_touched() {
                self.push(plan, Op::Read, &unit, unit.lo.min(lo), unit.hi.max(hi));
            } else {
                self.push(plan, Op::Read, &unit, lo, hi);
            }
        }
    }
}
