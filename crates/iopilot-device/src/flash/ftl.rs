//! [`Ftl`]: the flash translation layer without time. It decides where units are written, and which blocks are
//! collected and erased.
//!
//! Each die has two open blocks, one for the host's writes and one for the units that garbage collection moves. Each
//! die collects its own garbage. One erased block is kept for moves, so that collection never blocks.

use super::NONE;
use super::blocks::EraseBlocks;
use super::initial::Initial;
use super::map::UnitMap;
use super::model::FlashModel;
use super::shape::FlashShape;
use super::stats::FlashCounters;

/// Erased blocks of a die that the host's writes must leave.
pub(super) const RESERVE: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteFrontier {
    Host = 0,
    Moves = 1,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    block: u32,
    row: u32,
}

#[derive(Clone, Copy, Debug)]
struct Collector {
    /// The block being collected.
    victim: u32,
    /// The next unit of the victim to examine.
    at: u32,
    /// Rows to move for each row that collecting the victim gains.
    pace: f32,
    /// A block to collect for wear levelling: it was erased so much less than others.
    cold: u32,
    /// Whether it collects until there are enough erased blocks.
    active: bool,
    /// No block is worth collecting until a unit is overwritten.
    stuck: bool,
}

/// The next step of garbage collection in a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectionStep {
    /// Moves units into one row.
    Move {
        /// Time in the array to read them.
        read: u64,
        /// The number of units.
        units: u32,
        /// The row they are written to.
        row: u32,
    },
    /// Erases a block.
    Erase(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Ftl {
    pub(super) shape: FlashShape,
    map: UnitMap,
    blocks: EraseBlocks,
    open: Vec<[Open; 2]>,
    collectors: Vec<Collector>,
    any_stuck: bool,
    low: u32,
    high: u32,
    wear_spread: Option<u32>,
    /// Array read times, one for each bit of a cell.
    read: Vec<u64>,
    moved: Vec<u32>,
    pub(super) counters: FlashCounters,
}

impl Ftl {
    pub(super) fn new(model: &FlashModel) -> Self {
        let shape = FlashShape::new(model);
        let map = UnitMap::new(Initial::new(model, &shape), &shape);
        let blocks = EraseBlocks::new(map.initial(), &shape);
        let none = Open { block: NONE, row: 0 };
        let idle = Collector { victim: NONE, at: 0, pace: 1.0, cold: NONE, active: false, stuck: false };
        Self {
            map,
            blocks,
            open: vec![[none; 2]; shape.dies as usize],
            collectors: vec![idle; shape.dies as usize],
            any_stuck: false,
            low: model.ftl.gc_low_blocks,
            high: model.ftl.gc_high_blocks,
            wear_spread: model.ftl.wear_spread,
            read: model.nand.read.iter().map(|t| t.0).collect(),
            moved: Vec::with_capacity(shape.units_per_row as usize),
            counters: FlashCounters::default(),
            shape,
        }
    }

    /// The slot of a unit; [`NONE`] if it holds no data.
    pub(super) fn slot(&self, unit: u32) -> u32 {
        self.map.get(unit, &self.shape)
    }

    pub(super) fn erases(&self) -> &[u32] {
        self.blocks.erases()
    }

    #[cfg(test)]
    pub(super) fn blocks(&self) -> &EraseBlocks {
        &self.blocks
    }

    #[cfg(test)]
    pub(super) fn map(&self) -> &UnitMap {
        &self.map
    }

    /// The unit whose current data are in a slot.
    #[cfg(test)]
    pub(super) fn current_owner(&self, slot: u32) -> Option<u32> {
        let unit = self.blocks.owner(slot, self.map.initial(), &self.shape);
        (unit != NONE && self.slot(unit) == slot).then_some(unit)
    }

    /// Time in the array to read a row.
    pub(super) fn read_time(&self, row: u32) -> u64 {
        self.read[self.shape.row_in_block(row) as usize % self.read.len()]
    }

    /// Whether a die has a row for the host's writes.
    pub(super) fn accepts(&self, die: u32) -> bool {
        self.open[die as usize][WriteFrontier::Host as usize].block != NONE || self.blocks.free(die) > RESERVE
    }

    /// Whether collection cannot wait for idle time.
    pub(super) fn urgent(&self, die: u32) -> bool {
        self.blocks.free(die) < self.low && !self.collectors[die as usize].stuck
    }

    /// Writes units, at most a row, into the next row of a die, and returns that row.
    pub(super) fn place(&mut self, die: u32, stream: WriteFrontier, units: &[u32]) -> u32 {
        let open = &mut self.open[die as usize][stream as usize];
        if open.block == NONE {
            *open = Open { block: self.blocks.open(die, stream == WriteFrontier::Moves, &self.shape), row: 0 };
        }
        let Open { block, row } = *open;
        open.row += 1;
        if open.row == self.shape.rows_per_block {
            open.block = NONE;
            self.blocks.close(block);
        }
        let row = block * self.shape.rows_per_block + row;
        let first = row * self.shape.units_per_row;
        for (slot, &unit) in (first..).zip(units) {
            self.invalidate(unit);
            self.map.set(unit, slot, &self.shape);
            self.blocks.write(slot, unit, &self.shape);
        }
        row
    }

    /// The unit holds no data from now on.
    pub(super) fn trim(&mut self, unit: u32) {
        if self.invalidate(unit) {
            self.map.set(unit, NONE, &self.shape);
            self.counters.trimmed += 1;
        }
    }

    /// Invalidates a unit's data; returns whether it had any.
    fn invalidate(&mut self, unit: u32) -> bool {
        let slot = self.map.get(unit, &self.shape);
        if slot == NONE {
            return false;
        }
        self.blocks.invalidate(slot, &self.shape);
        if self.any_stuck {
            let die = self.shape.die_of_block(self.shape.block_of(slot));
            self.collectors[die as usize].stuck = false;
        }
        true
    }

    /// Whether a die collects. It starts below the low mark, or below the high mark if the die is idle, and stops at
    /// the high mark.
    pub(super) fn collects(&mut self, die: u32, idle: bool) -> bool {
        let free = self.blocks.free(die);
        let (low, high) = (self.low, self.high);
        let c = &mut self.collectors[die as usize];
        if free < low || (idle && free < high) {
            c.active = true;
        } else if free >= high {
            c.active = false;
        }
        c.victim != NONE || c.cold != NONE || (c.active && !c.stuck)
    }

    /// Rows to move for each row of the host, so that the number of erased blocks grows slowly. Faster when they run
    /// out.
    pub(super) fn moves_per_row(&self, die: u32) -> f32 {
        // Two blocks are open during collection.
        let missing = (self.low - 2).saturating_sub(self.blocks.free(die));
        self.collectors[die as usize].pace * (1.02 + 0.5 * missing as f32 / self.low as f32)
    }

    /// Does the next step of collection in a die; `None` if no block is worth collecting.
    pub(super) fn collect(&mut self, die: u32) -> Option<CollectionStep> {
        let at = die as usize;
        if self.collectors[at].victim == NONE {
            let cold = std::mem::replace(&mut self.collectors[at].cold, NONE);
            let victim = if cold == NONE { self.blocks.victim(die, &self.shape) } else { Some(cold) };
            let Some(victim) = victim else {
                self.collectors[at].stuck = true;
                self.any_stuck = true;
                return None;
            };
            self.counters.levelled += u64::from(cold != NONE);
            self.collectors[at].victim = victim;
            self.collectors[at].at = 0;
            let rows = self.blocks.valid(victim).div_ceil(self.shape.units_per_row);
            let gained = self.shape.rows_per_block.saturating_sub(rows).max(1);
            self.collectors[at].pace = rows as f32 / gained as f32;
        }
        let Collector { victim, at: mut next, .. } = self.collectors[at];
        let (first, size) = (self.shape.first_slot(victim), self.shape.units_per_block);
        let mut units = std::mem::take(&mut self.moved);
        units.clear();
        let (mut read, mut last_row, mut left) = (0, NONE, self.blocks.valid(victim));
        while left > 0 && next < size && units.len() < self.shape.units_per_row as usize {
            let slot = first + next;
            next += 1;
            let unit = self.blocks.owner(slot, self.map.initial(), &self.shape);
            if unit == NONE || !self.map.is_still_in(unit, slot) {
                continue;
            }
            units.push(unit);
            left -= 1;
            let row = self.shape.row_of(slot);
            if row != last_row {
                last_row = row;
                read += self.read_time(row);
                self.counters.move_reads += 1;
            }
        }
        self.collectors[at].at = next;
        let step = if units.is_empty() {
            self.collectors[at].victim = NONE;
            self.blocks.start_erase(victim);
            CollectionStep::Erase(victim)
        } else {
            let row = self.place(die, WriteFrontier::Moves, &units);
            self.counters.moved += units.len() as u64;
            self.counters.padded += u64::from(self.shape.units_per_row) - units.len() as u64;
            CollectionStep::Move { read, units: units.len() as u32, row }
        };
        self.moved = units;
        Some(step)
    }

    /// Records that a block has been erased. If another was erased much less often, schedules it for collection
    /// (static wear levelling).
    pub(super) fn erased(&mut self, block: u32) {
        self.blocks.erased(block, &self.shape);
        self.counters.erases += 1;
        let die = self.shape.die_of_block(block);
        let (Some(spread), Some(cold)) = (self.wear_spread, self.blocks.coldest(die, &self.shape)) else { return };
        let erases = self.blocks.erases();
        if erases[block as usize] - erases[cold as usize].min(erases[block as usize]) >= spread {
            self.collectors[die as usize].cold = cold;
        }
    }
}
