//! The [`Device`] trait: the interface of all models for the simulator and virtual disks.

use crate::DeviceReport;
use iopilot_block::{Flags, Lba, Nanos, Op, Positions, RequestId, Sectors};

/// A request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRequest {
    /// The id under which it completes.
    pub id: RequestId,
    /// The operation.
    pub op: Op,
    /// First sector; the request lies within the device.
    pub lba: Lba,
    /// Length; zero only for a flush.
    pub sectors: Sectors,
    /// A device acts on FUA and PREFLUSH only.
    pub flags: Flags,
}

/// How the host has to treat a device's write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheControl {
    /// Whether there is one that loses its data on power failure; without it, no flush is sent.
    pub volatile: bool,
    /// Whether a write can bypass it (FUA). Without FUA, the host sends a flush after such a write.
    pub fua: bool,
    /// Whether a flush excludes all other requests, as FLUSH CACHE of ATA is not a queued command. The flush waits
    /// until the device is empty, and other requests wait until it is complete (`ata_std_qc_defer` of Linux).
    pub flush_drains: bool,
}

impl Default for CacheControl {
    fn default() -> Self {
        Self { volatile: true, fua: true, flush_drains: false }
    }
}

/// Where the time of one request went, as far as the model knows. The rest of the service time was spent in the
/// device's own queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceBreakdown {
    /// Time to move and settle the arm, and to switch heads.
    pub seek: Nanos,
    /// Time to wait for the first sector.
    pub rotation: Nanos,
    /// Time to read or write the medium, and to move data over the bus.
    pub transfer: Nanos,
    /// Time of command processing; it may overlap with the arm's movement.
    pub overhead: Nanos,
    /// Distance of the arm movement.
    pub cylinders: u32,
    /// Whether the device's cache served it: a read from the buffer or from read-ahead in progress (no positioning;
    /// GF 4.3.1 counts it as a hit), or a write that completed before it was on the medium.
    pub cache_hit: bool,
}

/// A request that the device has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub id: RequestId,
    /// The time of completion, not after the time the device was advanced to.
    pub at: Nanos,
    /// Where its time went.
    pub service: ServiceBreakdown,
}

/// A storage device: requests go in, completions come out.
///
/// The caller keeps at most [`Device::queue_depth`] requests in the device for each of its
/// [`Device::hardware_queues`]. After each call it asks [`Device::next_event`], and it calls [`Device::advance`] at
/// that time. Time never goes back. In the steady state a device allocates nothing per request.
pub trait Device {
    /// Accepts a request that arrives at `now`.
    fn submit(&mut self, request: DeviceRequest, now: Nanos);

    /// The time of the device's next event (a completion, or an internal one); `None` if it only waits for requests.
    /// O(1).
    fn next_event(&self) -> Option<Nanos>;

    /// Runs the device to `now` and appends the completed requests, in order of time, to `out`.
    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>);

    /// The device's size in sectors.
    fn capacity(&self) -> u64;

    /// How many requests it accepts at once, from each of its queues.
    fn queue_depth(&self) -> u32;

    /// How many queues the host can have in it: 1 for SATA and SAS, the I/O queues of an NVMe drive.
    fn hardware_queues(&self) -> u16 {
        1
    }

    /// How the host has to treat its write cache. The default is a volatile cache, controlled as on SCSI.
    fn cache_control(&self) -> CacheControl {
        CacheControl::default()
    }

    /// The positions of its data and its arm, for schedulers that order by position; `None` if it has none.
    fn positions(&self) -> Option<&dyn Positions> {
        None
    }

    /// Turns the platters of an idle device by this part of a revolution, 0 to 1. Has no effect without platters. The
    /// members of an array are not in phase.
    fn respin(&mut self, revolutions: f64) {
        _ = revolutions;
    }

    /// What it reports beyond the times of requests; `None` for nothing.
    fn report(&self) -> Option<DeviceReport> {
        None
    }
}
