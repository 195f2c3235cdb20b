//! [`DeviceReport`]: what a device reports after a run.

use crate::{FlashStats, HybridStats};
use iopilot_block::{Nanos, SECTOR_BYTES};
use serde::Serialize;

/// What a device reports after a run, beyond the times of requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeviceReport {
    /// A solid-state drive.
    Ssd(FlashStats),
    /// A hybrid drive.
    Hybrid(HybridReport),
    /// An array.
    Array(ArrayReport),
    /// A controller with a cache above a drive.
    Controller(ControllerReport),
}

/// What the cache of a controller did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ControllerReport {
    /// Reads of the host.
    pub reads: u64,
    /// Reads served without the drive.
    pub read_hits: u64,
    /// Writes of the host.
    pub writes: u64,
    /// Writes to blocks that were in the cache.
    pub write_hits: u64,
    /// Reads from the drive.
    pub fills: u64,
    /// Bytes read from the drive.
    pub filled_bytes: u64,
    /// Writes to the drive.
    pub write_backs: u64,
    /// Bytes written to the drive.
    pub written_back_bytes: u64,
}

impl DeviceReport {
    /// Converts the report of a device whose clock runs `speed` times as fast.
    #[must_use]
    pub(crate) fn in_time_of(mut self, speed: f64) -> Self {
        if let Self::Array(array) = &mut self {
            array.rebuilt_at_s = array.rebuilt_at_s.map(|at| at / speed);
            array.members.iter_mut().for_each(|member| member.busy_s /= speed);
        }
        self
    }
}

/// What a hybrid drive did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HybridReport {
    /// The statistics of its cache.
    pub cache: HybridStats,
    /// The statistics of its flash; left out if the flash keeps none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssd: Option<FlashStats>,
}

/// The state of an array at the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayReport {
    /// Members that are lost or not yet rebuilt, from 0.
    pub lost_members: Vec<u32>,
    /// When the last rebuild ended, in seconds; `None` if there was none, or one is in progress.
    pub rebuilt_at_s: Option<f64>,
    /// Bytes in its write cache that are not on the members.
    pub dirty_bytes: u64,
    /// What each member did, in order.
    pub members: Vec<MemberReport>,
}

/// What a member of an array did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemberReport {
    /// Reads that it served, for the host or for redundancy.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Seconds in which it had at least one request.
    pub busy_s: f64,
}

impl ArrayReport {
    pub(crate) fn new(
        lost_members: Vec<u32>,
        rebuilt_at: Option<Nanos>,
        dirty_sectors: u64,
        members: Vec<MemberReport>,
    ) -> Self {
        Self {
            lost_members,
            rebuilt_at_s: rebuilt_at.map(|at| at.as_secs_f64()),
            dirty_bytes: dirty_sectors * SECTOR_BYTES,
            members,
        }
    }
}
