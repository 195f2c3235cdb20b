//! [`UnitMap`]: the place of each logical unit, stored as differences from the initial state.
//!
//! A run touches a small part of a large drive. Units that moved are in a hash table with eight bytes an entry. Once
//! it holds a quarter of all units, a plain array of four bytes a unit replaces it.

use super::initial::Initial;
use super::shape::FlashShape;

/// Drives with at most this many units have the array from the start.
const SMALL: u32 = 1 << 16;

#[derive(Clone, Debug)]
pub(super) struct UnitMap {
    initial: Initial,
    table: Table,
}

#[derive(Clone, Debug)]
enum Table {
    Sparse(Sparse),
    Dense(Vec<u32>),
}

/// Open addressing with linear probing; entries are never removed.
#[derive(Clone, Debug)]
struct Sparse {
    /// The unit in the upper half, the slot in the lower; all ones if free.
    entries: Vec<u64>,
    count: usize,
    shift: u32,
}

const FREE: u64 = u64::MAX;

impl Sparse {
    fn with_bits(bits: u32) -> Self {
        Self { entries: vec![FREE; 1 << bits], count: 0, shift: 64 - bits }
    }

    /// The index of the unit's entry, or of the free one where it would go.
    fn find(&self, unit: u32) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = (u64::from(unit).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            let entry = self.entries[at];
            if entry == FREE || (entry >> 32) as u32 == unit {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn set(&mut self, unit: u32, slot: u32) {
        let at = self.find(unit);
        let new = self.entries[at] == FREE;
        self.entries[at] = u64::from(unit) << 32 | u64::from(slot);
        if new {
            self.count += 1;
            if self.count * 4 > self.entries.len() * 3 {
                let mut larger = Self::with_bits(64 - self.shift + 1);
                for &entry in self.entries.iter().filter(|&&e| e != FREE) {
                    let at = larger.find((entry >> 32) as u32);
                    larger.entries[at] = entry;
                }
                larger.count = self.count;
                *self = larger;
            }
        }
    }
}

impl UnitMap {
    pub(super) fn new(initial: Initial, shape: &FlashShape) -> Self {
        let mut map = Self { initial, table: Table::Sparse(Sparse::with_bits(12)) };
        if shape.logical <= SMALL {
            map.make_dense(shape);
        }
        map
    }

    pub(super) fn initial(&self) -> &Initial {
        &self.initial
    }

    /// The slot of a unit; [`super::NONE`] if it holds no data.
    pub(super) fn get(&self, unit: u32, shape: &FlashShape) -> u32 {
        match &self.table {
            Table::Dense(slots) => slots[unit as usize],
            Table::Sparse(sparse) => match sparse.entries[sparse.find(unit)] {
                FREE => self.initial.slot(unit, shape),
                entry => entry as u32,
            },
        }
    }

    /// Whether a unit is still in a slot that it was written to, or that it was in at time 0.
    pub(super) fn is_still_in(&self, unit: u32, slot: u32) -> bool {
        match &self.table {
            Table::Dense(slots) => slots[unit as usize] == slot,
            Table::Sparse(sparse) => match sparse.entries[sparse.find(unit)] {
                FREE => true,
                entry => entry as u32 == slot,
            },
        }
    }

    pub(super) fn set(&mut self, unit: u32, slot: u32, shape: &FlashShape) {
        match &mut self.table {
            Table::Dense(slots) => slots[unit as usize] = slot,
            Table::Sparse(sparse) => {
                sparse.set(unit, slot);
                if sparse.count as u64 * 4 > u64::from(shape.logical) {
                    self.make_dense(shape);
                }
            }
        }
    }

    fn make_dense(&mut self, shape: &FlashShape) {
        let slots = (0..shape.logical).map(|unit| self.get(unit, shape)).collect();
        self.table = Table::Dense(slots);
    }

    /// Bytes of memory in use.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        match &self.table {
            Table::Dense(slots) => slots.len() * 4,
            Table::Sparse(sparse) => sparse.entries.len() * 8,
        }
    }
}
