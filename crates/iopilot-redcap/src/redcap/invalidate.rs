//! Invalidation by a write, a discard or a change of the state (GF 2.3.2).

use super::Redcap;
use crate::blocks::SegmentBlocks;
use crate::regions::OffRegions;
use crate::sweep::SegmentSweep;
use crate::{RedcapAction, ReferenceDisk};
use iopilot_block::Nanos;
use std::ops::{Range, RangeInclusive};

impl<V: ReferenceDisk> Redcap<V> {
    /// Turns the cache on or off for a range of disk segments. All are on at first. Drops the data of those that are turned
    /// off.
    pub(crate) fn set_region(&mut self, segments: Range<u64>, active: bool, now: Nanos, out: &mut Vec<RedcapAction>) {
        if segments.is_empty() {
            return;
        }
        self.regions.set(segments.clone(), active);
        if !active {
            let numbers = segments.start..=segments.end - 1;
            let mut sweep = SegmentSweep::new(&self.simulated, numbers.clone());
            while let Some(slot) = sweep.next(&self.simulated) {
                self.simulated.take_out(slot, SegmentBlocks::ALL);
            }
            self.forget(numbers, now, out);
        }
    }

    /// Turns the cache off for the disk segments that begin in these ranges of sectors, and on for all others.
    pub fn set_off_regions(&mut self, sectors: &[Range<u64>], now: Nanos, out: &mut Vec<RedcapAction>) {
        self.regions = OffRegions::default();
        for range in sectors {
            let segments = self.layout.first_from(range.start)..self.layout.first_from(range.end);
            self.set_region(segments, false, now, out);
        }
        self.settle(now, out);
    }

    /// The share of the disk's segments for which the cache is turned off, from 0 to 1.
    pub fn off_share(&self) -> f64 {
        let segments = self.layout.segments();
        self.regions.count_off(segments) as f64 / segments.max(1) as f64
    }

    /// Turns the blocks of written sectors into holes; a block in flight becomes a hole when it arrives.
    pub(super) fn invalidate(&mut self, (from, to): (u64, u64), now: Nanos, out: &mut Vec<RedcapAction>) {
        let (layout, to) = (self.layout, to.min(self.layout.capacity()));
        if from >= to {
            return;
        }
        let numbers = layout.number(from)..=layout.number(to - 1);
        let written = |number| {
            let (from, to) = layout.within(number, from, to);
            layout.blocks(number, from, to)
        };
        let mut sweep = SegmentSweep::new(&self.simulated, numbers.clone());
        while let Some(slot) = sweep.next(&self.simulated) {
            self.simulated.take_out(slot, written(self.simulated.number(slot)));
        }
        let mut sweep = SegmentSweep::new(&self.cache, numbers);
        while let Some(slot) = sweep.next(&self.cache) {
            self.take_out(slot, written(self.cache.number(slot)), now, out);
        }
    }

    /// Drops all blocks of the segments with these numbers.
    pub(super) fn forget(&mut self, numbers: RangeInclusive<u64>, now: Nanos, out: &mut Vec<RedcapAction>) {
        let mut sweep = SegmentSweep::new(&self.cache, numbers);
        while let Some(slot) = sweep.next(&self.cache) {
            self.take_out(slot, SegmentBlocks::ALL, now, out);
        }
    }

    /// Removes blocks from a segment. Serves the waiters that wait for no other blocks.
    fn take_out(&mut self, slot: u32, blocks: SegmentBlocks, now: Nanos, out: &mut Vec<RedcapAction>) {
        let segment = self.cache.get_mut(slot);
        let doomed = segment.coming & blocks;
        self.counters.invalidated_blocks += (segment.valid & blocks).len();
        self.counters.doomed_blocks += doomed.len();
        segment.coming = segment.coming - blocks;
        segment.doomed = segment.doomed | doomed;
        self.blocks_taken_out |= segment.put_off > 0;
        self.cache.take_out(slot, blocks);
        if !doomed.is_empty() {
            self.wake(slot, doomed, (now, now), out);
        }
    }

    /// Blocks of a segment are no longer in flight: serves the waiters that wait for no others. The segment is pinned, so that
    /// it stays. `T_Wait` is a time of the disk, as all times of GF 2.3.3 are: it counts from `dispatched`, while the blocks
    /// are being read.
    pub(super) fn wake(
        &mut self,
        slot: u32,
        blocks: SegmentBlocks,
        (dispatched, now): (Nanos, Nanos),
        out: &mut Vec<RedcapAction>,
    ) {
        let mut next = self.cache.get(slot).waiters.front();
        while let Some(partial) = next {
            let segment = self.cache.get_mut(slot);
            next = segment.waiters.next(&self.waiters, partial);
            let reader = &mut self.partials[partial];
            if (reader.todo & blocks).is_empty() {
                continue;
            }
            self.originals[reader.original].sums.wait_time += now.since(reader.since.max(dispatched));
            reader.since = now;
            if (reader.todo & segment.coming).is_empty() {
                segment.waiters.remove(&mut self.waiters, partial);
                self.serve(partial, now, out);
            }
        }
    }
}
