//! [`Contents`]: what a cache holds, without its data.

use crate::CacheGeometry;
use crate::blocks::SegmentBlocks;
use std::collections::HashSet;

/// A segment that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldSegment {
    /// The number of its disk segment.
    pub(crate) number: u64,
    pub(crate) valid: SegmentBlocks,
    /// Whether any of its blocks was copied to a reader.
    pub(crate) used: bool,
}

/// What a cache holds: addresses, without data. In a simulation, another cache can [begin](crate::Redcap::begin_with) with that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub(crate) geometry: CacheGeometry,
    /// The least recently used first.
    pub(crate) segments: Vec<HeldSegment>,
}

impl Contents {
    /// How many segments are held.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// How many segments a cache has used, of those that it began with and holds still: `self` is what it holds, and `before` what it
    /// began with. O(segments).
    pub fn reused(&self, before: &Self) -> usize {
        let before: HashSet<u64> = before.segments.iter().map(|held| held.number).collect();
        self.segments.iter().filter(|held| held.used && before.contains(&held.number)).count()
    }
}
