//! [`CacheGeometry`]: the size of the cache and of its segments.

use crate::blocks::SegmentBlocks;
use iopilot_block::{InputError, Lba, Sectors};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The sectors of a block. It is 4 KiB long, as a page frame and a file-system block (GF 2.3.1).
pub(crate) const BLOCK_SECTORS: u64 = 8;

/// The number of the cache's segments, and their size in blocks of 4 KiB (GF 2.3.1). Written `64x128k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CacheGeometry {
    /// The number of segments.
    pub segments: u32,
    /// The blocks of 4 KiB in each segment: a power of two from 8 to 64 (32 to 256 KiB).
    pub segment_blocks: u32,
}

impl Default for CacheGeometry {
    /// 64 segments of 128 KiB: the 8 MiB of GF 2.5.2.
    fn default() -> Self {
        Self { segments: 64, segment_blocks: 32 }
    }
}

impl CacheGeometry {
    /// Reads `SEGMENTSxSIZEk`, the size in KiB.
    ///
    /// # Errors
    /// Names what is not a number, not a power of two, or out of range.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let wrong = || InputError::new("redcap: geometry", text, "SEGMENTSxSIZEk, such as 64x128k");
        let (segments, size) = text.trim().split_once('x').ok_or_else(wrong)?;
        let size = size.strip_suffix(['k', 'K']).ok_or_else(wrong)?;
        let segments = segments.parse().map_err(|_| wrong())?;
        let kib: u32 = size.parse().map_err(|_| wrong())?;
        if kib % 4 != 0 {
            return Err(InputError::new("redcap: segment size", text, SIZES));
        }
        let geometry = Self { segments, segment_blocks: kib / 4 };
        geometry.check()?;
        Ok(geometry)
    }

    /// Checks a geometry that did not come from [`CacheGeometry::parse`].
    pub(crate) fn check(self) -> Result<(), InputError> {
        if !(8..=64).contains(&self.segment_blocks) || !self.segment_blocks.is_power_of_two() {
            return Err(InputError::new("redcap: segment size", self.to_string(), SIZES));
        }
        if !(1..=1 << 24).contains(&self.segments) {
            return Err(InputError::new("redcap: segments", self.segments.to_string(), "a number from 1 to 16777216"));
        }
        Ok(())
    }

    /// The size of the cache's data in bytes.
    pub const fn bytes(self) -> u64 {
        self.segments as u64 * self.segment_blocks as u64 * 4096
    }

    /// The length of a segment.
    pub const fn segment_sectors(self) -> Sectors {
        Sectors(self.segment_blocks * BLOCK_SECTORS as u32)
    }
}

const SIZES: &str = "32k, 64k, 128k or 256k";

impl fmt::Display for CacheGeometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}k", self.segments, self.segment_blocks * 4)
    }
}

impl TryFrom<String> for CacheGeometry {
    type Error = InputError;
    fn try_from(text: String) -> Result<Self, InputError> {
        Self::parse(&text)
    }
}

impl From<CacheGeometry> for String {
    fn from(geometry: CacheGeometry) -> Self {
        geometry.to_string()
    }
}

/// Where segments and their blocks lie on a disk. The disk segment `k` has the blocks `k * S` to `k * S + S - 1`; the last
/// segment may be short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentLayout {
    /// The binary logarithm of a segment's sectors.
    shift: u32,
    /// The disk's size in sectors.
    capacity: u64,
}

impl SegmentLayout {
    pub(crate) fn new(geometry: CacheGeometry, capacity: u64) -> Self {
        // Below this limit no address overflows, and no disk is as large.
        Self { shift: geometry.segment_sectors().0.trailing_zeros(), capacity: capacity.min(u64::MAX / 2) }
    }

    pub(crate) const fn capacity(self) -> u64 {
        self.capacity
    }

    /// The number of the disk segment that contains a sector.
    pub(crate) const fn number(self, sector: u64) -> u64 {
        sector >> self.shift
    }

    /// The number of the first disk segment that begins at or after a sector.
    pub(crate) const fn first_from(self, sector: u64) -> u64 {
        sector.div_ceil(1 << self.shift)
    }

    /// The number of disk segments.
    pub(crate) const fn segments(self) -> u64 {
        self.first_from(self.capacity)
    }

    /// The first sector of a disk segment.
    pub(crate) const fn start(self, number: u64) -> u64 {
        number << self.shift
    }

    /// The sector after a disk segment.
    pub(crate) fn end(self, number: u64) -> u64 {
        ((number + 1) << self.shift).min(self.capacity)
    }

    /// The blocks of a disk segment that the sectors `from..to` touch.
    pub(crate) fn blocks(self, number: u64, from: u64, to: u64) -> SegmentBlocks {
        let place = |sector: u64| ((sector - self.start(number)) / BLOCK_SECTORS) as u32;
        SegmentBlocks::range(place(from), place(to - 1))
    }

    /// The blocks of a disk segment that lie wholly within `from..to`.
    pub(crate) fn whole_blocks(self, number: u64, from: u64, to: u64) -> SegmentBlocks {
        let from = from.next_multiple_of(BLOCK_SECTORS);
        let to = if to == self.capacity { to } else { to / BLOCK_SECTORS * BLOCK_SECTORS };
        if from < to { self.blocks(number, from, to) } else { SegmentBlocks::NONE }
    }

    /// All blocks of a disk segment.
    pub(crate) fn all(self, number: u64) -> SegmentBlocks {
        self.blocks(number, self.start(number), self.end(number))
    }

    /// The sectors of a run of blocks of a disk segment: the first, and the one after the last.
    pub(crate) fn sectors(self, number: u64, (first, last): (u32, u32)) -> (u64, u64) {
        let start = self.start(number);
        let at = |block: u32| start + u64::from(block) * BLOCK_SECTORS;
        (at(first), at(last + 1).min(self.capacity))
    }

    /// The part of the sectors `from..to` within one disk segment.
    pub(crate) fn within(self, number: u64, from: u64, to: u64) -> (u64, u64) {
        (from.max(self.start(number)), to.min(self.end(number)))
    }
}

/// A range of sectors as an address and a length.
pub(crate) fn extent((from, to): (u64, u64)) -> (Lba, Sectors) {
    (Lba(from), Sectors((to - from) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometries_are_read_and_written() {
        for text in ["64x128k", "256x32k", "32x256k", "512x128k", "1x64k"] {
            assert_eq!(CacheGeometry::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(CacheGeometry::default().bytes(), 8 << 20);
        for wrong in ["64", "64x128", "x128k", "64x100k", "64x16k", "64x512k", "0x128k", "-1x128k", "64x33k"] {
            let e = CacheGeometry::parse(wrong).unwrap_err().to_string();
            assert!(e.starts_with("redcap: ") && !e.contains('\n'), "{e}");
        }
    }

    #[test]
    fn the_last_segment_may_be_short() {
        // Two segments of 64 sectors, and 13 sectors: a block and five sectors of another.
        let layout = SegmentLayout::new(CacheGeometry::parse("4x32k").unwrap(), 141);
        assert_eq!((layout.number(140), layout.start(2), layout.end(2)), (2, 128, 141));
        assert_eq!((layout.first_from(64), layout.first_from(65), layout.segments()), (1, 2, 3));
        assert_eq!(layout.all(2), SegmentBlocks::range(0, 1));
        assert_eq!(layout.sectors(2, (0, 1)), (128, 141));
        assert_eq!(layout.whole_blocks(2, 129, 141), SegmentBlocks::range(1, 1));
        assert_eq!(layout.whole_blocks(2, 129, 140), SegmentBlocks::NONE);
        assert_eq!(layout.blocks(1, 71, 73), SegmentBlocks::range(0, 1));
    }
}
