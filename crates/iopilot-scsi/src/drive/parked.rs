//! [`ParkedRequests`]: requests that wait for their turn off the bus, without a segment.
//!
//! A deep queue may hold hundreds of them, and most see no change for long. Examining each at every event would make
//! the queue quadratic. A read can be served out of turn only once a segment near its blocks has changed. The same
//! holds for a write while no segment is free for it. So they are kept in the order of their blocks, and a change
//! finds those near it.

use std::ops::RangeInclusive;

#[derive(Clone, Debug, Default)]
pub(super) struct ParkedRequests {
    /// In ascending order of their first unmoved blocks.
    all: Vec<ParkedKey>,
    writes: usize,
    /// The most blocks that any of them ever had left.
    longest: u64,
    /// Slots not examined since they were parked, or since a segment near them changed. Some may no longer be parked.
    unseen: Vec<usize>,
    /// For each slot, whether it is in `unseen`.
    marked: Vec<bool>,
}

/// The sort key of a parked request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ParkedKey {
    first: u64,
    slot: usize,
    read: bool,
}

/// What determines the sort key of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParkedEntry {
    pub(super) slot: usize,
    /// The first block that has not moved.
    pub(super) first: u64,
    /// The blocks from `first` to the end of the request.
    pub(super) blocks: u64,
    /// True for a read, false for a write.
    pub(super) read: bool,
}

impl ParkedEntry {
    fn place(self) -> ParkedKey {
        ParkedKey { first: self.first, slot: self.slot, read: self.read }
    }
}

impl ParkedRequests {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn writes(&self) -> usize {
        self.writes
    }

    /// O(requests), for moving a few bytes each.
    pub(super) fn add(&mut self, wanted: ParkedEntry) {
        let place = self.all.partition_point(|&place| place < wanted.place());
        self.all.insert(place, wanted.place());
        self.writes += usize::from(!wanted.read);
        self.longest = self.longest.max(wanted.blocks);
        self.mark(wanted.slot);
    }

    /// Removes a request; `wanted` must equal what was added.
    pub(super) fn remove(&mut self, wanted: ParkedEntry) {
        if let Ok(place) = self.all.binary_search(&wanted.place()) {
            self.all.remove(place);
            self.writes -= usize::from(!wanted.read);
        }
    }

    fn mark(&mut self, slot: usize) {
        if slot >= self.marked.len() {
            self.marked.resize(slot + 1, false);
            self.unseen.reserve(slot + 1);
        }
        if !std::mem::replace(&mut self.marked[slot], true) {
            self.unseen.push(slot);
        }
    }

    fn from(&self, block: u64) -> usize {
        self.all.partition_point(|place| place.first < block)
    }

    /// Whether the first unmoved block of a parked read (or write, by `read`) is in `blocks`. O(log requests +
    /// matches).
    pub(super) fn any_begins_in(&self, blocks: RangeInclusive<u64>, read: bool) -> bool {
        let mut there = self.all[self.from(*blocks.start())..].iter().take_while(|place| place.first <= *blocks.end());
        there.any(|place| place.read == read)
    }

    /// A segment that holds or held the blocks from `start` to before `end` has changed.
    pub(super) fn changed(&mut self, (start, end): (u64, u64)) {
        for at in self.from(start.saturating_sub(self.longest))..self.all.len() {
            let place = self.all[at];
            if place.first > end {
                break;
            }
            self.mark(place.slot);
        }
    }

    /// Any segment may have changed: marks all requests, or all writes, for examination.
    pub(super) fn all_changed(&mut self, reads_too: bool) {
        for at in 0..self.all.len() {
            let place = self.all[at];
            if reads_too || !place.read {
                self.mark(place.slot);
            }
        }
    }

    /// The first marked request, by `key`, for which `look` finds something. Those before it are no longer marked.
    pub(super) fn find<T>(
        &mut self,
        key: impl Fn(usize) -> u64,
        mut look: impl FnMut(usize) -> Option<T>,
    ) -> Option<(usize, T)> {
        self.unseen.sort_unstable_by_key(|&slot| key(slot));
        let marked = &mut self.marked;
        let mut seen = 0;
        let found = self.unseen.iter().find_map(|&slot| {
            seen += 1;
            marked[slot] = false;
            Some((slot, look(slot)?))
        });
        self.unseen.drain(..seen);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(slot: usize, first: u64, blocks: u64) -> ParkedEntry {
        ParkedEntry { slot, first, blocks, read: true }
    }

    /// The marked requests, in order of the slots.
    fn unseen(parked: &mut ParkedRequests) -> Vec<usize> {
        let mut all = Vec::new();
        let found: Option<(usize, ())> = parked.find(
            |slot| slot as u64,
            |slot| {
                all.push(slot);
                None
            },
        );
        assert!(found.is_none());
        all
    }

    #[test]
    fn a_change_marks_the_requests_near_it() {
        let mut parked = ParkedRequests::default();
        for wanted in [read(3, 100, 8), read(1, 500, 8), read(2, 108, 4)] {
            parked.add(wanted);
        }
        assert_eq!((parked.len(), unseen(&mut parked)), (3, vec![1, 2, 3]));
        parked.changed((90, 108));
        parked.changed((100, 104));
        assert_eq!(unseen(&mut parked), [2, 3]);
        parked.changed((508, 600));
        assert_eq!(unseen(&mut parked), [1]);
        parked.remove(read(3, 100, 8));
        parked.changed((0, 1000));
        assert_eq!(parked.find(|slot| slot as u64, |slot| (slot == 1).then_some('x')), Some((1, 'x')));
        assert_eq!(unseen(&mut parked), [2], "those behind the match are still marked");
        assert!(parked.any_begins_in(100..=108, true) && !parked.any_begins_in(100..=107, true));
        assert!(!parked.any_begins_in(0..=1000, false));
        parked.add(ParkedEntry { read: false, ..read(4, 100, 8) });
        assert!(parked.any_begins_in(100..=107, false) && !parked.any_begins_in(100..=107, true));
        assert_eq!((parked.len(), parked.writes(), unseen(&mut parked)), (3, 1, vec![4]));
        parked.all_changed(false);
        assert_eq!(unseen(&mut parked), [4]);
        parked.all_changed(true);
        assert_eq!(unseen(&mut parked), [1, 2, 4]);
    }
}
