//! What a queue knows of a request.

use iopilot_block::{Criticality, Lba, Nanos, Op, RequestId, Sectors};

/// A request as an [`IoQueue`](crate::IoQueue) sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRequest {
    /// Its name: small and dense, and not in the queue already.
    pub id: RequestId,
    /// What to do.
    pub op: Op,
    /// First block.
    pub lba: Lba,
    /// Length.
    pub sectors: Sectors,
    /// How its process depends on it.
    pub criticality: Criticality,
    /// The batch it belongs to, for [`IoQueuePolicy::BatchFcfs`](crate::IoQueuePolicy::BatchFcfs).
    pub batch: Option<u32>,
    /// Whether it may become one with others of its stream.
    pub joinable: bool,
    /// The cylinder it names, for [`CylinderMapping::FromRequest`](crate::CylinderMapping::FromRequest).
    pub cylinder: Option<u32>,
}

impl IoRequest {
    /// A critical request of no batch.
    pub fn new(id: RequestId, op: Op, lba: Lba, sectors: Sectors) -> Self {
        Self {
            id,
            op,
            lba,
            sectors,
            criticality: Criticality::TimeCritical,
            batch: None,
            joinable: true,
            cylinder: None,
        }
    }

    /// The first block after it.
    pub fn end(&self) -> Lba {
        self.lba + self.sectors
    }

    pub(super) fn is_urgent(&self) -> bool {
        self.criticality != Criticality::TimeNonCritical
    }
}

/// What is to be sent next: a request, or several that became one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoPick {
    /// The request, of several the one with the lowest block: the name to complete it under. The others follow by
    /// [`IoQueue::next_part`](crate::IoQueue::next_part).
    pub id: RequestId,
    /// What to do.
    pub op: Op,
    /// First block of all.
    pub lba: Lba,
    /// Length of all.
    pub sectors: Sectors,
}

/// Which of the three sub-queues a request waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestLocation {
    Nowhere,
    Base,
    Timeout,
    Priority,
    /// At the device, or part of one that is.
    Picked,
}

/// A request with the queue's notes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) request: IoRequest,
    pub(super) arrived: Nanos,
    /// How many came before it: decides between equals at one block.
    pub(super) number: u64,
    /// Since when it is at the device.
    pub(super) started: Nanos,
    /// The place in its sub-queue's order, once it has one.
    pub(super) key: Option<Lba>,
    pub(super) location: RequestLocation,
    /// The part behind it in one that several became.
    pub(super) next_part: Option<RequestId>,
}
