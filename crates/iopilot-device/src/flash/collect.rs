//! Changes to the flash of a die: the host's rows, and garbage collection between them.

use super::NONE;
use super::agenda::FlashEvent;
use super::device::FlashDrive;
use super::ftl::{CollectionStep, WriteFrontier};
use super::ops::{FlashOp, FlashOpKind};

/// The most rows of the host that wait in a die, besides the one being programmed.
const ROWS_WAITING: u32 = 1;

enum Placed {
    Row,
    /// The row waits for parts that are being read, or for more units.
    Short,
    /// No waiting unit was ready, or all were discarded.
    Nothing,
}

impl FlashDrive {
    /// The next exclusive operation of a die. While the host writes, collection moves as many rows per host row as
    /// keep the number of erased blocks. Without host rows it runs freely.
    pub(super) fn next_change(&mut self, die: u32) -> Option<u32> {
        let at = die as usize;
        let host = self.dies[at].programs.len > 0;
        if !self.ftl.collects(die, !host) {
            self.dies[at].debt = 0.0;
        } else if !host || self.dies[at].debt >= 1.0 {
            if let Some(step) = self.ftl.collect(die) {
                if matches!(step, CollectionStep::Move { .. }) {
                    self.dies[at].debt = (self.dies[at].debt - 1.0).max(0.0);
                }
                return Some(self.collection(die, step));
            }
            self.dies[at].debt = 0.0;
        }
        if host && self.ftl.collects(die, false) {
            self.dies[at].debt += self.ftl.moves_per_row(die);
        }
        self.ops.pop(&mut self.dies[at].programs)
    }

    fn collection(&mut self, die: u32, step: CollectionStep) -> u32 {
        let op = match step {
            CollectionStep::Move { read, units, row } => FlashOp {
                // Out to the controller for error correction, and in again.
                bytes: if self.copy_back { 0 } else { 2 * units * self.ftl.shape.unit_bytes },
                before: read,
                after: self.program_time(row),
                ..FlashOp::new(FlashOpKind::Move, die, NONE)
            },
            CollectionStep::Erase(block) => {
                FlashOp { after: self.erase, ..FlashOp::new(FlashOpKind::Erase, die, block) }
            }
        };
        self.ops.add(op)
    }

    /// Time in the array to program a row.
    fn program_time(&self, row: u32) -> u64 {
        self.program[self.ftl.shape.row_in_block(row) as usize % self.program.len()]
    }

    /// A program, move or erase is done.
    pub(super) fn change_done(&mut self, op: u32) {
        let op = self.ops.remove(op);
        match op.kind {
            FlashOpKind::Program => {
                self.buffer.written(op.owner);
                self.answer_durable();
                self.admit();
                self.place();
            }
            FlashOpKind::Erase => {
                self.ftl.erased(op.owner);
                self.place();
            }
            _ => {}
        }
    }

    /// Writes rows from the buffer to dies that have room, in striping order.
    pub(super) fn place(&mut self) {
        let size = self.ftl.shape.units_per_row;
        loop {
            let dirty = self.buffer.dirty();
            let forced = self.buffer.first_dirty() <= self.flush_to;
            let wanted = dirty >= size && (dirty > self.keep || !self.waiting.is_empty());
            if dirty == 0 || !(forced || wanted) {
                return;
            }
            if self.now < self.placement_free {
                if !self.placement_due {
                    self.placement_due = true;
                    self.agenda.push(self.placement_free, FlashEvent::Place);
                }
                return;
            }
            let Some(die) = self.next_die() else { return };
            match self.place_row(die, forced) {
                Placed::Row => {}
                Placed::Short => {
                    // Dropped entries have left room, and no later event may use it.
                    let dirty = self.buffer.dirty();
                    self.answer_durable();
                    self.admit();
                    if self.buffer.dirty() == dirty {
                        return;
                    }
                }
                Placed::Nothing => {
                    self.answer_durable();
                    self.admit();
                }
            }
        }
    }

    /// The next die in striping order that takes a row.
    fn next_die(&mut self) -> Option<u32> {
        let count = self.ftl.shape.dies;
        for _ in 0..count {
            let die = self.ftl.shape.order[self.stripe as usize];
            self.stripe = if self.stripe + 1 == count { 0 } else { self.stripe + 1 };
            if self.dies[die as usize].programs.len < ROWS_WAITING {
                if self.ftl.accepts(die) {
                    return Some(die);
                }
                // It may have stopped collecting when no block was worth it.
                self.kick(die);
            }
        }
        None
    }

    /// Writes one row.
    fn place_row(&mut self, die: u32, forced: bool) -> Placed {
        let size = self.ftl.shape.units_per_row as usize;
        let mut units = std::mem::take(&mut self.row_units);
        let mut entries = std::mem::take(&mut self.row_entries);
        units.clear();
        entries.clear();
        while units.len() < size {
            let Some((entry, unit)) = self.buffer.pop() else { break };
            let slot = if self.buffer.is_full(entry) { NONE } else { self.ftl.slot(unit) };
            if slot == NONE {
                units.push(unit);
                entries.push(entry);
            } else {
                self.buffer.fill(entry);
                self.fill(entry, slot);
            }
        }
        let enough = units.len() == size || (forced && !units.is_empty());
        if enough {
            let mut next = NONE;
            for &entry in entries.iter().rev() {
                self.buffer.write(entry, next);
                next = entry;
            }
            let row = self.ftl.place(die, WriteFrontier::Host, &units);
            self.charge_placement(&units);
            self.ftl.counters.programmed += units.len() as u64;
            self.ftl.counters.padded += (size - units.len()) as u64;
            let op = FlashOp {
                bytes: units.len() as u32 * self.ftl.shape.unit_bytes,
                after: self.program_time(row),
                ..FlashOp::new(FlashOpKind::Program, die, next)
            };
            let op = self.ops.add(op);
            self.row_units = units;
            self.row_entries = entries;
            self.queue_program(op);
            return Placed::Row;
        }
        for &entry in entries.iter().rev() {
            self.buffer.push_back(entry);
        }
        let placed = if entries.is_empty() { Placed::Nothing } else { Placed::Short };
        self.row_units = units;
        self.row_entries = entries;
        placed
    }

    /// Charges the controller's time for each run of consecutive units.
    fn charge_placement(&mut self, units: &[u32]) {
        let mut runs = 0;
        for &unit in units {
            runs += u64::from(unit != self.last_placed.wrapping_add(1));
            self.last_placed = unit;
        }
        self.placement_free = self.now.max(self.placement_free) + runs * self.placement;
    }

    /// Reads the missing part of a unit that was written in part.
    fn fill(&mut self, entry: u32, slot: u32) {
        self.ftl.counters.filled += 1;
        let (row, die) = (self.ftl.shape.row_of(slot), self.ftl.shape.die_of_block(self.ftl.shape.block_of(slot)));
        let op = FlashOp {
            lane: self.lane_of(slot),
            bytes: self.ftl.shape.unit_bytes,
            before: self.ftl.read_time(row),
            ..FlashOp::new(FlashOpKind::Fill, die, entry)
        };
        let op = self.ops.add(op);
        self.queue_read(op);
    }
}
