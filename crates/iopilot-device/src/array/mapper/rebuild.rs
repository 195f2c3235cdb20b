//! Rebuilding a member: its units are computed from the rest of their stripes and written to its replacement.

use super::{Mapper, Row, Unit};
use crate::array::health::Health;
use crate::array::plan::Plan;
use iopilot_block::Op;

impl Mapper {
    /// Plans the reconstruction of `rows` rows of `member` from `first` on: all reads, then the writes to the member.
    /// Rows behind the last stripe need no rebuild.
    pub fn plan_rebuild(&mut self, member: u32, first: u64, rows: u64, health: &Health, plan: &mut Plan) {
        plan.clear(true);
        let data = self.layout.data_units();
        for row in first..first + rows {
            let Some((stripe, position)) = self.layout.at(member, row) else { continue };
            let sectors = self.layout.unit_sectors(stripe);
            let span = Row { stripe, unit: sectors, start: 0, end: 0 };
            self.load_units(&span, health, 0, self.layout.width());
            if self.layout.check_units() == 0 {
                let column = position % data;
                let copies = self.units.iter().enumerate();
                let source = copies
                    .filter(|(i, _)| *i as u32 % data == column && *i as u32 != position)
                    .find(|(_, unit)| !unit.lost)
                    .map(|(_, unit)| *unit);
                if let Some(unit) = source {
                    self.push(plan, Op::Read, &unit, 0, sectors);
                }
            } else {
                let mut needed = data;
                for i in 0..self.units.len() {
                    let unit = self.units[i];
                    if i as u32 != position && !unit.lost && needed > 0 {
                        self.push(plan, Op::Read, &unit, 0, sectors);
                        needed -= 1;
                    }
                }
            }
            let base = self.layout.row_lba(row).0;
            self.push(plan, Op::Write, &Unit { member, base, lo: 0, hi: 0, lost: false }, 0, sectors);
        }
    }
}
