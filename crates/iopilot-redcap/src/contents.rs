//! [`Contents`]: which blocks a cache holds, without their data.

use crate::CacheGeometry;
use crate::blocks::SegmentBlocks;
use std::collections::HashSet;

/// A segment that a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldSegment {
    /// The number of its disk segment.
    pub(crate) number: u64,
    pub(crate) valid: SegmentBlocks,
    /// Whether a reader has hit any of its blocks.
    pub(crate) used: bool,
}

/// Which blocks a cache holds, without their data. In a simulation, another cache can
/// [begin](crate::Redcap::begin_with) with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub(crate) geometry: CacheGeometry,
    /// The least recently used first.
    pub(crate) segments: Vec<HeldSegment>,
}

impl Contents {
    /// The number of segments.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether there is no segment.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The number of segments of `before`, with which a cache began, that it still holds (`self`) and has used. O(segments).
    pub fn reused(&self, before: &Self) -> usize {
        let before: HashSet<u64> = before.segments.iter().map(|held| held.number).collect();
        self.segments.iter().filter(|held| held.used && before.contains(&held.number)).count()
    }
}
