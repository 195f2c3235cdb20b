//! [`BlockTime`]: the time that one more block adds to a disk request.

use crate::PartTimes;
use iopilot_block::Nanos;

/// The least time per block in recent requests, which is that of requests that hardly waited for the arm and the medium. It
/// decays slowly, so that it follows a slower zone or a busier disk within some hundred requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockTime(Nanos);

impl Default for BlockTime {
    fn default() -> Self {
        Self(Nanos::MAX)
    }
}

impl BlockTime {
    /// Accounts for a part of `blocks` that the disk has served.
    pub(crate) fn add(&mut self, served: &PartTimes, blocks: u64) {
        let time = served.completed.since(served.dispatched).0 / served.blocks(blocks).max(1);
        if time > 0 {
            self.0 = Nanos(time.min(self.0.0.saturating_add(self.0.0 / 64)));
        }
    }

    /// The least time per block; [`Nanos::MAX`] before the first request.
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
