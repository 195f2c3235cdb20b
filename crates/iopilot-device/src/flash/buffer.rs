//! [`FlashWriteBuffer`]: units on their way to flash, in DRAM.
//!
//! A unit waits in order of arrival until a row of units is written. A write to a waiting unit replaces its data and
//! keeps its place (coalescing). Each entry has a ticket that rises with time. A flush waits until no entry up to its
//! ticket is left: then everything before it is in flash.

use super::NONE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryState {
    Free,
    /// Waits to be written.
    Dirty,
    /// A part was written by the host; the rest is being read from flash.
    Filling,
    /// Was dirty or filling when a discard came.
    Dropped,
    /// Being written to flash.
    InFlight,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    unit: u32,
    state: EntryState,
    /// Its valid sectors.
    mask: u64,
    ticket: u64,
    /// The next entry in the list of free or dirty entries, or in its row.
    next: u32,
    /// The next entry with the same hash.
    chain: u32,
    older: u32,
    newer: u32,
}

/// The result of writing a unit to the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    New,
    Coalesced,
    /// There is no room now.
    Full,
}

/// How much of a unit is in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufferedPart {
    Nothing,
    /// Some of the requested sectors, but not all.
    Some,
    All,
}

#[derive(Clone, Debug)]
pub(super) struct FlashWriteBuffer {
    entries: Vec<Entry>,
    buckets: Vec<u32>,
    free: u32,
    dirty_first: u32,
    dirty_last: u32,
    dirty: u32,
    oldest: u32,
    newest: u32,
    ticket: u64,
    /// All sectors of a unit.
    full: u64,
}

impl FlashWriteBuffer {
    pub(super) fn new(units: u32, unit_sectors: u32) -> Self {
        let empty = Entry {
            unit: NONE,
            state: EntryState::Free,
            mask: 0,
            ticket: 0,
            next: NONE,
            chain: NONE,
            older: NONE,
            newer: NONE,
        };
        let mut entries = vec![empty; units as usize];
        for (i, entry) in (1..units).zip(&mut entries) {
            entry.next = i;
        }
        Self {
            entries,
            buckets: vec![NONE; (units as usize * 2).next_power_of_two()],
            free: 0,
            dirty_first: NONE,
            dirty_last: NONE,
            dirty: 0,
            oldest: NONE,
            newest: NONE,
            ticket: 0,
            full: u64::MAX >> (64 - unit_sectors),
        }
    }

    /// The number of entries that wait to be written.
    pub(super) fn dirty(&self) -> u32 {
        self.dirty
    }

    /// The ticket of the newest entry; 0 before the first.
    pub(super) fn ticket(&self) -> u64 {
        self.ticket
    }

    /// The ticket of the oldest entry not in flash; `u64::MAX` if there is none.
    pub(super) fn oldest(&self) -> u64 {
        if self.oldest == NONE { u64::MAX } else { self.entries[self.oldest as usize].ticket }
    }

    fn bucket(&self, unit: u32) -> usize {
        (unit.wrapping_mul(0x9e37_79b1) as usize) & (self.buckets.len() - 1)
    }

    /// The newest entry of a unit.
    fn find(&self, unit: u32) -> u32 {
        let mut at = self.buckets[self.bucket(unit)];
        while at != NONE && self.entries[at as usize].unit != unit {
            at = self.entries[at as usize].chain;
        }
        at
    }

    /// How much of the sectors `mask` of a unit is in the buffer.
    pub(super) fn holds(&self, unit: u32, mask: u64) -> BufferedPart {
        match self.find(unit) {
            NONE => BufferedPart::Nothing,
            at => match self.entries[at as usize].mask & mask {
                0 => BufferedPart::Nothing,
                found if found == mask => BufferedPart::All,
                _ => BufferedPart::Some,
            },
        }
    }

    /// Takes the sectors `mask` of a unit.
    pub(super) fn put(&mut self, unit: u32, mask: u64) -> Put {
        let mut mask = mask;
        let held = self.find(unit);
        if held != NONE {
            let entry = &mut self.entries[held as usize];
            if matches!(entry.state, EntryState::Dirty | EntryState::Filling) {
                entry.mask |= mask;
                return Put::Coalesced;
            }
            // The other sectors are still in the buffer.
            mask = self.full;
        }
        let at = self.free;
        if at == NONE {
            return Put::Full;
        }
        self.free = self.entries[at as usize].next;
        self.ticket += 1;
        let bucket = self.bucket(unit);
        self.entries[at as usize] = Entry {
            unit,
            state: EntryState::Dirty,
            mask,
            ticket: self.ticket,
            next: NONE,
            chain: self.buckets[bucket],
            older: self.newest,
            newer: NONE,
        };
        self.buckets[bucket] = at;
        match self.newest {
            NONE => self.oldest = at,
            last => self.entries[last as usize].newer = at,
        }
        self.newest = at;
        self.append_dirty(at);
        Put::New
    }

    fn append_dirty(&mut self, at: u32) {
        match self.dirty_last {
            NONE => self.dirty_first = at,
            last => self.entries[last as usize].next = at,
        }
        self.dirty_last = at;
        self.dirty += 1;
    }

    /// Inserts an entry among the dirty ones, which are in order of tickets. Its place is near the front.
    fn insert_dirty(&mut self, at: u32) {
        let ticket = self.entries[at as usize].ticket;
        let (mut before, mut after) = (NONE, self.dirty_first);
        while after != NONE && self.entries[after as usize].ticket < ticket {
            before = after;
            after = self.entries[after as usize].next;
        }
        self.entries[at as usize].next = after;
        match before {
            NONE => self.dirty_first = at,
            other => self.entries[other as usize].next = at,
        }
        if after == NONE {
            self.dirty_last = at;
        }
        self.dirty += 1;
    }

    /// The ticket of the entry that has waited longest to be written.
    pub(super) fn first_dirty(&self) -> u64 {
        if self.dirty_first == NONE { u64::MAX } else { self.entries[self.dirty_first as usize].ticket }
    }

    /// Takes the entry that has waited longest, and its unit. Frees dropped entries on the way.
    pub(super) fn pop(&mut self) -> Option<(u32, u32)> {
        loop {
            let at = self.dirty_first;
            if at == NONE {
                return None;
            }
            let entry = &mut self.entries[at as usize];
            self.dirty_first = std::mem::replace(&mut entry.next, NONE);
            if self.dirty_first == NONE {
                self.dirty_last = NONE;
            }
            self.dirty -= 1;
            if entry.state == EntryState::Dropped {
                self.release(at);
                continue;
            }
            return Some((at, entry.unit));
        }
    }

    /// Whether all sectors of an entry are valid.
    pub(super) fn is_full(&self, at: u32) -> bool {
        self.entries[at as usize].mask == self.full
    }

    /// Puts a taken entry back in its place.
    pub(super) fn push_back(&mut self, at: u32) {
        self.insert_dirty(at);
    }

    /// The rest of a taken entry is being read.
    pub(super) fn fill(&mut self, at: u32) {
        self.entries[at as usize].state = EntryState::Filling;
    }

    /// The rest of an entry has been read: it is dirty again, in its old place.
    pub(super) fn filled(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        if entry.state == EntryState::Dropped {
            self.release(at);
            return;
        }
        entry.state = EntryState::Dirty;
        entry.mask = self.full;
        self.insert_dirty(at);
    }

    /// A taken entry is being written, before `next` in its row.
    pub(super) fn write(&mut self, at: u32, next: u32) {
        let full = self.full;
        let entry = &mut self.entries[at as usize];
        entry.state = EntryState::InFlight;
        // The sectors that were never written hold no data.
        entry.mask = full;
        entry.next = next;
    }

    /// The entries of a row are in flash: frees them.
    pub(super) fn written(&mut self, first: u32) {
        let mut at = first;
        while at != NONE {
            let next = self.entries[at as usize].next;
            self.unchain(at);
            self.release(at);
            at = next;
        }
    }

    /// Drops the entries of a discarded unit.
    pub(super) fn discard(&mut self, unit: u32) {
        loop {
            let at = self.find(unit);
            if at == NONE {
                return;
            }
            self.unchain(at);
            let entry = &mut self.entries[at as usize];
            if matches!(entry.state, EntryState::Dirty | EntryState::Filling) {
                entry.state = EntryState::Dropped;
            }
        }
    }

    /// Takes an entry out of its hash chain, if it is in one.
    fn unchain(&mut self, at: u32) {
        let bucket = self.bucket(self.entries[at as usize].unit);
        let after = self.entries[at as usize].chain;
        let mut here = self.buckets[bucket];
        if here == at {
            self.buckets[bucket] = after;
            return;
        }
        while here != NONE {
            let next = self.entries[here as usize].chain;
            if next == at {
                self.entries[here as usize].chain = after;
                return;
            }
            here = next;
        }
    }

    fn release(&mut self, at: u32) {
        let Entry { older, newer, .. } = self.entries[at as usize];
        match older {
            NONE => self.oldest = newer,
            other => self.entries[other as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            other => self.entries[other as usize].older = older,
        }
        let entry = &mut self.entries[at as usize];
        entry.state = EntryState::Free;
        entry.unit = NONE;
        entry.next = self.free;
        self.free = at;
    }
}

#[cfg(test)]
mod tests;
