//! [`VirtualDisk`]: a table-based disk that learns from the disk beside it while both run.

use super::measure::Service;
use iopilot_block::{Flags, Lba, Nanos, RequestId};
use iopilot_device::{Completion, Device, DeviceRequest, SimulatedCacheModel, TableDisk, TableModel, TimeTables};

/// Answers from its tables; before a request begins they learn what the disk has served by then.
pub(super) struct VirtualDisk<'a> {
    disk: TableDisk,
    /// What the disk serves, in order of completion; empty where nothing is to be learnt.
    lessons: &'a [Service],
    previous_end: Lba,
}

impl<'a> VirtualDisk<'a> {
    pub(super) fn new(tables: TimeTables, cache: SimulatedCacheModel, lessons: &'a [Service]) -> Self {
        let disk = TableDisk::new(TableModel { tables, cache, queue_depth: 1 });
        Self { disk, lessons, previous_end: Lba(0) }
    }
}

impl Device for VirtualDisk<'_> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        while let Some((service, later)) = self.lessons.split_first().filter(|(service, _)| service.completed <= now) {
            let served = DeviceRequest {
                id: RequestId::from_index(0),
                op: service.op,
                lba: service.lba,
                sectors: service.sectors,
                flags: Flags::empty(),
            };
            self.disk.observe(&served, self.previous_end, service.time());
            self.previous_end = service.end();
            self.lessons = later;
        }
        self.disk.submit(request, now);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.disk.next_event()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.disk.advance(now, out);
    }

    fn capacity(&self) -> u64 {
        self.disk.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.disk.queue_depth()
    }
}
