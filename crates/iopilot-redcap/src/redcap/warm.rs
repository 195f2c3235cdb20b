//! Starting with the contents of another cache: by reading them again after a restart, or at once in a simulation.

use super::Redcap;
use crate::contents::{Contents, HeldSegment};
use crate::miss_times::MissTimes;
use crate::records::{Fetch, Handling};
use crate::{RedcapAction, ReferenceDisk};
use iopilot_block::{Arrival, Nanos};

impl<V: ReferenceDisk> Redcap<V> {
    /// The numbers of the disk segments in the cache, the most recently used first. O(segments).
    pub fn held(&self) -> Vec<u64> {
        self.cache.newest_first().map(|slot| self.cache.number(slot)).collect()
    }

    /// Which blocks the cache holds. Blocks in flight count as held. O(segments).
    pub fn contents(&self) -> Contents {
        let held = |slot| {
            let segment = self.cache.get(slot);
            HeldSegment {
                number: self.cache.number(slot),
                valid: segment.valid | segment.coming,
                used: !segment.used.is_empty(),
            }
        };
        let mut segments: Vec<HeldSegment> = self.cache.newest_first().map(held).collect();
        segments.reverse();
        Contents { geometry: self.geometry, segments }
    }

    /// Starts an empty, active cache with the contents of another one of the same geometry. None of the blocks counts as used.
    /// Only for a body without data, because the frames do not hold the blocks.
    pub fn begin_with(&mut self, contents: &Contents) {
        if contents.geometry == self.geometry && self.state.is_active() {
            self.cache.hold(contents.segments.iter().map(|held| (held.number, held.valid)));
        }
    }

    /// Prefetches the whole disk segment in which `io` begins, for no reader. Returns whether it does.
    ///
    /// The cache must be active, the segment absent, and a slot free: no segment is evicted. The parts are prefetches with the
    /// process, priority and handle of `io`. No [`RedcapAction::Done`] follows.
    pub fn warm(&mut self, io: &Arrival, now: Nanos, out: &mut Vec<RedcapAction>) -> bool {
        self.advance(now, out);
        if !self.state.is_active() || io.lba.0 >= self.layout.capacity() {
            return false;
        }
        let number = self.layout.number(io.lba.0);
        if self.regions.is_off(number) || self.cache.find(number).is_some() || !self.cache.has_room() {
            return false;
        }
        let Some(slot) = self.cache.allocate(number) else { return false };
        let all = self.layout.all(number);
        let original = self.original(io, Handling::Plain, 0);
        self.originals[original].unended = 1;
        self.cache.get_mut(slot).coming = all;
        self.counters.prefetched_blocks += all.len();
        let fetch = self.fetches.insert(Fetch { original, left: 0, times: MissTimes::default() });
        self.prefetch(fetch, slot, all, now, out);
        true
    }
}
