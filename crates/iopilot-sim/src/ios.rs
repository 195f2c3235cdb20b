//! [`Ios`]: requests as submitted, while their parts are in flight.

use iopilot_block::{IoIndex, Lba, Sectors, Slab, SlotIndex};
use iopilot_workload::{Arrival, SourceHandle};

/// A request as submitted. It is split into parts if it exceeds `max_sectors_kb`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Io {
    /// The source's handle.
    pub(crate) handle: SourceHandle,
    /// Its first sector.
    pub(crate) lba: Lba,
    /// Its whole length.
    pub(crate) sectors: Sectors,
    pub(crate) parts_left: u32,
}

/// All requests in flight, in a slab.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ios(Slab<Io, IoIndex>);

impl Ios {
    pub(crate) fn insert(&mut self, arrival: &Arrival, parts: u32) -> IoIndex {
        let &Arrival { handle, lba, sectors, .. } = arrival;
        self.0.insert(Io { handle, lba, sectors, parts_left: parts })
    }

    /// The source's handle of the request at `index`.
    pub(crate) fn handle(&self, index: IoIndex) -> SourceHandle {
        self.0[index].handle
    }

    /// The request with the source's `handle`, if it is in flight. O(slots).
    pub(crate) fn find(&self, handle: SourceHandle) -> Option<IoIndex> {
        let at = self.0.as_slice().iter().position(|io| io.handle == handle && io.parts_left > 0)?;
        Some(IoIndex::from_index(at))
    }

    /// One part is complete. Returns the whole request if that was the last part.
    pub(crate) fn part_done(&mut self, index: IoIndex) -> Option<Io> {
        let io = &mut self.0[index];
        io.parts_left -= 1;
        let whole = (io.parts_left == 0).then_some(*io);
        if whole.is_some() {
            self.0.remove(index);
        }
        whole
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
