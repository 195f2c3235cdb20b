//! [`IntervalCost`]: what the reads of one interval cost in one world.

use crate::Ratio;
use crate::sums::scaled;
use iopilot_block::Nanos;

/// The reads of one interval in one world.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IntervalCost {
    pub(super) reads: u32,
    time: Nanos,
    blocks: u64,
    /// Sum of the time by blocks of each read, in 1/256 ns.
    ratios: u64,
}

impl IntervalCost {
    pub(super) fn add(&mut self, time: Nanos, blocks: u64) {
        let blocks = blocks.max(1);
        self.reads += 1;
        self.time += time;
        self.blocks += blocks;
        self.ratios += scaled(time, 256, blocks).0;
    }

    /// The cost as a fraction, and the time of a block that this is. There are reads.
    pub(super) fn cost(&self, ratio: Ratio) -> (u64, u64, Nanos) {
        match ratio {
            Ratio::Sums => (self.time.0, self.blocks, Nanos(self.time.0 / self.blocks)),
            Ratio::Each => {
                let reads = u64::from(self.reads);
                (self.ratios, reads, Nanos(self.ratios / reads / 256))
            }
        }
    }
}
