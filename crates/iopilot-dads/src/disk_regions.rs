//! [`DiskRegions`]: the parts of a disk that a cache covers (GF ch. 5).

use std::ops::Range;

/// Sectors of the longest segment, 256 KiB. Groups are multiples of it, so that they hold whole segments of any length.
const LONGEST_SEGMENT: u64 = 512;

/// A disk, divided into groups of adjacent segments; for each group, whether the cache is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskRegions {
    /// Sectors of a group; the last may be shorter.
    group: u64,
    /// Sectors of the disk.
    capacity: u64,
    on: Vec<bool>,
}

impl DiskRegions {
    /// Divides a disk of `capacity` sectors into `count` groups, or fewer on a small disk. All are on.
    pub(crate) fn new(count: u32, capacity: u64) -> Self {
        let group = capacity.div_ceil(u64::from(count.max(1))).next_multiple_of(LONGEST_SEGMENT).max(LONGEST_SEGMENT);
        Self { group, capacity, on: vec![true; capacity.div_ceil(group).max(1) as usize] }
    }

    /// The same groups, all on.
    #[must_use]
    pub(crate) fn all_on(&self) -> Self {
        self.with(vec![true; self.on.len()])
    }

    /// The same groups with these states.
    pub(crate) fn with(&self, on: Vec<bool>) -> Self {
        Self { on, ..self.clone() }
    }

    /// For each group, whether it is on.
    pub(crate) fn states(&self) -> &[bool] {
        &self.on
    }

    /// The group that a sector is in; `None` beyond the end of the disk.
    pub(crate) fn of(&self, sector: u64) -> Option<usize> {
        usize::try_from(sector / self.group).ok().filter(|&group| group < self.on.len())
    }

    /// Whether any group is off.
    pub(crate) fn any_off(&self) -> bool {
        self.on.iter().any(|on| !on)
    }

    /// The sectors of the groups that are off, as ordered ranges; adjacent groups share one range.
    pub fn off(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (n, _) in (0..).zip(&self.on).filter(|(_, on)| !**on) {
            let group = n * self.group..((n + 1) * self.group).min(self.capacity);
            match ranges.last_mut().filter(|last| last.end == group.start) {
                Some(last) => last.end = group.end,
                None => ranges.push(group),
            }
        }
        ranges
    }

    /// The share of the disk that is off, from 0 to 1.
    pub fn off_share(&self) -> f64 {
        let off: u64 = self.off().iter().map(|range| range.end - range.start).sum();
        off as f64 / self.capacity.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_whole_segments_of_any_length() {
        let regions = DiskRegions::new(5, 20 * 512 - 3).with(vec![false, false, true, true, false]);
        assert_eq!(regions.off(), [0..8 * 512, 16 * 512..20 * 512 - 3]);
        assert!((regions.off_share() - 0.6).abs() < 1e-3, "{}", regions.off_share());
        assert_eq!([0, 2047, 2048, 20 * 512].map(|sector| regions.of(sector)), [Some(0), Some(0), Some(1), None]);
        let odd = DiskRegions::new(3, 10_000);
        assert_eq!((odd.group, odd.states().len()), (3584, 3), "3334 are not a multiple of 512");
    }

    #[test]
    fn a_small_disk_has_fewer_groups() {
        assert_eq!(DiskRegions::new(64, 3 * 512).states(), [true; 3]);
        for count in [0, 1] {
            let one = DiskRegions::new(count, 1 << 40);
            assert_eq!((one.states().len(), one.any_off()), (1, false));
        }
        assert_eq!(DiskRegions::new(64, 0).states().len(), 1);
    }
}
