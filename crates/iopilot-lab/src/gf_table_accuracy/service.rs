//! [`DeviceService`]: a request as a device served it, and [`Lesson`]: what a table learns from it.

use iopilot_block::{Lba, Nanos, Op, Sectors};

/// A request as a device served it; requests that were merged are one.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceService {
    pub(super) op: Op,
    pub(super) lba: Lba,
    pub(super) sectors: Sectors,
    pub(super) issued: Nanos,
    pub(super) completed: Nanos,
    /// The index of the benchmark that it belongs to.
    pub(super) benchmark: usize,
}

impl DeviceService {
    pub(super) fn time(&self) -> Nanos {
        self.completed - self.issued
    }

    pub(super) fn end(&self) -> Lba {
        Lba(self.lba.0 + u64::from(self.sectors.0))
    }
}

/// A request that the disk has served, and where the one before it ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lesson {
    pub(super) service: DeviceService,
    pub(super) previous_end: Lba,
}
