//! [`Ios`]: requests as submitted, while their parts are under way.

use iopilot_block::{Lba, Sectors};
use iopilot_workload::Arrival;

/// A request as submitted: split into parts where it exceeded `max_sectors_kb`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Io {
    /// The source's handle.
    pub(crate) tag: u64,
    /// Its first sector.
    pub(crate) lba: Lba,
    /// Its whole length.
    pub(crate) sectors: Sectors,
    pub(crate) parts_left: u32,
}

/// All of them, in a slab.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ios {
    slots: Vec<Io>,
    free: Vec<u64>,
}

impl Ios {
    pub(crate) fn insert(&mut self, arrival: &Arrival, parts: u32) -> u64 {
        let io = Io { tag: arrival.tag, lba: arrival.lba, sectors: arrival.sectors, parts_left: parts };
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = io;
                index
            }
            None => {
                self.slots.push(io);
                self.slots.len() as u64 - 1
            }
        }
    }

    /// The source's handle of the request at `index`.
    pub(crate) fn tag(&self, index: u64) -> u64 {
        self.slots[index as usize].tag
    }

    /// One part is done; the whole, where it was the last.
    pub(crate) fn part_done(&mut self, index: u64) -> Option<Io> {
        let io = &mut self.slots[index as usize];
        io.parts_left -= 1;
        let whole = (io.parts_left == 0).then_some(*io);
        if whole.is_some() {
            self.free.push(index);
        }
        whole
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
