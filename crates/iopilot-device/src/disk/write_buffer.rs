//! [`WriteBuffer`]: acknowledged writes that are not on the medium yet (write-back; GF 4.3.1 "immediate reporting",
//! Carroll 2.1.3).
//!
//! It holds disjoint extents in order of address. Neighbours merge, so that a run of small writes reaches the medium
//! as one. A flush *seals* the dirty extents: later writes no longer enlarge a sealed extent, so a flush ends even
//! under a steady stream of writes.

/// Dirty blocks from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DirtyExtent {
    /// First block.
    pub(super) start: u64,
    /// The block behind the last one.
    pub(super) end: u64,
    /// When its first block has arrived over the bus, ns. Later blocks arrive faster than the medium takes them.
    pub(super) ready: f64,
    /// The number of flushes before it.
    epoch: u64,
}

/// The dirty extents. Operations are O(extents) with a small constant; nothing is allocated once the number of extents
/// has peaked.
#[derive(Clone, Debug)]
pub(super) struct WriteBuffer {
    extents: Vec<DirtyExtent>,
    in_flight: Option<DirtyExtent>,
    epoch: u64,
    dirty: u64,
    max_extents: usize,
    max_sectors: u64,
}

impl WriteBuffer {
    /// Room for `max_extents` runs of blocks, `max_sectors` in all; zero turns write-back off.
    pub(super) fn new(max_extents: usize, max_sectors: u64) -> Self {
        let extents = Vec::with_capacity(2 * max_extents + 2);
        Self { extents, in_flight: None, epoch: 0, dirty: 0, max_extents, max_sectors }
    }

    /// Whether a write of `sectors` can ever be buffered.
    pub(super) fn could_hold(&self, sectors: u64) -> bool {
        self.max_extents > 0 && sectors <= self.max_sectors
    }

    /// Whether a write can be buffered now.
    pub(super) fn has_room(&self, start: u64, sectors: u64) -> bool {
        let runs = self.extents.len() + usize::from(self.in_flight.is_some());
        self.could_hold(sectors)
            && self.dirty + sectors <= self.max_sectors
            && (runs < self.max_extents || self.touching(start, start + sectors))
    }

    /// Adds a write whose first block arrives at `ready`.
    pub(super) fn insert(&mut self, start: u64, end: u64, ready: f64) {
        // Overlapped blocks stay in the existing extents; the gaps become new extents.
        let mut at = self.extents.partition_point(|e| e.end <= start);
        let mut from = start;
        while from < end {
            match self.extents.get(at) {
                Some(e) if e.start <= from => {
                    from = e.end;
                    at += 1;
                }
                next => {
                    let gap_end = next.map_or(end, |e| e.start.min(end));
                    self.dirty += gap_end - from;
                    let into = self.add_gap(at, DirtyExtent { start: from, end: gap_end, ready, epoch: self.epoch });
                    from = self.extents[into].end;
                    at = into + 1;
                }
            }
        }
    }

    /// Whether all blocks from `start` to before `end` are in the buffer.
    pub(super) fn contains(&self, start: u64, end: u64) -> bool {
        if self.extents.is_empty() && self.in_flight.is_none() {
            return false;
        }
        let mut from = start;
        let mut at = self.extents.partition_point(|e| e.end <= start);
        loop {
            if from >= end {
                return true;
            }
            if let Some(e) = self.in_flight.filter(|e| e.start <= from && from < e.end) {
                from = e.end;
                at += self.extents[at..].partition_point(|e| e.end <= from);
                continue;
            }
            match self.extents.get(at) {
                Some(e) if e.start <= from => {
                    from = e.end;
                    at += 1;
                }
                _ => return false,
            }
        }
    }

    /// Drops the blocks from `start` to before `end`, which a write to the medium supersedes.
    pub(super) fn supersede(&mut self, start: u64, end: u64) {
        let mut at = self.extents.partition_point(|e| e.end <= start);
        while at < self.extents.len() && self.extents[at].start < end {
            let e = self.extents[at];
            self.dirty -= e.end.min(end) - e.start.max(start);
            match (e.start < start, e.end > end) {
                (true, true) => {
                    self.extents[at].end = start;
                    self.extents.insert(at + 1, DirtyExtent { start: end, ..e });
                    return;
                }
                (true, false) => {
                    self.extents[at].end = start;
                    at += 1;
                }
                (false, true) => {
                    self.extents[at].start = end;
                    return;
                }
                (false, false) => {
                    self.extents.remove(at);
                }
            }
        }
    }

    /// The extents that wait to be written, by address.
    pub(super) fn extents(&self) -> &[DirtyExtent] {
        &self.extents
    }

    /// The next extent for an elevator at block `position`: the next one upwards, or else the lowest.
    pub(super) fn upwards_from(&self, position: u64) -> Option<usize> {
        let at = self.extents.partition_point(|e| e.start < position);
        (!self.extents.is_empty()).then_some(if at < self.extents.len() { at } else { 0 })
    }

    /// Takes up to `sectors` from the front of extent `index` to be written now; [`WriteBuffer::written`] ends the
    /// write.
    pub(super) fn begin(&mut self, index: usize, sectors: u64) -> DirtyExtent {
        let e = self.extents[index];
        let chunk = DirtyExtent { end: e.end.min(e.start + sectors.max(1)), ..e };
        if chunk.end == e.end {
            self.extents.remove(index);
        } else {
            self.extents[index].start = chunk.end;
        }
        self.in_flight = Some(chunk);
        chunk
    }

    /// The blocks of the last [`WriteBuffer::begin`] are on the medium.
    pub(super) fn written(&mut self) {
        if let Some(chunk) = self.in_flight.take() {
            self.dirty -= chunk.end - chunk.start;
        }
    }

    /// Seals the dirty extents for a flush; pass the result to [`WriteBuffer::is_clean_up_to`].
    pub(super) fn seal(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch - 1
    }

    /// Whether all extents sealed up to then are on the medium.
    pub(super) fn is_clean_up_to(&self, epoch: u64) -> bool {
        self.extents.iter().chain(self.in_flight.as_ref()).all(|e| e.epoch > epoch)
    }

    /// The number of segments of `sectors` that it occupies: one for each run, and as many as its blocks fill.
    pub(super) fn segments(&self, sectors: u64) -> usize {
        let runs = self.extents.len() + usize::from(self.in_flight.is_some());
        let filled = self.dirty.div_ceil(sectors.max(1)) as usize;
        runs.max(filled).min(self.max_extents)
    }

    /// Blocks not on the medium.
    pub(super) fn dirty_sectors(&self) -> u64 {
        self.dirty
    }

    fn touching(&self, start: u64, end: u64) -> bool {
        let at = self.extents.partition_point(|e| e.end < start);
        self.extents.get(at).is_some_and(|e| e.start <= end && e.epoch == self.epoch)
    }

    /// Adds a gap's blocks before `at`, merging with neighbours of the same epoch; returns their index.
    fn add_gap(&mut self, at: usize, gap: DirtyExtent) -> usize {
        let left = at > 0 && self.extents[at - 1].end == gap.start && self.extents[at - 1].epoch == gap.epoch;
        let right = self.extents.get(at).is_some_and(|e| e.start == gap.end && e.epoch == gap.epoch);
        match (left, right) {
            (true, true) => {
                let next = self.extents.remove(at);
                let e = &mut self.extents[at - 1];
                e.end = next.end;
                at - 1
            }
            (true, false) => {
                self.extents[at - 1].end = gap.end;
                at - 1
            }
            (false, true) => {
                let e = &mut self.extents[at];
                (e.start, e.ready) = (gap.start, gap.ready);
                at
            }
            (false, false) => {
                self.extents.insert(at, gap);
                at
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ranges(b: &WriteBuffer) -> Vec<(u64, u64)> {
        b.extents.iter().map(|e| (e.start, e.end)).collect()
    }

    #[test]
    fn neighbours_merge_into_one_run() {
        let mut b = WriteBuffer::new(8, 1000);
        for start in [8, 24, 0, 16] {
            b.insert(start, start + 8, 0.0);
        }
        assert_eq!(ranges(&b), [(0, 32)]);
    }

    #[test]
    fn a_flush_does_not_wait_for_later_writes() {
        let mut b = WriteBuffer::new(8, 1000);
        b.insert(0, 8, 0.0);
        let flush = b.seal();
        b.insert(4, 16, 0.0); // overlaps the sealed extent and continues behind it
        assert_eq!(ranges(&b), [(0, 8), (8, 16)]);
        b.begin(0, 100);
        assert!(!b.is_clean_up_to(flush));
        b.written();
        assert!(b.is_clean_up_to(flush));
        assert_eq!(b.dirty_sectors(), 8);
    }

    #[test]
    fn room_is_limited_in_runs_and_in_blocks() {
        let mut b = WriteBuffer::new(2, 100);
        b.insert(0, 8, 0.0);
        b.insert(100, 108, 0.0);
        assert!(!b.has_room(200, 8) && b.has_room(108, 8) && !b.has_room(108, 100));
        assert!(!WriteBuffer::new(0, 0).could_hold(1));
    }

    proptest! {
        #[test]
        fn the_buffer_holds_exactly_the_unwritten_blocks(
            steps in prop::collection::vec((0u8..4, 0u64..120, 1u64..20), 1..80),
        ) {
            let mut b = WriteBuffer::new(1000, 100_000);
            let mut dirty = BTreeSet::new();
            let mut flying = BTreeSet::new();
            for (what, start, n) in steps {
                match what {
                    0 | 1 => {
                        b.insert(start, start + n, 0.0);
                        dirty.extend(start..start + n);
                    }
                    2 => {
                        b.supersede(start, start + n);
                        for block in start..start + n {
                            dirty.remove(&block);
                        }
                    }
                    _ => {
                        b.written();
                        flying.clear();
                        b.seal();
                        if let Some(i) = b.upwards_from(start) {
                            let e = b.begin(i, n);
                            for block in e.start..e.end {
                                prop_assert!(dirty.remove(&block));
                                flying.insert(block);
                            }
                        }
                    }
                }
                let held: BTreeSet<u64> = b.extents.iter().flat_map(|e| e.start..e.end).collect();
                prop_assert_eq!(&held, &dirty);
                prop_assert_eq!(b.dirty_sectors(), (dirty.len() + flying.len()) as u64);
                prop_assert!(b.extents.windows(2).all(|w| w[0].end <= w[1].start));
                let all = (start..start + n).all(|block| dirty.contains(&block) || flying.contains(&block));
                prop_assert_eq!(b.contains(start, start + n), all);
            }
        }
    }
}
