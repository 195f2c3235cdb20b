//! Mirroring: reads go to one copy, writes to all.

use crate::system::Rand48;
use crate::system::organisation::striped::DeviceExtent;
use crate::system::organisation::{AccessPlan, DriverQueues, LogicalCopyChoice};
use iopilot_block::Op;

pub(super) struct Copies<'a> {
    pub(super) copies: usize,
    /// Devices of one copy.
    pub(super) data: u64,
    pub(super) devices: &'a [u32],
    pub(super) choice: LogicalCopyChoice,
}

impl Copies<'_> {
    pub(super) fn plan(
        &self,
        extents: &[DeviceExtent],
        op: Op,
        queues: &dyn DriverQueues,
        random: &mut Rand48,
        turn: &mut usize,
        plan: &mut AccessPlan,
    ) {
        for extent in extents {
            let at = |copy: usize| DeviceExtent { device: extent.device + copy as u64 * self.data, ..*extent };
            if op == Op::Read {
                let copy = self.choose(extent, queues, random, turn);
                plan.now.push(at(copy).access(op));
            } else {
                plan.now.extend((0..self.copies).map(|copy| at(copy).access(op)));
            }
        }
    }

    fn choose(&self, extent: &DeviceExtent, queues: &dyn DriverQueues, random: &mut Rand48, turn: &mut usize) -> usize {
        let device = |copy: usize| self.devices[(extent.device + copy as u64 * self.data) as usize];
        let length = |copy: usize| queues.queued(device(copy)) as u64;
        let distance = |copy: usize| queues.distance(device(copy), extent.lba);
        match self.choice {
            LogicalCopyChoice::Primary => 0,
            LogicalCopyChoice::Random => random.below(self.copies),
            LogicalCopyChoice::RoundRobin => {
                let copy = *turn;
                *turn = (*turn + 1) % self.copies;
                copy
            }
            LogicalCopyChoice::Nearest => self.least(distance, |_| true, random),
            LogicalCopyChoice::ShortestQueue => self.least(length, |_| true, random),
            LogicalCopyChoice::ShortestQueueThenNearest => {
                let shortest = (0..self.copies).map(length).min().unwrap_or(0);
                self.least(distance, |copy| length(copy) == shortest, random)
            }
        }
    }

    /// The copy with the least value among those considered. A number is drawn only to break a tie.
    fn least(&self, value: impl Fn(usize) -> u64, considered: impl Fn(usize) -> bool, random: &mut Rand48) -> usize {
        let least = (0..self.copies).filter(|&c| considered(c)).map(&value).min().unwrap_or(0);
        let mut ties = (0..self.copies).filter(|&c| considered(c) && value(c) == least);
        let count = ties.clone().count();
        let choice = if count > 1 { random.below(count) } else { 0 };
        ties.nth(choice).unwrap_or(0)
    }
}
