//! [`BlockTime`]: what a block adds to a request of the disk.

use crate::PartTimes;
use iopilot_block::Nanos;

/// The least time of a block in the latest requests: of those that hardly had to wait for the arm and the medium. It is
/// forgotten slowly, so that a slower zone or a busier disk is followed within some hundred requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockTime(Nanos);

impl Default for BlockTime {
    fn default() -> Self {
        Self(Nanos::MAX)
    }
}

impl BlockTime {
    /// The disk has served a part of `blocks`.
    pub(crate) fn add(&mut self, served: &PartTimes, blocks: u64) {
        let time = served.completed.since(served.dispatched).0 / served.blocks(blocks).max(1);
        if time > 0 {
            self.0 = Nanos(time.min(self.0.0.saturating_add(self.0.0 / 64)));
        }
    }

    /// The time; that of no request is longer than any.
    pub(crate) const fn least(self) -> Nanos {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Sectors;

    fn served(took: u64, merged: u32) -> PartTimes {
        PartTimes { inserted: Nanos(0), dispatched: Nanos(5), completed: Nanos(5 + took), merged: Sectors(merged) }
    }

    #[test]
    fn the_least_counts_until_it_is_forgotten() {
        let mut time = BlockTime::default();
        time.add(&served(8_000, 0), 1);
        assert_eq!(time.least(), Nanos(8_000));
        time.add(&served(32_000, 256), 4);
        assert_eq!(time.least(), Nanos(1_000), "the merged request had 32 blocks");
        time.add(&served(0, 0), 4);
        time.add(&served(8_000, 0), 1);
        assert_eq!(time.least(), Nanos(1_015));
        (0..200).for_each(|_| time.add(&served(8_000, 0), 1));
        assert_eq!(time.least(), Nanos(8_000));
    }
}
