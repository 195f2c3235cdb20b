//! [`IntervalCost`]: the cost of the reads of one interval on one side of the comparison.

use crate::Ratio;
use crate::sums::scaled;
use iopilot_block::Nanos;

/// The reads of one interval on one side of the comparison: the real disk, or the reference disk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IntervalCost {
    pub(super) reads: u32,
    time: Nanos,
    blocks: u64,
    /// The sum over all reads of time divided by blocks, in 1/256 ns.
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

    /// The cost as a fraction, and as the time of one block. There must be at least one read.
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
