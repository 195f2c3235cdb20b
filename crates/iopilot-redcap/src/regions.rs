//! [`OffRegions`]: ranges of the disk that bypass the cache.

use std::ops::Range;

/// Ranges of disk segments for which the cache is off. It is on for all at first. A lookup is O(log n).
#[derive(Clone, Debug, Default)]
pub(crate) struct OffRegions {
    /// Sorted, not empty, not overlapping and not adjacent.
    off: Vec<Range<u64>>,
}

impl OffRegions {
    pub(crate) fn is_off(&self, number: u64) -> bool {
        // The usual case costs one comparison.
        !self.off.is_empty() && {
            let behind = self.off.partition_point(|range| range.end <= number);
            self.off.get(behind).is_some_and(|range| range.start <= number)
        }
    }

    /// Whether the segments `first` to `last` are all off.
    pub(crate) fn are_off(&self, first: u64, last: u64) -> bool {
        !self.off.is_empty() && {
            let behind = self.off.partition_point(|range| range.end <= first);
            self.off.get(behind).is_some_and(|range| range.start <= first && last < range.end)
        }
    }

    /// The number of the first `segments` segments that are off. O(n).
    pub(crate) fn count_off(&self, segments: u64) -> u64 {
        self.off.iter().map(|range| range.end.min(segments).saturating_sub(range.start)).sum()
    }

    /// The ranges that are off, in order.
    pub(crate) fn off(&self) -> &[Range<u64>] {
        &self.off
    }

    pub(crate) fn set(&mut self, range: Range<u64>, on: bool) {
        if range.is_empty() {
            return;
        }
        let first = self.off.partition_point(|other| other.end < range.start);
        let last = self.off.partition_point(|other| other.start <= range.end);
        let touched = &self.off[first..last];
        let start = touched.first().map_or(range.start, |other| other.start.min(range.start));
        let end = touched.last().map_or(range.end, |other| other.end.max(range.end));
        let (left, right) = (start..range.start, range.end..end);
        let new = if on { [left, right] } else { [start..end, 0..0] };
        self.off.splice(first..last, new.into_iter().filter(|range| !range.is_empty()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_flag_for_each_segment(steps in prop::collection::vec((0u64..40, 0u64..12, any::<bool>()), 1..60)) {
            let mut regions = OffRegions::default();
            let mut off = [false; 64];
            for (start, len, on) in steps {
                regions.set(start..start + len, on);
                off[start as usize..(start + len) as usize].fill(!on);
                for (number, &off) in (0u64..).zip(&off) {
                    prop_assert_eq!(regions.is_off(number), off);
                }
                let stretch = &off[start as usize..=(start + len) as usize];
                prop_assert_eq!(regions.are_off(start, start + len), stretch.iter().all(|&off| off));
                prop_assert_eq!(regions.count_off(start), off[..start as usize].iter().filter(|&&off| off).count() as u64);
                let apart = |pair: &[Range<u64>]| pair[0].end < pair[1].start;
                prop_assert!(regions.off.windows(2).all(apart) && regions.off.iter().all(|range| !range.is_empty()));
            }
        }
    }
}
