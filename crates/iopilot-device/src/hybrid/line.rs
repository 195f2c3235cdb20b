//! A line of the cache, and its parts: up to 64, each a multiple of 4 KiB.

use std::ops::Range;

/// A line; its index is its place in flash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HybridLine {
    /// Parts that are in flash.
    pub(super) valid: u64,
    /// Valid parts that the disk does not have.
    pub(super) dirty: u64,
    /// Valid parts that are being written to the disk.
    pub(super) destaging: u64,
    /// Background work in progress on this line.
    pub(super) busy: u32,
    /// Whether it is never evicted.
    pub(super) pinned: bool,
}

impl HybridLine {
    /// Whether it can be evicted.
    pub(super) fn is_idle(&self) -> bool {
        self.dirty | self.destaging == 0 && self.busy == 0 && !self.pinned
    }
}

/// The division of the disk into lines and parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    pub(super) line: u64,
    part: u64,
}

impl Division {
    pub(super) fn new(line_sectors: u32) -> Self {
        let line = u64::from(line_sectors);
        Self { line, part: (line / 64).max(8) }
    }

    pub(super) fn parts(&self) -> u32 {
        (self.line / self.part) as u32
    }

    /// The parts of line `tag` that `sectors` touch, and the parts that they cover.
    pub(super) fn masks(&self, tag: u64, sectors: &Range<u64>) -> (u64, u64) {
        let first = tag * self.line;
        let (from, to) = (sectors.start.max(first) - first, sectors.end.min(first + self.line) - first);
        let touched = bits(from / self.part, to.div_ceil(self.part));
        let covered = bits(from.div_ceil(self.part), to / self.part);
        (touched, covered)
    }

    /// The sectors of runs of adjacent parts, from the start of the line.
    pub(super) fn runs(&self, mask: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let part = self.part;
        let mut rest = mask;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let from = u64::from(rest.trailing_zeros());
            let count = u64::from((rest >> from).trailing_ones());
            rest &= !bits(from, from + count);
            Some(from * part..(from + count) * part)
        })
    }
}

/// Bits `from` to `to`, the latter excluded.
fn bits(from: u64, to: u64) -> u64 {
    if to <= from { 0 } else { (u64::MAX >> (64 - (to - from))) << from }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_touched_and_covered() {
        let d = Division::new(128);
        assert_eq!(d.parts(), 16);
        assert_eq!(d.masks(0, &(0..128)), (0xffff, 0xffff));
        assert_eq!(d.masks(1, &(130..150)), (0b111, 0b010));
        assert_eq!(d.masks(1, &(0..136)), (1, 1));
        assert_eq!(d.masks(0, &(3..5)), (1, 0));
        assert_eq!(Division::new(8192).masks(0, &(0..8192)), (u64::MAX, u64::MAX));
    }

    #[test]
    fn runs_of_parts() {
        let d = Division::new(64);
        assert_eq!(d.runs(0b1011_0110).collect::<Vec<_>>(), [8..24, 32..48, 56..64]);
        assert!(Division::new(8192).runs(u64::MAX).eq(std::iter::once(0..8192)));
    }
}
