//! [`ReadCache`]: the on-board buffer for reads, in segments of contiguous blocks (GF 4.3.1, Ganger B.1.2).
//!
//! Segments never overlap. The least recently used one is replaced. A segment that grows beyond its size drops its
//! oldest blocks, like a ring buffer. Segments with dirty blocks belong to the write buffer meanwhile.

use iopilot_block::{Links, List};

/// A segment with the blocks from `start` to before `end`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadSegment {
    /// First block held.
    pub(super) start: u64,
    /// The block behind the last one held.
    pub(super) end: u64,
    /// The block behind the last one that the host has read.
    pub(super) consumed: u64,
    /// Blocks to read ahead at the next miss.
    pub(super) read_ahead: u32,
    /// Whether it served a hit since the last miss.
    pub(super) was_hit: bool,
    used: bool,
}

impl ReadSegment {
    /// Blocks to read ahead at the next miss of its reader. Doubles, up to `most`, if the last read-ahead led to hits
    /// (GF 4.3.1).
    pub(super) fn next_ahead(&self, most: u32) -> u32 {
        if self.was_hit { self.read_ahead.saturating_mul(2).min(most) } else { self.read_ahead }
    }
}

/// The read segments. Look-up is O(log segments); nothing is allocated after construction.
#[derive(Clone, Debug)]
pub(super) struct ReadCache {
    slots: Vec<ReadSegment>,
    /// First blocks of the segments in use, ascending, and their slots.
    starts: Vec<u64>,
    order: Vec<u16>,
    /// The index of the segment allocated last in `starts`, if it is still there.
    recent: usize,
    /// The slots in use, from the least to the most recently used, and the free slots.
    by_use: List<u16>,
    free: Vec<u16>,
    /// The number of segments that hold dirty blocks.
    dirty: usize,
    links: Links<u16>,
    segment_sectors: u64,
}

impl ReadCache {
    /// `segments` of `segment_sectors` each; 0 turns caching off.
    pub(super) fn new(segments: u16, segment_sectors: u64) -> Self {
        Self {
            slots: vec![ReadSegment::default(); usize::from(segments)],
            starts: Vec::with_capacity(usize::from(segments)),
            order: Vec::with_capacity(usize::from(segments)),
            recent: 0,
            by_use: List::new(),
            free: (0..segments).rev().collect(),
            dirty: 0,
            links: Links::new(),
            segment_sectors,
        }
    }

    /// Whether there are no segments.
    pub(super) fn is_off(&self) -> bool {
        self.slots.is_empty()
    }

    /// Sets the number of segments that hold dirty blocks. If too few are left for reads, the least recently used
    /// ones are emptied. Returns whether any was.
    pub(super) fn lend(&mut self, dirty: usize) -> bool {
        self.dirty = dirty.min(self.slots.len());
        let before = self.starts.len();
        while self.starts.len() > self.slots.len() - self.dirty {
            let Some(slot) = self.by_use.front() else { break };
            self.drop_segment(self.position(self.slots[usize::from(slot)].start));
        }
        self.starts.len() < before
    }

    /// Blocks a segment holds.
    pub(super) fn segment_sectors(&self) -> u64 {
        self.segment_sectors
    }

    /// The slot of the segment that holds `lba` or ends there.
    pub(super) fn find(&self, lba: u64) -> Option<u16> {
        let i = self.starts.partition_point(|&s| s <= lba);
        let slot = *self.order.get(i.checked_sub(1)?)?;
        (lba <= self.slots[usize::from(slot)].end).then_some(slot)
    }

    /// The segment whose reader continues with the blocks from `first` to before `end`, if no segment holds `first`.
    /// The blocks adjoin or overlap the front of that segment, or begin less than `near` behind the last block the
    /// reader asked for. O(log segments).
    pub(super) fn stream_of(&self, first: u64, end: u64, near: u64) -> Option<u16> {
        let i = self.starts.partition_point(|&s| s <= first);
        if self.starts.get(i).is_some_and(|&start| start <= end) {
            return self.order.get(i).copied();
        }
        let slot = *self.order.get(i.checked_sub(1)?)?;
        let behind = first.checked_sub(self.slots[usize::from(slot)].consumed);
        behind.is_some_and(|behind| behind < near).then_some(slot)
    }

    /// Empties the segment in `slot`, which is the next to be allocated.
    pub(super) fn give_up(&mut self, slot: u16) {
        self.drop_segment(self.position(self.slots[usize::from(slot)].start));
    }

    /// The segment in `slot`.
    pub(super) fn segment(&self, slot: u16) -> &ReadSegment {
        &self.slots[usize::from(slot)]
    }

    /// The segment in `slot`, to change the host's progress and the read-ahead.
    pub(super) fn segment_mut(&mut self, slot: u16) -> &mut ReadSegment {
        &mut self.slots[usize::from(slot)]
    }

    /// The number of blocks before `lba` that are in no segment.
    pub(super) fn room_before(&self, lba: u64) -> u64 {
        let i = self.starts.partition_point(|&s| s < lba);
        match i.checked_sub(1) {
            Some(i) => lba.saturating_sub(self.slots[usize::from(self.order[i])].end),
            None => lba,
        }
    }

    /// Allocates a segment for the blocks from `start` to before `end`, which no other segment holds. Takes a free
    /// segment, or else the least recently used one. `None` if there are no segments for reads.
    pub(super) fn allocate(&mut self, start: u64, end: u64) -> Option<u16> {
        let room = self.starts.len() < self.slots.len() - self.dirty;
        let at = self.starts.partition_point(|&s| s < start);
        let unused = if room { self.free.pop() } else { None };
        let (slot, at) = if let Some(slot) = unused {
            self.starts.insert(at, start);
            self.order.insert(at, slot);
            self.by_use.push_back(&mut self.links, slot);
            (slot, at)
        } else {
            let slot = self.by_use.front()?;
            (slot, self.replace(self.position(self.slots[usize::from(slot)].start), at))
        };
        (self.starts[at], self.order[at], self.recent) = (start, slot, at);
        let segment = &mut self.slots[usize::from(slot)];
        (segment.start, segment.end, segment.consumed) = (start, end, end);
        (segment.used, segment.was_hit, segment.read_ahead) = (true, false, 0);
        self.touch(slot);
        Some(slot)
    }

    /// Marks the segment as the most recently used. O(1).
    pub(super) fn touch(&mut self, slot: u16) {
        if self.by_use.back() != Some(slot) {
            self.by_use.remove(&mut self.links, slot);
            self.by_use.push_back(&mut self.links, slot);
        }
    }

    /// Extends the segment to before `end`. Other segments lose the blocks in its way, and it drops its oldest blocks
    /// beyond its size.
    pub(super) fn grow(&mut self, slot: u16, end: u64) {
        let segment = self.slots[usize::from(slot)];
        if !segment.used || end <= segment.end {
            return;
        }
        let at = self.position(segment.start);
        while self.starts.get(at + 1).is_some_and(|&start| start < end) {
            let next = &mut self.slots[usize::from(self.order[at + 1])];
            if next.end > end {
                next.start = end;
                self.starts[at + 1] = end;
                break;
            }
            self.drop_segment(at + 1);
        }
        let start = segment.start.max(end.saturating_sub(self.segment_sectors));
        self.starts[at] = start;
        let segment = &mut self.slots[usize::from(slot)];
        (segment.start, segment.end) = (start, end);
    }

    /// Invalidates the blocks from `start` to before `end`, which are being overwritten. A segment that is cut in two
    /// keeps its front part.
    pub(super) fn invalidate(&mut self, start: u64, end: u64) {
        let mut at = self.starts.partition_point(|&s| s < start).saturating_sub(1);
        while at < self.starts.len() && self.starts[at] < end {
            let slot = usize::from(self.order[at]);
            let segment = &mut self.slots[slot];
            if segment.end <= start {
                at += 1;
            } else if segment.start < start {
                segment.end = start;
                segment.consumed = segment.consumed.min(start);
                at += 1;
            } else if segment.end > end {
                segment.start = end;
                self.starts[at] = end;
                break;
            } else {
                self.drop_segment(at);
            }
        }
    }

    /// Whether `slot` is in use.
    pub(super) fn is_used(&self, slot: u16) -> bool {
        self.slots[usize::from(slot)].used
    }

    fn position(&self, start: u64) -> usize {
        if self.starts.get(self.recent) == Some(&start) {
            return self.recent;
        }
        self.starts.partition_point(|&s| s < start)
    }

    /// Moves the entry at `from` to before `to`, with one shift of the entries between; returns its new index.
    fn replace(&mut self, from: usize, to: usize) -> usize {
        if from < to {
            self.starts.copy_within(from + 1..to, from);
            self.order.copy_within(from + 1..to, from);
            to - 1
        } else {
            self.starts.copy_within(to..from, to + 1);
            self.order.copy_within(to..from, to + 1);
            to
        }
    }

    /// Empties a segment, which is the next to be allocated.
    fn drop_segment(&mut self, at: usize) {
        self.starts.remove(at);
        let slot = self.order.remove(at);
        self.slots[usize::from(slot)].used = false;
        self.by_use.remove(&mut self.links, slot);
        self.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(cache: &ReadCache, lba: u64) -> bool {
        cache.find(lba).is_some_and(|s| lba < cache.segment(s).end)
    }

    #[test]
    fn the_least_recently_used_segment_goes_first() {
        let mut cache = ReadCache::new(2, 100);
        let a = cache.allocate(0, 10).unwrap();
        cache.allocate(1000, 1010).unwrap();
        cache.touch(a);
        cache.allocate(2000, 2010).unwrap();
        assert!(holds(&cache, 5) && !holds(&cache, 1005) && holds(&cache, 2005));
    }

    #[test]
    fn a_growing_segment_drops_its_oldest_blocks_and_overlapped_blocks_of_others() {
        let mut cache = ReadCache::new(3, 100);
        let a = cache.allocate(0, 10).unwrap();
        cache.allocate(50, 60).unwrap();
        let c = cache.allocate(120, 160).unwrap();
        cache.grow(a, 130);
        assert_eq!((cache.segment(a).start, cache.segment(a).end), (30, 130));
        assert_eq!((cache.segment(c).start, cache.segment(c).end), (130, 160));
        assert_eq!((cache.find(55), cache.find(129), cache.find(130)), (Some(a), Some(a), Some(c)));
    }

    #[test]
    fn overwritten_blocks_are_invalidated() {
        let mut cache = ReadCache::new(4, 100);
        for start in [0, 100, 200, 300] {
            cache.allocate(start, start + 50);
        }
        cache.invalidate(20, 320);
        let held: Vec<bool> = [10, 20, 120, 220, 310, 320, 349].map(|lba| holds(&cache, lba)).into();
        assert_eq!(held, [true, false, false, false, false, true, true]);
    }

    #[test]
    fn a_reader_continues_in_front_of_its_segment_or_a_little_behind_its_last_block() {
        let mut cache = ReadCache::new(3, 100);
        let a = cache.allocate(1000, 1010).unwrap();
        cache.grow(a, 1050);
        let b = cache.allocate(1200, 1210).unwrap();
        let reader = |cache: &ReadCache, first, end| cache.stream_of(first, end, 64);
        assert_eq!(reader(&cache, 990, 1000), Some(a));
        assert_eq!(reader(&cache, 990, 999), None, "it does not adjoin the segment");
        assert_eq!(reader(&cache, 1073, 1081), Some(a), "63 behind the last requested block");
        assert_eq!(reader(&cache, 1074, 1082), None);
        assert_eq!(reader(&cache, 1073, 1200), Some(b));
        cache.give_up(a);
        assert_eq!(reader(&cache, 990, 1000), None);
        assert_eq!(cache.allocate(990, 1000), Some(a));
    }

    #[test]
    fn segments_with_dirty_blocks_are_lent_and_returned() {
        let mut cache = ReadCache::new(3, 100);
        for start in [0, 1000, 2000] {
            cache.allocate(start, start + 10);
        }
        assert!(cache.lend(2));
        assert!(!holds(&cache, 5) && !holds(&cache, 1005) && holds(&cache, 2005));
        cache.allocate(3000, 3010);
        assert!(!holds(&cache, 2005) && holds(&cache, 3005), "one is left");
        assert!(cache.lend(3) && cache.allocate(4000, 4010).is_none());
        assert!(!cache.lend(0));
        for start in [0, 1000, 2000] {
            cache.allocate(start, start + 10);
        }
        assert!(holds(&cache, 5) && holds(&cache, 1005) && holds(&cache, 2005));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Read(u64, u64),
        Write(u64, u64),
    }

    proptest! {
        #[test]
        fn segments_stay_sorted_disjoint_and_within_their_size(
            steps in prop::collection::vec(
                (0u64..400, 1u64..60, any::<bool>())
                    .prop_map(|(lba, n, read)| if read { Step::Read(lba, n) } else { Step::Write(lba, n) }),
                1..200,
            ),
        ) {
            let mut cache = ReadCache::new(5, 64);
            for step in steps {
                match step {
                    Step::Read(lba, n) => {
                        let slot = cache.find(lba).or_else(|| cache.allocate(lba, lba)).unwrap();
                        cache.grow(slot, lba + n);
                        cache.touch(slot);
                        prop_assert!(holds(&cache, lba + n - 1));
                    }
                    Step::Write(lba, n) => {
                        cache.invalidate(lba, lba + n);
                        prop_assert!((lba..lba + n).all(|b| !holds(&cache, b)));
                    }
                }
                let mut last = 0;
                for (&start, &slot) in cache.starts.iter().zip(&cache.order) {
                    let s = cache.segment(slot);
                    prop_assert!(s.start == start && start >= last && s.end >= start && s.end - start <= 64);
                    last = s.end;
                }
                prop_assert_eq!(cache.by_use.iter(&cache.links).count(), cache.starts.len());
                prop_assert_eq!(cache.free.len() + cache.starts.len(), 5);
            }
        }
    }
}
