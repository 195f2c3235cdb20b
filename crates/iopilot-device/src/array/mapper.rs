//! [`Mapper`]: from a request of the array to those of its members.

mod read;
mod rebuild;
mod write;

use super::copies::{CopyChoice, CopySelector, MemberView};
use super::health::Health;
use super::layout::{ArrayLayout, UnitIndex};
use super::plan::{MemberIo, Plan};
use iopilot_block::{Lba, Op, Sectors};

/// How redundancy is kept up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateRule {
    /// Whichever needs fewer reads; reconstruct-write where both need as many, as it reads nothing it then overwrites.
    #[default]
    LeastReads,
    /// Read-modify-write where fewer than this many units of a stripe are written (DiskSim's `RMW vs. reconstruct`,
    /// times the number of disks).
    Below(u32),
}

/// Which sectors of the parity a write touches where it covers several units of a stripe in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParityRange {
    /// Exactly those that change.
    #[default]
    Exact,
    /// DiskSim's: from the lowest offset over the longest extent, and a reconstruct-write reads the units that are not
    /// written at all.
    DiskSim,
}

/// What a write waits for where it needs reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteOrder {
    /// The reads of its stripe.
    #[default]
    ByStripe,
    /// All reads of the request (DiskSim's `Synch writes for safety` 1).
    Phased,
    /// Data: the read of the old data in its place; parity: all reads of its stripe (DiskSim's 0).
    Eager,
}

/// The choices that a map leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingRules {
    /// Read-modify-write or reconstruct-write.
    pub update: UpdateRule,
    /// Sectors of parity.
    pub parity_range: ParityRange,
    /// What writes wait for.
    pub order: WriteOrder,
    /// Requests to a member in the same direction with at most this many sectors between them are joined, the gap
    /// included; 0 joins those that touch.
    pub merge_gap: u32,
    /// Which copy a read goes to.
    pub copy_choice: CopyChoice,
    /// Seed of random choices of copies.
    pub seed: u64,
}

/// One unit of the stripe at hand.
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

/// Turns requests of an array into plans. Nothing is allocated once its buffers and the plans' have grown.
#[derive(Clone, Debug)]
pub struct Mapper {
    layout: ArrayLayout,
    rules: MappingRules,
    selector: CopySelector,
    /// Last request to each member by kind of operation, in the plan at hand; may be stale, which the plan notices.
    last: Vec<[u32; 3]>,
    /// The units of the stripe at hand.
    units: Vec<Unit>,
    /// The copy chosen for each column.
    columns: Vec<Option<u32>>,
    candidates: Vec<u32>,
    /// Reads and writes of the stripe at hand, by index in the plan; of writes, whether of data, and the unit.
    reads: Vec<(u32, UnitIndex)>,
    writes: Vec<(u32, UnitIndex)>,
}

/// The part of a request that lies in one stripe.
#[derive(Clone, Copy, Debug)]
struct Row {
    stripe: u64,
    /// Sectors of each unit.
    unit: u32,
    /// First sector within the stripe, and the one behind the last.
    start: u64,
    end: u64,
}

impl Row {
    /// Units touched: the first and the one behind the last.
    fn units(&self) -> (u32, u32) {
        let unit = u64::from(self.unit);
        ((self.start / unit) as u32, (self.end.div_ceil(unit)) as u32)
    }

    /// The part of a unit that is touched.
    fn part(&self, position: UnitIndex) -> (u32, u32) {
        let first = u64::from(position) * u64::from(self.unit);
        let lo = self.start.clamp(first, first + u64::from(self.unit));
        let hi = self.end.clamp(first, first + u64::from(self.unit));
        if lo < hi { ((lo - first) as u32, (hi - first) as u32) } else { (0, 0) }
    }
}

impl Mapper {
    /// Maps by `layout` and `rules`.
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

    /// The map.
    pub fn layout(&self) -> &ArrayLayout {
        &self.layout
    }

    /// Plans a read, write or discard of `sectors` at `lba`, which lie within the array; a flush is not mapped. What is
    /// lost must be within what the organisation survives. A discard reaches whole stripes only where there is parity.
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

    /// Fills `units` with the stripe's, from `from` on.
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

    /// Adds a request for a part of a unit; joins it to the member's last where it can.
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
