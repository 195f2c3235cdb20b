//! [`AccessPlan`]: the accesses of a request, and their dependencies.

use iopilot_block::Op;

/// An access to one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceAccess {
    /// The device.
    pub(crate) device: u32,
    /// First block.
    pub(crate) lba: u64,
    /// Blocks.
    pub(crate) sectors: u32,
    /// Read or write.
    pub(crate) op: Op,
    /// The rows of parity that it reads for or whose parity it writes, one bit each.
    pub(crate) rows: u8,
}

/// A write that waits for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingWrite {
    pub(crate) access: DeviceAccess,
    /// The number of reads it still waits for.
    pub(crate) waits: u32,
}

/// The accesses of one request. Its vectors are reused from request to request.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessPlan {
    /// Accesses that may start at once.
    pub(crate) now: Vec<DeviceAccess>,
    pub(crate) later: Vec<WaitingWrite>,
    synchronous: bool,
}

impl AccessPlan {
    pub(crate) fn clear(&mut self) {
        self.now.clear();
        self.later.clear();
        self.synchronous = false;
    }

    /// The number of accesses.
    pub(crate) fn len(&self) -> usize {
        self.now.len() + self.later.len()
    }

    /// The accesses that may start at once.
    pub(crate) fn ready(&self) -> &[DeviceAccess] {
        &self.now
    }

    /// The accesses that wait for others.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &DeviceAccess> {
        self.later.iter().map(|later| &later.access)
    }

    /// Counts, for every waiting write, the reads in `now` that it needs. Writes that need none may start at once.
    pub(crate) fn settle(&mut self, synchronous: bool) {
        self.synchronous = synchronous;
        let Self { now, later, .. } = self;
        for write in later.iter_mut() {
            write.waits = now.iter().filter(|read| needs(synchronous, &write.access, read)).count() as u32;
        }
        let reads = now.len();
        later.retain(|write| {
            if write.waits == 0 {
                now.push(write.access);
            }
            write.waits > 0
        });
        debug_assert!(later.is_empty() || reads > 0);
    }

    /// Completes `done`: calls `begin` for each access that waited for nothing else.
    pub(crate) fn completed(&mut self, done: &DeviceAccess, mut begin: impl FnMut(DeviceAccess)) {
        if done.op != Op::Read {
            return;
        }
        let synchronous = self.synchronous;
        self.later.retain_mut(|write| {
            if !needs(synchronous, &write.access, done) {
                return true;
            }
            write.waits -= 1;
            if write.waits == 0 {
                begin(write.access);
            }
            write.waits > 0
        });
    }
}

/// A write waits for the reads on its own device, and a parity write also for all reads of its row. With synchronous
/// writes, every write waits for all reads.
fn needs(synchronous: bool, write: &DeviceAccess, read: &DeviceAccess) -> bool {
    read.op == Op::Read && (synchronous || write.device == read.device || write.rows & read.rows != 0)
}
