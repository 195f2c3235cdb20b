//! [`SegmentSweep`]: iterates over the segments of a directory in a range of numbers.

use crate::directory::Directory;
use std::ops::RangeInclusive;

/// Iterates over the segments of a directory whose numbers are in a range: by number, or by slot if the range is longer than
/// the directory. Segments may be removed from the directory during the iteration.
#[derive(Clone, Debug)]
pub(crate) struct SegmentSweep {
    numbers: RangeInclusive<u64>,
    /// The next slot, if the iteration is by slot.
    slot: Option<u32>,
}

impl SegmentSweep {
    pub(crate) fn new(directory: &Directory, numbers: RangeInclusive<u64>) -> Self {
        let by_slot = numbers.end().saturating_sub(*numbers.start()) >= u64::from(directory.slots());
        Self { numbers, slot: by_slot.then_some(0) }
    }

    /// The next slot.
    pub(crate) fn next(&mut self, directory: &Directory) -> Option<u32> {
        let Some(slot) = &mut self.slot else {
            return self.numbers.find_map(|number| directory.find(number));
        };
        let left = *slot..directory.slots();
        let found = left.into_iter().find(|&slot| directory.number_at(slot).is_some_and(|n| self.numbers.contains(&n)));
        *slot = found.map_or(u32::MAX, |found| found + 1);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(numbers: RangeInclusive<u64>) -> Vec<u64> {
        let mut directory = Directory::new(8);
        for number in [5, 9, 7] {
            directory.allocate(number);
        }
        let mut sweep = SegmentSweep::new(&directory, numbers);
        std::iter::from_fn(|| sweep.next(&directory)).map(|slot| directory.number(slot)).collect()
    }

    #[test]
    fn short_ranges_go_by_number_and_long_ones_by_slot() {
        assert_eq!(found(6..=8), [7]);
        assert_eq!(found(7..=9), [7, 9]);
        assert_eq!(found(6..=1_000), [9, 7]);
        assert_eq!(found(0..=u64::MAX), [5, 9, 7]);
        assert_eq!((found(10..=11), found(10..=100)), (vec![], vec![]));
    }
}
