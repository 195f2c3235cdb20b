//! Requests that wait for the arm, and the jobs of the arm.

use super::geometry::Track;
use super::mechanics::TrackWalk;
use crate::{DeviceRequest, ServiceBreakdown};
use iopilot_block::{Nanos, RequestId};

/// What a waiting request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaWork {
    /// A read from the medium, unless another request brings the blocks in.
    Read,
    /// A write to the medium before completion.
    Write,
    /// Room in the write buffer.
    Buffer,
    /// Only its seal.
    Flush,
}

/// A request that waits in the drive's queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) request: DeviceRequest,
    pub(super) work: MediaWork,
    /// When it arrived, ns.
    pub(super) arrived: f64,
    /// When its command has been processed, ns.
    pub(super) ready: f64,
    /// The track and angle of its first block.
    pub(super) track: Track,
    pub(super) angle: f64,
    /// The seal that must be on the medium before it begins (flushes).
    pub(super) seal: Option<u64>,
    /// Whether it continues another waiting request, and is served after that.
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

    /// Whether `next` needs the arm for the same work, at the block where this one ends.
    pub(super) fn is_before(&self, next: &Self) -> bool {
        self.work == next.work && matches!(self.work, MediaWork::Read | MediaWork::Write) && self.end() == next.first()
    }
}

/// A job of the arm, until `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArmJob {
    pub(super) kind: JobKind,
    /// ns; and the same time rounded up.
    pub(super) end: f64,
    pub(super) end_nanos: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum JobKind {
    Read(ReadJob),
    Write { id: RequestId, service: ServiceBreakdown },
    Destage,
}

/// A read on the medium; its stream continues as read-ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadJob {
    pub(super) id: RequestId,
    pub(super) sectors: u64,
    /// The first block read from the medium, and the block behind the last.
    pub(super) from: u64,
    pub(super) to: u64,
    /// When the first block comes from the medium, ns.
    pub(super) first_data: f64,
    /// The transfer does not begin before the end of command processing, ns.
    pub(super) ready: f64,
    /// When the transfer phase begins, for the breakdown.
    pub(super) transfer_from: f64,
    pub(super) service: ServiceBreakdown,
    pub(super) stream: TrackWalk,
    /// The segment it fills; `None` if there is none or it was overwritten meanwhile.
    pub(super) segment: Option<u16>,
    /// The end of its read-ahead.
    pub(super) limit: u64,
}

/// Read-ahead in the background.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub(super) stream: TrackWalk,
    pub(super) segment: u16,
    pub(super) limit: u64,
}
