//! [`Segments`]: the buffer of a drive.

use super::model::DriveBufferModel;
use iopilot_block::{Links, List};

/// A run of consecutive blocks in the buffer: read from the medium, or to be written to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BufferSegment {
    /// The first block it holds.
    pub(super) start: u64,
    /// The end of its blocks; in a write this includes blocks that are still to come over the bus.
    pub(super) end: u64,
    /// The first block that is not on the medium; `end` if all are.
    pub(super) written: u64,
    /// Reading into it ends before this block.
    pub(super) limit: u64,
    /// Requests that use it.
    pub(super) users: u32,
    /// Whether its last user was a write.
    pub(super) by_write: bool,
    /// The number of its last use, counted over the whole buffer.
    stamp: u64,
}

impl BufferSegment {
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.written < self.end
    }

    fn is_idle_and_empty(&self) -> bool {
        self.is_empty() && self.users == 0 && !self.is_dirty()
    }

    pub(super) fn holds(&self, block: u64) -> bool {
        self.start <= block && block < self.end
    }

    pub(super) fn overlaps(&self, first: u64, end: u64) -> bool {
        self.start < end && first < self.end
    }

    /// Empties it, with `block` as its next block.
    pub(super) fn clear(&mut self, block: u64) {
        (self.start, self.end, self.written, self.limit) = (block, block, block, 0);
    }

    /// The medium has been read to before `end`: blocks that no longer fit are dropped at the front.
    pub(super) fn filled(&mut self, end: u64, size: u64) {
        (self.end, self.written) = (end, end);
        self.start = self.start.max(end.saturating_sub(size));
    }
}

/// All segments, ordered by use and by block, so that a request finds the relevant ones among thousands.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    all: Vec<BufferSegment>,
    /// The size of each, in blocks.
    pub(super) size: u64,
    uses: u64,
    separate_write: bool,
    most_dirty: usize,
    /// First blocks and segment numbers, ascending.
    starts: Vec<(u64, u32)>,
    /// The most blocks that a segment ever held: a segment that holds a block begins at most this far below it.
    longest: u64,
    /// From the least to the most recently used.
    by_use: List<u32>,
    links: Links<u32>,
    /// How many are dirty, and how many are empty and unused.
    dirty: usize,
    empty: usize,
    /// The changes to report; `None` if nothing reads them.
    changes: Option<Changes>,
}

/// The blocks of segments that have changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// The block range of each change, end exclusive.
    near: Vec<(u64, u64)>,
    /// There were too many changes to list.
    pub(super) too_many: bool,
}

impl Changes {
    /// The most changes that are listed.
    const MOST: usize = 64;

    fn add(&mut self, start: u64, end: u64) {
        // Read-ahead changes one segment that grows.
        if let Some(last) = self.near.last_mut().filter(|last| start <= last.1 && last.0 <= end) {
            *last = (last.0.min(start), last.1.max(end));
        } else if self.near.len() < Self::MOST {
            self.near.push((start, end));
        } else {
            self.too_many = true;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.near.iter().copied()
    }
}

/// The segments that a read or a write takes on a miss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victims {
    pub(super) read: Option<usize>,
    pub(super) write: Option<usize>,
}

impl Segments {
    /// All segments empty. With `watched`, [`Segments::take_changes`] reports what has changed.
    pub(super) fn new(model: &DriveBufferModel, watched: bool) -> Self {
        let count = model.segments.max(1);
        let (mut by_use, mut links) = (List::new(), Links::new());
        (0..count).for_each(|i| by_use.push_back(&mut links, i));
        Self {
            all: vec![BufferSegment::default(); count as usize],
            size: u64::from(model.segment_blocks.max(1)),
            uses: 0,
            separate_write: model.separate_write_segment,
            most_dirty: model.write_segments.max(1) as usize,
            starts: (0..count).map(|i| (0, i)).collect(),
            longest: 0,
            by_use,
            links,
            dirty: 0,
            empty: count as usize,
            changes: watched.then(Changes::default),
        }
    }

    /// The changes since the last call. The caller returns them to [`Segments::reuse`].
    pub(super) fn take_changes(&mut self) -> Changes {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Reuses the memory of the value of [`Segments::take_changes`].
    pub(super) fn reuse(&mut self, mut changes: Changes) {
        changes.near.clear();
        changes.too_many = false;
        self.changes = Some(changes);
    }

    /// Reports a change of segment `i` that does not concern its blocks, only what requests can do with it.
    pub(super) fn touch(&mut self, i: usize) {
        if let Some(changes) = &mut self.changes {
            changes.add(self.all[i].start, self.all[i].end);
        }
    }

    /// Segment `i`.
    pub(super) fn of(&self, i: usize) -> &BufferSegment {
        &self.all[i]
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Changes segment `i` and updates the orders and counts.
    pub(super) fn edit<R>(&mut self, i: usize, change: impl FnOnce(&mut BufferSegment) -> R) -> R {
        let before = self.all[i];
        let result = change(&mut self.all[i]);
        let after = &self.all[i];
        let counted = |count: usize, was: bool, is: bool| count + usize::from(is) - usize::from(was);
        self.dirty = counted(self.dirty, before.is_dirty(), after.is_dirty());
        self.empty = counted(self.empty, before.is_idle_and_empty(), after.is_idle_and_empty());
        self.longest = self.longest.max(after.end - after.start);
        if after.start != before.start {
            self.reorder(i as u32, before.start, after.start);
        }
        if let Some(changes) = &mut self.changes {
            let after = &self.all[i];
            let reported = |s: &BufferSegment| (s.start, s.end, s.written, s.users > 0);
            if reported(&before) != reported(after) {
                changes.add(before.start, before.end);
                changes.add(after.start, after.end);
            }
        }
        result
    }

    /// Moves segment `i` to its new place in the order of first blocks.
    fn reorder(&mut self, i: u32, from: u64, to: u64) {
        let old = self.starts.partition_point(|&place| place < (from, i));
        let new = self.starts.partition_point(|&place| place < (to, i));
        let new = if old < new { new - 1 } else { new };
        if old < new {
            self.starts.copy_within(old + 1..=new, old);
        } else {
            self.starts.copy_within(new..old, new + 1);
        }
        self.starts[new] = (to, i);
    }

    /// The segments that hold or adjoin some of the blocks from `first` to before `end`. O(log segments + those that
    /// begin near).
    pub(super) fn near(&self, first: u64, end: u64) -> impl Iterator<Item = usize> + '_ {
        let from = self.starts.partition_point(|&(start, _)| start < first.saturating_sub(self.longest));
        let begun = self.starts[from..].iter().take_while(move |&&(start, _)| start <= end);
        begun.map(|&(_, i)| i as usize).filter(move |&i| self.all[i].end >= first)
    }

    /// Whether reads may use segment `i`. The segment that is kept for writes is the last; a single segment serves
    /// both.
    pub(super) fn serves_reads(&self, i: usize) -> bool {
        !self.separate_write || i + 1 < self.all.len() || self.all.len() == 1
    }

    /// Whether writes may use segment `i`.
    pub(super) fn serves_writes(&self, i: usize) -> bool {
        !self.separate_write || i + 1 == self.all.len()
    }

    /// Whether another segment may become dirty.
    pub(super) fn may_dirty(&self) -> bool {
        self.dirty < self.most_dirty
    }

    pub(super) fn any_dirty(&self) -> bool {
        self.dirty > 0
    }

    /// Records that a request uses segment `i`.
    pub(super) fn used(&mut self, i: usize, by_write: bool) {
        self.uses += 1;
        let stamp = self.uses;
        self.edit(i, |segment| {
            segment.stamp = stamp;
            segment.users += 1;
            segment.by_write = by_write;
        });
        self.by_use.remove(&mut self.links, i as u32);
        self.by_use.push_back(&mut self.links, i as u32);
    }

    /// Whether segment `i` was used last.
    pub(super) fn is_latest(&self, i: usize) -> bool {
        self.uses > 0 && self.all[i].stamp == self.uses
    }

    /// The victims for requests that miss; never the segment that is `streamed`.
    pub(super) fn victims(&self, streamed: Option<usize>) -> Victims {
        let read = self.least_recent(streamed, |i| self.serves_reads(i));
        let write = match self.separate_write {
            // The separate segment alone serves writes.
            true => self.all.len().checked_sub(1).filter(|&last| self.is_free(last, streamed)),
            false if !self.may_dirty() => None,
            false => read,
        };
        Victims { read, write }
    }

    /// Whether segment `i` is unused, clean and not streamed.
    fn is_free(&self, i: usize, streamed: Option<usize>) -> bool {
        self.all[i].users == 0 && !self.all[i].is_dirty() && streamed != Some(i)
    }

    /// The least recently used free segment; an empty one is preferred.
    fn least_recent(&self, streamed: Option<usize>, serves: impl Fn(usize) -> bool) -> Option<usize> {
        let mut clean = None;
        for i in self.by_use.iter(&self.links).map(|i| i as usize) {
            if !self.is_free(i, streamed) || !serves(i) {
                continue;
            }
            if self.all[i].is_empty() {
                return Some(i);
            }
            clean = clean.or(Some(i));
            if self.empty == 0 {
                break;
            }
        }
        clean
    }

    /// The best of `candidates`: the lowest `rank`, then the least recently used; and its rank.
    pub(super) fn best(
        &self,
        candidates: impl Iterator<Item = usize>,
        mut rank: impl FnMut(usize, &BufferSegment) -> Option<u32>,
    ) -> Option<(usize, u32)> {
        let mut best: Option<(u32, u64, usize)> = None;
        for i in candidates {
            let segment = &self.all[i];
            if let Some(rank) = rank(i, segment) {
                let candidate = (rank, segment.stamp, i);
                if best.is_none_or(|b| candidate < b) {
                    best = Some(candidate);
                }
            }
        }
        best.map(|(rank, _, i)| (i, rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_that_do_not_fit_are_dropped_at_the_front() {
        let mut segment = BufferSegment::default();
        segment.clear(100);
        segment.filled(110, 16);
        assert_eq!((segment.start, segment.end), (100, 110));
        segment.filled(120, 16);
        assert_eq!((segment.start, segment.end), (104, 120));
        assert!(segment.holds(104) && !segment.holds(120) && !segment.is_dirty());
    }

    #[test]
    fn among_equal_ranks_the_least_recently_used_wins() {
        let mut segments = Segments::new(&DriveBufferModel { segments: 3, ..DriveBufferModel::default() }, false);
        for i in [1, 0, 2] {
            segments.used(i, false);
        }
        assert_eq!(segments.best(0..3, |_, _| Some(4)), Some((1, 4)));
        assert_eq!(segments.best(0..3, |i, _| (i != 1).then_some(i as u32 % 2)), Some((0, 0)));
        assert!(segments.is_latest(2));
    }

    proptest! {
        /// Lookups by block and by use agree with a scan of all segments.
        #[test]
        fn a_lookup_agrees_with_a_full_scan(
            separate in any::<bool>(),
            steps in prop::collection::vec((0usize..6, 0u8..5, 0u64..300, 1u64..40), 1..60),
            streamed in prop::option::of(0usize..6),
        ) {
            let model = DriveBufferModel { segments: 6, write_segments: 3, separate_write_segment: separate, ..DriveBufferModel::default() };
            let mut segments = Segments::new(&model, false);
            for (i, what, block, blocks) in steps {
                match what {
                    0 => segments.edit(i, |s| s.clear(block)),
                    1 => segments.edit(i, |s| s.filled(s.end + blocks, 50)),
                    2 => segments.edit(i, |s| (s.start, s.written, s.end) = (block, block, block + blocks)),
                    3 => segments.edit(i, |s| s.written = s.end),
                    _ if segments.of(i).users > 0 => segments.edit(i, |s| s.users -= 1),
                    _ => segments.used(i, false),
                }
                let (first, end) = (block, block + blocks);
                let mut near: Vec<usize> = segments.near(first, end).collect();
                near.sort_unstable();
                let touches = |s: &BufferSegment| s.start <= end && s.end >= first;
                prop_assert_eq!(near, (0..6).filter(|&i| touches(segments.of(i))).collect::<Vec<_>>());
                let dirty = (0..6).filter(|&i| segments.of(i).is_dirty()).count();
                prop_assert_eq!((segments.any_dirty(), segments.may_dirty()), (dirty > 0, dirty < 3));
                let rank = |serves: bool, i: usize, s: &BufferSegment| {
                    let free = s.users == 0 && !s.is_dirty() && streamed != Some(i) && serves;
                    free.then_some(u32::from(!s.is_empty()))
                };
                let victims = segments.victims(streamed);
                let read = segments.best(0..6, |i, s| rank(segments.serves_reads(i), i, s));
                let write = segments.best(0..6, |i, s| rank(segments.serves_writes(i), i, s));
                prop_assert_eq!(victims.read, read.map(|best| best.0));
                if segments.may_dirty() {
                    prop_assert_eq!(victims.write, write.map(|best| best.0));
                }
            }
        }
    }
}
