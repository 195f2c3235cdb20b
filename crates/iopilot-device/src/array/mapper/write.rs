//! Writes: to all copies, or with an update of the redundancy. The update is read-modify-write, reconstruct-write, or
//! a full-stripe write without reads.

use super::{Mapper, ParityRange, Row, Unit, UpdateRule, WriteOrder};
use crate::array::health::Health;
use crate::array::plan::Plan;
use iopilot_block::Op;

/// How new parity is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Update {
    /// From the written data alone.
    FullStripe,
    /// From the old data, the old parity and the new data.
    ReadModifyWrite,
    /// From the new data and the rest of the data.
    Reconstruct,
    /// From the whole stripe, after its lost units have been reconstructed.
    Decode,
}

/// The sectors in the check units that a write to a stripe changes: one range, or two separate ones.
#[derive(Clone, Copy, Debug)]
struct Ranges {
    list: [(u32, u32); 2],
    len: usize,
}

impl Ranges {
    fn get(&self) -> &[(u32, u32)] {
        &self.list[..self.len]
    }

    fn of(units: &[Unit], rule: ParityRange) -> Self {
        let mut touched = units.iter().filter(|unit| unit.is_touched());
        let (Some(first), second) = (touched.next(), touched.next()) else {
            return Self { list: [(0, 0); 2], len: 0 };
        };
        let Some(second) = second else {
            return Self { list: [(first.lo, first.hi), (0, 0)], len: 1 };
        };
        let more = touched.next().is_some();
        // A request is contiguous: the second unit begins at 0, and the first extends to the end of its unit.
        if !more && second.hi < first.lo {
            return Self { list: [(second.lo, second.hi), (first.lo, first.hi)], len: 2 };
        }
        let all = || units.iter().filter(|unit| unit.is_touched());
        let lo = all().map(|unit| unit.lo).min().unwrap_or_default();
        let hi = match rule {
            ParityRange::Exact => all().map(|unit| unit.hi).max().unwrap_or_default(),
            ParityRange::DiskSim => lo + all().map(|unit| unit.hi - unit.lo).max().unwrap_or_default(),
        };
        Self { list: [(lo, hi), (0, 0)], len: 1 }
    }
}

impl Mapper {
    pub(super) fn write_row(&mut self, row: &Row, health: &Health, plan: &mut Plan) {
        if self.layout.check_units() == 0 {
            self.write_copies(Op::Write, row, health, plan);
            return;
        }
        self.load_units(row, health, 0, self.layout.width());
        let data = self.layout.data_units() as usize;
        let ranges = Ranges::of(&self.units[..data], self.rules.parity_range);
        self.reads.clear();
        self.writes.clear();
        if self.units[data..].iter().any(|check| !check.lost) {
            match self.choose_update(row, data, &ranges) {
                Update::FullStripe => {}
                Update::ReadModifyWrite => self.access_touched(Op::Read, data, &ranges, plan),
                Update::Reconstruct => self.read_rest(data, &ranges, plan),
                Update::Decode => self.read_all(data, &ranges, plan),
            }
        }
        self.access_touched(Op::Write, data, &ranges, plan);
        self.order_row(data as u32, plan);
    }

    /// Writes or discards all copies of the touched units.
    fn write_copies(&mut self, op: Op, row: &Row, health: &Health, plan: &mut Plan) {
        let (first, behind) = row.units();
        for copy in 0..self.layout.copies() {
            for position in first..behind {
                let place = self.layout.copy(row.stripe, position, copy);
                if health.is_lost(place.member, place.row) {
                    continue;
                }
                let (lo, hi) = row.part(position);
                let base = self.layout.row_lba(place.row).0;
                self.push(plan, op, &Unit { member: place.member, base, lo, hi, lost: false }, lo, hi);
            }
        }
    }

    /// Discards. With parity, only whole stripes, whose parity is known without reading.
    pub(super) fn discard_row(&mut self, row: &Row, health: &Health, plan: &mut Plan) {
        if self.layout.check_units() == 0 {
            self.write_copies(Op::Discard, row, health, plan);
        } else if row.end - row.start == u64::from(row.unit) * u64::from(self.layout.data_units()) {
            self.load_units(row, health, 0, self.layout.width());
            for i in 0..self.units.len() {
                let unit = self.units[i];
                if !unit.lost {
                    self.push(plan, Op::Discard, &unit, 0, row.unit);
                }
            }
        }
    }

    fn choose_update(&self, row: &Row, data: usize, ranges: &Ranges) -> Update {
        let (units, checks) = self.units.split_at(data);
        if row.end - row.start == u64::from(row.unit) * data as u64 {
            return Update::FullStripe;
        }
        let written = units.iter().filter(|unit| unit.is_touched());
        let can_modify = written.clone().all(|unit| !unit.lost);
        let can_reconstruct =
            units.iter().filter(|unit| unit.lost).all(|unit| self.rest(unit, ranges).next().is_none());
        let modify = match self.rules.update {
            UpdateRule::Below(limit) => written.count() < limit as usize,
            UpdateRule::LeastReads => {
                let checks = checks.iter().filter(|check| !check.lost).count();
                let modify = written.count() + checks * ranges.len;
                let rest: usize = units.iter().map(|unit| self.rest(unit, ranges).count()).sum();
                modify < rest
            }
        };
        match (can_modify, can_reconstruct) {
            (true, true) if modify => Update::ReadModifyWrite,
            (_, true) => Update::Reconstruct,
            (true, false) => Update::ReadModifyWrite,
            (false, false) => Update::Decode,
        }
    }

    /// The parts of a data unit that a reconstruct-write reads: the ranges without the written part.
    fn rest(&self, unit: &Unit, ranges: &Ranges) -> impl Iterator<Item = (u32, u32)> + use<> {
        let unit = *unit;
        let whole_units = self.rules.parity_range == ParityRange::DiskSim;
        let (list, len) = (ranges.list, ranges.len);
        let parts = list.into_iter().take(len).flat_map(move |(lo, hi)| {
            if !unit.is_touched() {
                return [(lo, hi), (0, 0)];
            }
            if whole_units {
                return [(0, 0); 2];
            }
            [(lo, hi.min(unit.lo)), (lo.max(unit.hi), hi)]
        });
        parts.filter(|(lo, hi)| lo < hi)
    }

    /// Reads or writes the touched sectors: overwritten data, and their redundancy.
    fn access_touched(&mut self, op: Op, data: usize, ranges: &Ranges, plan: &mut Plan) {
        for i in 0..self.units.len() {
            let unit = self.units[i];
            if unit.lost {
                continue;
            }
            let own = [(unit.lo, unit.hi)];
            let parts = if i < data { &own[..usize::from(unit.is_touched())] } else { ranges.get() };
            for &(lo, hi) in parts {
                let access = self.push(plan, op, &unit, lo, hi);
                let accesses = if op == Op::Read { &mut self.reads } else { &mut self.writes };
                accesses.push((access, i as u32));
            }
        }
    }

    /// Reads the data in the ranges that are not overwritten.
    fn read_rest(&mut self, data: usize, ranges: &Ranges, plan: &mut Plan) {
        for i in 0..data {
            let unit = self.units[i];
            if unit.lost {
                continue;
            }
            for (lo, hi) in self.rest(&unit, ranges) {
                let read = self.push(plan, Op::Read, &unit, lo, hi);
                self.reads.push((read, i as u32));
            }
        }
    }

    /// Reads all remaining data, and a check unit for each lost unit.
    fn read_all(&mut self, data: usize, ranges: &Ranges, plan: &mut Plan) {
        let mut checks_needed = self.units[..data].iter().filter(|unit| unit.lost).count();
        for i in 0..self.units.len() {
            let unit = self.units[i];
            if unit.lost {
                continue;
            }
            if i >= data {
                if checks_needed == 0 {
                    break;
                }
                checks_needed -= 1;
            }
            for &(lo, hi) in ranges.get() {
                let read = self.push(plan, Op::Read, &unit, lo, hi);
                self.reads.push((read, i as u32));
            }
        }
    }

    /// Makes the stripe's writes wait for the reads they need.
    fn order_row(&mut self, data: u32, plan: &mut Plan) {
        for &(write, of) in &self.writes {
            for &(read, from) in &self.reads {
                let needed = match self.rules.order {
                    WriteOrder::ByStripe => true,
                    WriteOrder::Eager => of >= data || of == from,
                    WriteOrder::Phased => false,
                };
                if needed {
                    plan.order(read, write);
                }
            }
        }
    }
}
