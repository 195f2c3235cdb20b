//! [`Directory`]: the disk segments in the cache, and their blocks.

use crate::blocks::SegmentBlocks;
use iopilot_block::{List, Lru};

/// A segment of the cache. A block is valid, coming (in flight), doomed (in flight, but written meanwhile), or a hole (none
/// of the three).
#[derive(Clone, Debug, Default)]
pub(crate) struct CacheSegment {
    pub(crate) valid: SegmentBlocks,
    pub(crate) coming: SegmentBlocks,
    pub(crate) doomed: SegmentBlocks,
    /// Valid blocks that were hit at least once.
    pub(crate) used: SegmentBlocks,
    /// Partial reads that wait for coming blocks.
    pub(crate) waiters: List<u32>,
    /// The number of its prefetches that wait to be sent.
    pub(crate) put_off: u32,
    /// Whether the slot holds a segment.
    present: bool,
}

impl CacheSegment {
    pub(crate) const fn is_present(&self) -> bool {
        self.present
    }

    fn is_empty(&self) -> bool {
        (self.valid | self.coming | self.doomed).is_empty()
    }
}

/// The segments of the cache by the number of their disk segment, in order of use. A segment is pinned while it waits for
/// the disk or is copied from; a pinned segment is not evicted. A segment without blocks is removed at once, unless it is
/// pinned.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    lru: Lru<u64, CacheSegment>,
    /// The number of slots that ever held a segment.
    slots: u32,
    /// The largest number of segments that may be held.
    limit: u32,
    evictions: u64,
}

impl Directory {
    pub(crate) fn new(segments: u32) -> Self {
        Self { lru: Lru::new(segments), slots: 0, limit: segments, evictions: 0 }
    }

    /// An empty directory of `segments` segments, which keeps the count of evictions.
    pub(crate) fn emptied(&self, segments: u32) -> Self {
        Self { evictions: self.evictions, ..Self::new(segments) }
    }

    pub(crate) fn find(&self, number: u64) -> Option<u32> {
        self.lru.find(number)
    }

    /// The number of the disk segment that a slot holds.
    pub(crate) fn number(&self, slot: u32) -> u64 {
        self.lru.key(slot)
    }

    pub(crate) fn get(&self, slot: u32) -> &CacheSegment {
        self.lru.get(slot)
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut CacheSegment {
        self.lru.get_mut(slot)
    }

    pub(crate) fn len(&self) -> u32 {
        self.lru.len()
    }

    pub(crate) const fn evictions(&self) -> u64 {
        self.evictions
    }

    /// Sets how many segments may be held. Evicts the least recently used ones beyond that; pinned ones are evicted later,
    /// when another segment needs room.
    pub(crate) fn set_limit(&mut self, segments: u32) {
        self.limit = segments.max(1);
        self.make_room(self.limit);
    }

    /// Evicts segments until at most `segments` are held. False if too many are pinned.
    fn make_room(&mut self, segments: u32) -> bool {
        while self.lru.len() > segments {
            let Some(victim) = self.lru.oldest() else { return false };
            self.remove(victim);
            self.evictions += 1;
        }
        true
    }

    /// Allocates a segment for a disk segment that is absent. All its blocks are holes. `None` if every segment is pinned.
    pub(crate) fn allocate(&mut self, number: u64) -> Option<u32> {
        if !self.make_room(self.limit - 1) {
            return None;
        }
        let slot = self.lru.insert(number, CacheSegment { present: true, ..CacheSegment::default() });
        self.slots = self.slots.max(slot + 1);
        Some(slot)
    }

    /// Whether another segment can be allocated without an eviction.
    pub(crate) fn has_room(&self) -> bool {
        self.lru.len() < self.limit
    }

    pub(crate) fn touch(&mut self, slot: u32) {
        self.lru.touch(slot);
    }

    pub(crate) fn pin(&mut self, slot: u32) {
        self.lru.pin(slot);
    }

    pub(crate) fn unpin(&mut self, slot: u32) {
        self.lru.unpin(slot);
        self.free_if_empty(slot);
    }

    /// Turns valid blocks into holes.
    pub(crate) fn take_out(&mut self, slot: u32, blocks: SegmentBlocks) {
        let segment = self.get_mut(slot);
        segment.valid = segment.valid - blocks;
        self.free_if_empty(slot);
    }

    fn free_if_empty(&mut self, slot: u32) {
        if self.get(slot).is_empty() && !self.lru.is_pinned(slot) {
            self.remove(slot);
        }
    }

    fn remove(&mut self, slot: u32) {
        self.lru.get_mut(slot).present = false;
        self.lru.remove(slot);
    }

    /// The number of slots that ever held a segment.
    pub(crate) const fn slots(&self) -> u32 {
        self.slots
    }

    /// The number of the disk segment that a slot holds, if it holds one.
    pub(crate) fn number_at(&self, slot: u32) -> Option<u64> {
        self.get(slot).present.then(|| self.number(slot))
    }

    pub(crate) fn clear(&mut self) {
        for slot in 0..self.slots {
            if self.get(slot).present {
                self.remove(slot);
            }
        }
    }

    /// The slots that hold a segment, in order of use. Pinned ones count as used last.
    fn oldest_first(&self) -> impl Iterator<Item = u32> + '_ {
        let pinned = (0..self.slots).filter(|&slot| self.get(slot).present && self.lru.is_pinned(slot));
        self.lru.oldest_first().chain(pinned)
    }

    /// The slots with blocks that are valid or coming, the most recently used first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = u32> + '_ {
        let mut slots: Vec<u32> = self.oldest_first().collect();
        slots.retain(|&slot| !(self.get(slot).valid | self.get(slot).coming).is_empty());
        slots.into_iter().rev()
    }

    /// Copies the segments of `other`. Blocks that are coming there are valid here.
    pub(crate) fn imitate(&mut self, other: &Self) {
        let held = |slot: u32| (other.number(slot), other.get(slot).valid | other.get(slot).coming);
        self.hold(other.oldest_first().map(held));
    }

    /// Replaces all segments by these, with their valid blocks; the least recently used comes first.
    pub(crate) fn hold(&mut self, segments: impl Iterator<Item = (u64, SegmentBlocks)>) {
        self.clear();
        for (number, valid) in segments.filter(|(_, valid)| !valid.is_empty()) {
            if let Some(slot) = self.allocate(number) {
                self.get_mut(slot).valid = valid;
            }
        }
    }

    /// Checks the invariants of every slot, for tests.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        for slot in (0..self.slots).filter(|&slot| self.get(slot).present) {
            let segment = self.get(slot);
            let (valid, coming, doomed) = (segment.valid, segment.coming, segment.doomed);
            assert!(((valid & coming) | (valid & doomed) | (coming & doomed)).is_empty(), "one state a block");
            assert_eq!(self.find(self.number(slot)), Some(slot), "no segment twice");
            assert!(!segment.is_empty() || self.lru.is_pinned(slot), "an empty segment leaves");
            let busy = !(coming | doomed).is_empty() || !segment.waiters.is_empty();
            assert!(!busy || self.lru.is_pinned(slot), "a busy segment is pinned");
        }
    }

    #[cfg(test)]
    pub(crate) fn pinned(&self) -> usize {
        (0..self.slots).filter(|&slot| self.get(slot).present && self.lru.is_pinned(slot)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_that_is_not_busy_makes_room() {
        let mut directory = Directory::new(2);
        let [a, b] = [10, 20].map(|number| directory.allocate(number).unwrap());
        for slot in [a, b] {
            directory.get_mut(slot).valid = SegmentBlocks::range(0, 3);
        }
        directory.pin(a);
        assert_eq!((directory.allocate(30), directory.find(20)), (Some(b), None));
        directory.pin(b);
        assert_eq!(directory.allocate(40), None, "every segment is busy");
        directory.unpin(b);
        assert_eq!(directory.find(30), None, "it had no block");
        assert_eq!((directory.len(), directory.evictions()), (1, 1));
    }

    #[test]
    fn a_lower_limit_holds_for_all_that_is_not_busy() {
        let mut directory = Directory::new(4);
        let slots = [10, 20, 30, 40].map(|number| directory.allocate(number).unwrap());
        for slot in slots {
            directory.get_mut(slot).valid = SegmentBlocks::range(0, 3);
        }
        directory.pin(slots[0]);
        directory.pin(slots[1]);
        directory.set_limit(1);
        assert_eq!((directory.len(), directory.allocate(50)), (2, None), "two are busy");
        directory.unpin(slots[0]);
        directory.unpin(slots[1]);
        assert!(directory.allocate(50).is_some());
        assert_eq!((directory.len(), directory.evictions()), (1, 4));
        directory.set_limit(4);
        assert!(directory.allocate(60).is_some() && directory.len() == 2);
    }

    #[test]
    fn an_imitation_has_what_was_coming_and_the_same_order() {
        let mut directory = Directory::new(3);
        let [a, b, c] = [10, 20, 30].map(|number| directory.allocate(number).unwrap());
        directory.get_mut(a).valid = SegmentBlocks::range(0, 3);
        directory.get_mut(b).coming = SegmentBlocks::range(4, 5);
        directory.get_mut(c).doomed = SegmentBlocks::range(6, 7);
        directory.pin(b);
        directory.pin(c);
        let mut simulated = Directory::new(3);
        simulated.allocate(99);
        simulated.imitate(&directory);
        let valid = |number| simulated.find(number).map(|slot| simulated.get(slot).valid);
        assert_eq!((valid(10), valid(20)), (Some(SegmentBlocks::range(0, 3)), Some(SegmentBlocks::range(4, 5))));
        assert_eq!((valid(30), valid(99)), (None, None));
        let order: Vec<_> = simulated.lru.oldest_first().map(|slot| simulated.number(slot)).collect();
        assert_eq!(order, [10, 20], "what is busy was used last");
    }
}
