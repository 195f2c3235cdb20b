//! [`WriteBuffer`]: units on their way to flash, in DRAM.
//!
//! A unit waits in order of arrival until a row of them is written. Written again while it waits it stays where it is
//! and takes the new data (coalescing). Each entry has a ticket, rising with time; what was acknowledged before a ticket
//! is in flash when no older entry is left, which is what flushes wait for.

use super::NONE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EraseBlockState {
    Free,
    /// Waits to be written.
    Dirty,
    /// A part was written, and the rest is being read from flash.
    Filling,
    /// Dirty or filling no more: a discard came.
    Dropped,
    /// Being written.
    InFlight,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    unit: u32,
    state: EraseBlockState,
    /// Its sectors that are there.
    mask: u64,
    ticket: u64,
    /// In the list of free or dirty entries, or of those in one row.
    next: u32,
    /// With the same hash.
    chain: u32,
    older: u32,
    newer: u32,
}

/// What became of a unit written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    New,
    Coalesced,
    /// There is no room now.
    Full,
}

/// What the buffer has of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufferedPart {
    Nothing,
    /// Some of the sectors asked for, but not all.
    Some,
    All,
}

#[derive(Clone, Debug)]
pub(super) struct WriteBuffer {
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

impl WriteBuffer {
    pub(super) fn new(units: u32, unit_sectors: u32) -> Self {
        let empty = Entry {
            unit: NONE,
            state: EraseBlockState::Free,
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

    /// Entries that wait to be written.
    pub(super) fn dirty(&self) -> u32 {
        self.dirty
    }

    /// The ticket of the newest entry; 0 before the first.
    pub(super) fn ticket(&self) -> u64 {
        self.ticket
    }

    /// The ticket of the oldest entry not in flash; the largest number where there is none.
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

    /// What is there of the sectors `mask` of a unit.
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
            if matches!(entry.state, EraseBlockState::Dirty | EraseBlockState::Filling) {
                entry.mask |= mask;
                return Put::Coalesced;
            }
            // The rest is still here.
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
            state: EraseBlockState::Dirty,
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

    /// Puts an entry back among the dirty ones, which are in order of tickets: it is near the front.
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

    /// The ticket of the entry that waits longest to be written.
    pub(super) fn first_dirty(&self) -> u64 {
        if self.dirty_first == NONE { u64::MAX } else { self.entries[self.dirty_first as usize].ticket }
    }

    /// Takes the entry that waits longest, and its unit. Entries that were dropped are freed on the way.
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
            if entry.state == EraseBlockState::Dropped {
                self.release(at);
                continue;
            }
            return Some((at, entry.unit));
        }
    }

    /// Whether all sectors of an entry are there.
    pub(super) fn is_full(&self, at: u32) -> bool {
        self.entries[at as usize].mask == self.full
    }

    /// An entry taken is put back where it was.
    pub(super) fn push_back(&mut self, at: u32) {
        self.insert_dirty(at);
    }

    /// The rest of an entry taken is being read.
    pub(super) fn fill(&mut self, at: u32) {
        self.entries[at as usize].state = EraseBlockState::Filling;
    }

    /// The rest has been read: it is the next to be written.
    pub(super) fn filled(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        if entry.state == EraseBlockState::Dropped {
            self.release(at);
            return;
        }
        entry.state = EraseBlockState::Dirty;
        entry.mask = self.full;
        self.insert_dirty(at);
    }

    /// An entry taken is being written, before `next` in its row.
    pub(super) fn write(&mut self, at: u32, next: u32) {
        let full = self.full;
        let entry = &mut self.entries[at as usize];
        entry.state = EraseBlockState::InFlight;
        // Nothing is there of the sectors that nobody wrote.
        entry.mask = full;
        entry.next = next;
    }

    /// The entries of a row are in flash.
    pub(super) fn written(&mut self, first: u32) {
        let mut at = first;
        while at != NONE {
            let next = self.entries[at as usize].next;
            self.unchain(at);
            self.release(at);
            at = next;
        }
    }

    /// The unit is discarded.
    pub(super) fn discard(&mut self, unit: u32) {
        loop {
            let at = self.find(unit);
            if at == NONE {
                return;
            }
            self.unchain(at);
            let entry = &mut self.entries[at as usize];
            if matches!(entry.state, EraseBlockState::Dirty | EraseBlockState::Filling) {
                entry.state = EraseBlockState::Dropped;
            }
        }
    }

    /// Takes an entry out of its hash chain, if it is there.
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
        entry.state = EraseBlockState::Free;
        entry.unit = NONE;
        entry.next = self.free;
        self.free = at;
    }
}

#[cfg(test)]
mod tests;
