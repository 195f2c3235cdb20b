//! [`SegmentBlocks`]: a set of blocks of one segment.

use std::ops::{BitAnd, BitOr, Sub};

/// A set of blocks of one segment, numbered from 0 to 63 within it. All operations are O(1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentBlocks(u64);

impl SegmentBlocks {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(u64::MAX);

    /// The blocks `first` to `last`, both included.
    pub(crate) const fn range(first: u32, last: u32) -> Self {
        Self((u64::MAX >> (63 - (last - first))) << first)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn len(self) -> u64 {
        self.0.count_ones() as u64
    }

    /// The blocks of this set, and those blocks of `among` whose neighbours on both sides are in this set.
    pub(crate) const fn with_gaps_filled(self, among: Self) -> Self {
        Self(self.0 | (among.0 & (self.0 << 1) & (self.0 >> 1)))
    }

    /// The blocks of `among` before the first block of this set, which must not be empty.
    pub(crate) const fn before(self, among: Self) -> Self {
        Self(among.0 & ((1 << self.0.trailing_zeros()) - 1))
    }

    /// The runs of adjacent blocks, in order: the first and the last block of each.
    pub(crate) fn runs(self) -> impl Iterator<Item = (u32, u32)> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let first = left.trailing_zeros();
            let last = first + (!(left >> first)).trailing_zeros() - 1;
            left &= !Self::range(first, last).0;
            Some((first, last))
        })
    }
}

impl BitAnd for SegmentBlocks {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for SegmentBlocks {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Sub for SegmentBlocks {
    type Output = Self;
    /// The blocks of this set that are not in the other.
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_reach_from_end_to_end() {
        assert_eq!(SegmentBlocks::range(0, 63).len(), 64);
        assert_eq!(SegmentBlocks::range(63, 63), SegmentBlocks(1 << 63));
        assert_eq!(SegmentBlocks::range(2, 4), SegmentBlocks(0b11100));
        assert_eq!(SegmentBlocks::range(0, 63).runs().collect::<Vec<_>>(), [(0, 63)]);
    }

    #[test]
    fn runs_are_of_neighbours_and_gaps_of_one_are_filled() {
        let holes = SegmentBlocks(0b1100_1011);
        assert_eq!(holes.runs().collect::<Vec<_>>(), [(0, 1), (3, 3), (6, 7)]);
        assert_eq!(holes.with_gaps_filled(SegmentBlocks::range(0, 7)), SegmentBlocks(0b1100_1111));
        assert_eq!(holes.with_gaps_filled(SegmentBlocks::range(3, 7)), holes, "only among those asked for");
        assert_eq!(SegmentBlocks::range(3, 5).before(SegmentBlocks::range(1, 7)), SegmentBlocks::range(1, 2));
        assert_eq!(SegmentBlocks::range(0, 5).before(SegmentBlocks::range(0, 7)), SegmentBlocks::NONE);
        assert_eq!(SegmentBlocks::range(63, 63).before(SegmentBlocks::range(0, 63)), SegmentBlocks::range(0, 62));
    }
}
