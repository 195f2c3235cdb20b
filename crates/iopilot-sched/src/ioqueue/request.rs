//! The requests of an [`IoQueue`](crate::IoQueue), and its data about them.

use iopilot_block::{Criticality, Lba, Nanos, Op, RequestId, Sectors};

/// A request of an [`IoQueue`](crate::IoQueue).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRequest {
    /// Its name: small and dense, and not yet in the queue.
    pub id: RequestId,
    /// What to do.
    pub op: Op,
    /// First block.
    pub lba: Lba,
    /// Length.
    pub sectors: Sectors,
    /// How its process depends on the completion.
    pub criticality: Criticality,
    /// The batch it belongs to, for [`IoQueuePolicy::BatchFcfs`](crate::IoQueuePolicy::BatchFcfs).
    pub batch: Option<u32>,
    /// Whether it may merge with others of its stream.
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

/// The pick to send next: one request, or several that merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoPick {
    /// The request; of several, the one with the lowest block. The pick is completed under this name. The others follow
    /// by [`IoQueue::next_part`](crate::IoQueue::next_part).
    pub id: RequestId,
    /// What to do.
    pub op: Op,
    /// First block of all.
    pub lba: Lba,
    /// Length of all.
    pub sectors: Sectors,
}

/// Where a request is: in one of the three sub-queues, or at the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestLocation {
    Nowhere,
    Base,
    Timeout,
    Priority,
    /// At the device, or part of a request that is.
    Picked,
}

/// A request with the queue's data about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) request: IoRequest,
    pub(super) arrived: Nanos,
    /// How many requests were inserted before it: it decides between equals at one block.
    pub(super) number: u64,
    /// When it was sent to the device.
    pub(super) started: Nanos,
    /// Its key in the order of its sub-queue, once it has one.
    pub(super) key: Option<Lba>,
    pub(super) location: RequestLocation,
    /// The part after it in a pick of several requests.
    pub(super) next_part: Option<RequestId>,
}
