//! [`Dozing`]: requests that wait for their turn off the bus, without a segment.
//!
//! Hundreds of them may wait in a deep queue, and nothing happens to most of them for long. Looking at each at every event would
//! make the queue quadratic. A read can be served out of turn only once a segment near its blocks has changed, and so can a write
//! while no segment is free for it. So they are kept in the order of their blocks, and those near a change are found by it.

use std::ops::RangeInclusive;

#[derive(Clone, Debug, Default)]
pub(super) struct Dozing {
    /// In ascending order of their first blocks that have not moved.
    all: Vec<DozingPlace>,
    writes: usize,
    /// The most blocks that one of them ever had left.
    longest: u64,
    /// Those that were not looked at since they began to doze, or since a segment near them changed. Some may doze no more.
    unseen: Vec<usize>,
    /// Of each slot, whether it is among them.
    marked: Vec<bool>,
}

/// Where a request is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DozingPlace {
    first: u64,
    slot: usize,
    read: bool,
}

/// What of a request decides where it is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct DozingRead {
    pub(super) slot: usize,
    /// The first block that has not moved.
    pub(super) first: u64,
    /// The blocks from there to its end.
    pub(super) blocks: u64,
    /// It is a read, not a write.
    pub(super) read: bool,
}

impl DozingRead {
    fn place(self) -> DozingPlace {
        DozingPlace { first: self.first, slot: self.slot, read: self.read }
    }
}

impl Dozing {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn writes(&self) -> usize {
        self.writes
    }

    /// O(requests), of moving a few bytes each.
    pub(super) fn add(&mut self, wanted: DozingRead) {
        let place = self.all.partition_point(|&place| place < wanted.place());
        self.all.insert(place, wanted.place());
        self.writes += usize::from(!wanted.read);
        self.longest = self.longest.max(wanted.blocks);
        self.mark(wanted.slot);
    }

    /// The reverse; `wanted` is as it was added.
    pub(super) fn remove(&mut self, wanted: DozingRead) {
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

    /// Whether the first missing block of a read, or else of a write, is one of `blocks`. O(log requests), and those there.
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

    /// Any segment may have changed: all are to be looked at, or all writes.
    pub(super) fn all_changed(&mut self, reads_too: bool) {
        for at in 0..self.all.len() {
            let place = self.all[at];
            if reads_too || !place.read {
                self.mark(place.slot);
            }
        }
    }

    /// The first of those to look at, by `key`, for which `look` finds something. Those before it have been looked at.
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

    fn read(slot: usize, first: u64, blocks: u64) -> DozingRead {
        DozingRead { slot, first, blocks, read: true }
    }

    /// What there is to look at, in order of the slots.
    fn unseen(dozing: &mut Dozing) -> Vec<usize> {
        let mut all = Vec::new();
        let found: Option<(usize, ())> = dozing.find(
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
    fn a_change_is_for_those_near_it() {
        let mut dozing = Dozing::default();
        for wanted in [read(3, 100, 8), read(1, 500, 8), read(2, 108, 4)] {
            dozing.add(wanted);
        }
        assert_eq!((dozing.len(), unseen(&mut dozing)), (3, vec![1, 2, 3]));
        dozing.changed((90, 108));
        dozing.changed((100, 104));
        assert_eq!(unseen(&mut dozing), [2, 3]);
        dozing.changed((508, 600));
        assert_eq!(unseen(&mut dozing), [1]);
        dozing.remove(read(3, 100, 8));
        dozing.changed((0, 1000));
        assert_eq!(dozing.find(|slot| slot as u64, |slot| (slot == 1).then_some('x')), Some((1, 'x')));
        assert_eq!(unseen(&mut dozing), [2], "those behind what was found are still to be looked at");
        assert!(dozing.any_begins_in(100..=108, true) && !dozing.any_begins_in(100..=107, true));
        assert!(!dozing.any_begins_in(0..=1000, false));
        dozing.add(DozingRead { read: false, ..read(4, 100, 8) });
        assert!(dozing.any_begins_in(100..=107, false) && !dozing.any_begins_in(100..=107, true));
        assert_eq!((dozing.len(), dozing.writes(), unseen(&mut dozing)), (3, 1, vec![4]));
        dozing.all_changed(false);
        assert_eq!(unseen(&mut dozing), [4]);
        dozing.all_changed(true);
        assert_eq!(unseen(&mut dozing), [1, 2, 4]);
    }
}
