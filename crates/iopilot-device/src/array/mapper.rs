//! [`Mapper`]: maps a request of the array to requests of its members.

mod read;
mod rebuild;
mod write;

use super::copies::{CopyChoice, CopySelector, MemberView};
use super::health::Health;
use super::layout::{ArrayLayout, UnitIndex};
use super::plan::{MemberIo, Plan};
use iopilot_block::{Lba, Op, Sectors};

/// How a write updates redundancy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateRule {
    /// The method that needs fewer reads; on a tie reconstruct-write, which does not read blocks that it then
    /// overwrites.
    #[default]
    LeastReads,
    /// Read-modify-write if fewer than this many units of a stripe are written (DiskSim's `RMW vs. reconstruct`,
    /// times the number of disks).
    Below(u32),
}

/// Which sectors of the parity a write touches if it covers several units of a stripe in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParityRange {
    /// Exactly the sectors that change.
    #[default]
    Exact,
    /// DiskSim's range: from the lowest offset over the longest extent. A reconstruct-write also reads the units that
    /// are not written at all.
    DiskSim,
}

/// Which reads a write waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteOrder {
    /// The reads of its stripe.
    #[default]
    ByStripe,
    /// All reads of the request (DiskSim's `Synch writes for safety` 1).
    Phased,
    /// Data wait for the read of the old data in their place, parity for all reads of its stripe (DiskSim's 0).
    Eager,
}

/// The choices that a layout leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingRules {
    /// Read-modify-write or reconstruct-write.
    pub update: UpdateRule,
    /// Sectors of parity.
    pub parity_range: ParityRange,
    /// Which reads a write waits for.
    pub order: WriteOrder,
    /// Requests to a member in the same direction are joined if at most this many sectors lie between them, and the
    /// gap is included; 0 joins adjoining requests only.
    pub merge_gap: u32,
    /// Which copy serves a read.
    pub copy_choice: CopyChoice,
    /// The seed of random choices of copies.
    pub seed: u64,
}

/// One unit of the current stripe.
#[derive(Clone, Copy, Debug)]
struct Unit {
    member: u32,
    /// First sector of the unit on its member.
    base: u64,
    /// The part of it that the request covers; empty where `lo == hi`.
    lo: u32,
    hi: u32,
    lost: bool,
}

impl Unit {
    fn is_touched(&self) -> bool {
        self.lo < self.hi
    }
}

/// Turns requests of an array into plans. It allocates nothing once its buffers and those of the plans have grown.
#[derive(Clone, Debug)]
pub struct Mapper {
    layout: ArrayLayout,
    rules: MappingRules,
    selector: CopySelector,
    /// The last request to each member by kind of operation in the current plan. It may be stale; the plan checks
    /// that.
    last: Vec<[u32; 3]>,
    /// The units of the current stripe.
    units: Vec<Unit>,
    /// The copy chosen for each column.
    columns: Vec<Option<u32>>,
    candidates: Vec<u32>,
    /// Reads and writes of the current stripe: the index in the plan, and the unit.
    reads: Vec<(u32, UnitIndex)>,
    writes: Vec<(u32, UnitIndex)>,
}

/// The part of a request that lies in one stripe.
#[derive(Clone, Copy, Debug)]
struct Row {
    stripe: u64,
    /// Sectors of each unit.
    unit: u32,
    /// First sector within the stripe, and the sector behind the last.
    start: u64,
    end: u64,
}

impl Row {
    /// The touched units: the first, and the one behind the last.
    fn units(&self) -> (u32, u32) {
        let unit = u64::from(self.unit);
        ((self.start / unit) as u32, (self.end.div_ceil(unit)) as u32)
    }

    /// The touched part of a unit.
    fn part(&self, position: UnitIndex) -> (u32, u32) {
        let first = u64::from(position) * u64::from(self.unit);
        let lo = self.start.clamp(first, first + u64::from(self.unit));
        let hi = self.end.clamp(first, first + u64::from(self.unit));
        if lo < hi { ((lo - first) as u32, (hi - first) as u32) } else { (0, 0) }
    }
}

impl Mapper {
    /// A mapper by `layout` and `rules`.
    pub fn new(layout: ArrayLayout, rules: MappingRules) -> Self {
        let members = layout.members() as usize;
        Self {
            selector: CopySelector::new(rules.copy_choice, rules.seed),
            last: vec![[u32::MAX; 3]; members],
            units: Vec::with_capacity(members),
            columns: vec![None; layout.data_units() as usize],
            candidates: Vec::with_capacity(members),
            reads: Vec::with_capacity(2 * members),
            writes: Vec::with_capacity(2 * members),
            layout,
            rules,
        }
    }

    /// The layout.
    pub fn layout(&self) -> &ArrayLayout {
        &self.layout
    }

    /// Plans a read, write or discard of `sectors` at `lba`, within the array; a flush is not mapped. The
    /// organisation must survive the lost members. With parity, a discard covers only whole stripes.
    pub fn plan(
        &mut self,
        op: Op,
        lba: Lba,
        sectors: Sectors,
        health: &Health,
        view: &impl MemberView,
        plan: &mut Plan,
    ) {
        plan.clear(self.rules.order == WriteOrder::Phased);
        if self.layout.copies() > 1 && op == Op::Read {
            self.columns.fill(None);
        }
        let end = lba.0 + u64::from(sectors.0);
        debug_assert!(end <= self.layout.capacity(), "past the end of the array");
        let mut at = lba.0;
        while at < end {
            let stripe = self.layout.address(Lba(at)).stripe;
            let (first, unit) = (self.layout.first_lba(stripe).0, self.layout.unit_sectors(stripe));
            let stripe_end = first + u64::from(unit) * u64::from(self.layout.data_units());
            let row = Row { stripe, unit, start: at - first, end: end.min(stripe_end) - first };
            match op {
                Op::Read => self.read_row(&row, health, view, plan),
                Op::Write => self.write_row(&row, health, plan),
                Op::Discard => self.discard_row(&row, health, plan),
                Op::Flush => {}
            }
            at = first + row.end;
        }
    }

    /// Fills `units` with the positions `from` to before `to` of the stripe.
    fn load_units(&mut self, row: &Row, health: &Health, from: UnitIndex, to: UnitIndex) {
        self.units.clear();
        for position in from..to {
            let place = self.layout.place(row.stripe, position);
            let (lo, hi) = if position < self.layout.data_units() { row.part(position) } else { (0, 0) };
            let lost = health.is_lost(place.member, place.row);
            let base = self.layout.row_lba(place.row).0;
            self.units.push(Unit { member: place.member, base, lo, hi, lost });
        }
    }

    /// Adds a request for a part of a unit; joins it to the member's last request if possible.
    fn push(&mut self, plan: &mut Plan, op: Op, unit: &Unit, lo: u32, hi: u32) -> u32 {
        let io = MemberIo { member: unit.member, op, lba: Lba(unit.base + u64::from(lo)), sectors: Sectors(hi - lo) };
        let kind = match op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Flush | Op::Discard => 2,
        };
        let last = &mut self.last[unit.member as usize][kind];
        if !plan.extend(*last, &io, self.rules.merge_gap) {
            *last = plan.push(io);
        }
        *last
    }
}

#[cfg(test)]
mod tests;
