//! What a cache holds, and beginning with that: by reading it again after a restart, or in a simulation.

use super::Redcap;
use crate::contents::{Contents, HeldSegment};
use crate::miss_times::MissTimes;
use crate::records::{Fetch, Handling};
use crate::{RedcapAction, ReferenceDisk};
use iopilot_block::{Arrival, Nanos};

impl<V: ReferenceDisk> Redcap<V> {
    /// The disk segments of which the cache holds blocks, by number, those that were used last first. O(segments).
    pub fn held(&self) -> Vec<u64> {
        self.cache.newest_first().map(|slot| self.cache.number(slot)).collect()
    }

    /// What the cache holds. What is on its way counts as held. O(segments).
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

    /// Lets an empty cache that is active begin with what another one held, if its segments are as long and as many. None of that
    /// counts as used. Only for a body without data: the frames hold nothing of it.
    pub fn begin_with(&mut self, contents: &Contents) {
        if contents.geometry == self.geometry && self.state.is_active() {
            self.cache.hold(contents.segments.iter().map(|held| (held.number, held.valid)));
        }
    }

    /// Reads into the cache all of the disk segment that `io` begins in, on nobody's behalf, and returns whether it does.
    ///
    /// The segment must be absent, and there must be room for it: nothing is evicted for it. The cache must be active.
    /// The parts are prefetches with the process, priority and handle of `io`. No [`RedcapAction::Done`] follows.
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
        self.prefetch(fetch, slot, all, out);
        true
    }
}
