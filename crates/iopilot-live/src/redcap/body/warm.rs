//! Warm-up reads: what the cache held before a restart is read again, for no waiting process.

use super::CacheBody;
use iopilot_block::{
    Arrival, Criticality, Flags, IoPriority, Lba, Nanos, Op, PriorityClass, ProcessId, Sectors, SourceHandle,
};

/// The handle of warm-up reads.
const WARM_UP: SourceHandle = SourceHandle(u64::MAX);

impl CacheBody {
    /// Whether nothing is in flight, and no request came from above for `long`.
    pub(in crate::redcap) fn is_quiet(&self, now: Nanos, long: Nanos) -> bool {
        self.pending() == 0 && self.in_flight == 0 && now.since(self.arrived) >= long
    }

    /// Reads the disk segment at `lba` into the cache, at idle priority. Returns whether it does.
    pub(in crate::redcap) fn warm(&mut self, lba: Lba, now: Nanos) -> bool {
        let io = Arrival {
            handle: WARM_UP,
            op: Op::Read,
            lba,
            sectors: Sectors(self.segment_sectors as u32),
            flags: Flags::READ_AHEAD,
            process: ProcessId::default(),
            priority: IoPriority { class: PriorityClass::Idle, level: 0 },
            criticality: Criticality::TimeNonCritical,
            cpu: 0,
        };
        let mut actions = std::mem::take(&mut self.actions);
        let warmed = self.cache.warm(&io, now, &mut actions);
        self.act(actions, now);
        warmed
    }
}
