//! What waits for the arm, and what the arm is doing.

use super::geometry::Track;
use super::mechanics::TrackWalk;
use crate::{DeviceRequest, ServiceBreakdown};
use iopilot_block::{Nanos, RequestId};

/// What has to be done for a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaWork {
    /// Read from the medium, unless another request brings the blocks in.
    Read,
    /// Write to the medium before completion.
    Write,
    /// Put into the write buffer as soon as there is room.
    Buffer,
    /// Nothing but to wait for its seal.
    Flush,
}

/// A request that waits in the drive's queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) request: DeviceRequest,
    pub(super) work: MediaWork,
    /// ns.
    pub(super) arrived: f64,
    /// When its command has been processed, ns.
    pub(super) ready: f64,
    /// Where its first block lies, and at which angle.
    pub(super) track: Track,
    pub(super) angle: f64,
    /// The seal of the write buffer that must be on the medium before it begins (flushes).
    pub(super) seal: Option<u64>,
    /// It goes on where another one that waits ends, and is served behind that.
    pub(super) follows: bool,
}

impl Waiting {
    pub(super) fn first(&self) -> u64 {
        self.request.lba.0
    }

    pub(super) fn end(&self) -> u64 {
        self.request.lba.0 + self.sectors()
    }

    pub(super) fn sectors(&self) -> u64 {
        u64::from(self.request.sectors.0)
    }

    /// Whether `next` needs the arm for the same, at the block where this one ends.
    pub(super) fn is_before(&self, next: &Self) -> bool {
        self.work == next.work && matches!(self.work, MediaWork::Read | MediaWork::Write) && self.end() == next.first()
    }
}

/// What the arm does until `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArmJob {
    pub(super) kind: JobKind,
    /// ns; and the same rounded up.
    pub(super) end: f64,
    pub(super) end_nanos: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum JobKind {
    Read(ReadJob),
    Write { id: RequestId, service: ServiceBreakdown },
    Destage,
}

/// A read on the medium; its stream goes on as read-ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadJob {
    pub(super) id: RequestId,
    pub(super) sectors: u64,
    /// First block read from the medium, and behind the last.
    pub(super) from: u64,
    pub(super) to: u64,
    /// When the first block comes from the medium, ns.
    pub(super) first_data: f64,
    /// Transfer does not begin before command processing is over, ns.
    pub(super) ready: f64,
    /// When the transfer phase begins, for the breakdown.
    pub(super) transfer_from: f64,
    pub(super) service: ServiceBreakdown,
    pub(super) stream: TrackWalk,
    /// The segment it fills; `None` where there is none or it was overwritten meanwhile.
    pub(super) segment: Option<u16>,
    /// Read-ahead goes on to here.
    pub(super) limit: u64,
}

/// Read-ahead in the background.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub(super) stream: TrackWalk,
    pub(super) segment: u16,
    pub(super) limit: u64,
}
