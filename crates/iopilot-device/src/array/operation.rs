//! [`ArrayOperation`]: an operation in progress, for the host or in the background.

use super::plan::Plan;
use crate::{DeviceRequest, ServiceBreakdown};
use iopilot_block::Nanos;

/// The purpose of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayTask {
    /// A request of the host.
    Host(DeviceRequest),
    /// Moving sectors from the write cache to the members.
    Destage { lba: u64, sectors: u32 },
    /// Rebuilding rows of a member.
    Rebuild { member: u32, row: u64, rows: u64, begun: Nanos },
}

/// An operation: its plan and its progress.
#[derive(Clone, Debug)]
pub(super) struct ArrayOperation {
    pub(super) task: ArrayTask,
    pub(super) plan: Plan,
    /// Member requests that are issued and not done.
    pub(super) outstanding: u32,
    /// Whether a read was lost with its member, so that the operation must be planned again.
    pub(super) again: bool,
    pub(super) locked: bool,
    /// Whether the flush before it (PREFLUSH) is still to be done, or in progress.
    pub(super) preflush: bool,
    /// Where the time went: along the last finished member request and those that it waited for.
    pub(super) path: ServiceBreakdown,
    /// Time in the controller, and in a flush before.
    pub(super) elsewhere: ServiceBreakdown,
    /// Whether all member requests so far were cache hits.
    pub(super) all_hits: bool,
}

impl ArrayOperation {
    /// An operation that is to be planned. It reuses the buffers of the plan of an `old` one.
    pub(super) fn new(task: ArrayTask, old: Option<&mut Self>) -> Self {
        Self {
            task,
            plan: old.map_or_else(Plan::new, |old| std::mem::take(&mut old.plan)),
            outstanding: 0,
            again: false,
            locked: false,
            preflush: false,
            path: ServiceBreakdown::default(),
            elsewhere: ServiceBreakdown::default(),
            all_hits: true,
        }
    }

    /// Where the time of a request went.
    pub(super) fn service(&self) -> ServiceBreakdown {
        ServiceBreakdown { cache_hit: self.all_hits, ..sum(&self.path, &self.elsewhere) }
    }

    /// The flush before it is done.
    pub(super) fn flushed(&mut self) {
        self.preflush = false;
        self.elsewhere = sum(&self.path, &self.elsewhere);
        self.path = ServiceBreakdown::default();
        self.all_hits = true;
    }
}

/// The breakdown of two phases, one after the other.
pub(super) fn sum(a: &ServiceBreakdown, b: &ServiceBreakdown) -> ServiceBreakdown {
    ServiceBreakdown {
        seek: a.seek + b.seek,
        rotation: a.rotation + b.rotation,
        transfer: a.transfer + b.transfer,
        overhead: a.overhead + b.overhead,
        cylinders: a.cylinders + b.cylinders,
        cache_hit: a.cache_hit && b.cache_hit,
    }
}
