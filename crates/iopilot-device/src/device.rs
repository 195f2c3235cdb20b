//! The [`Device`] trait: what the simulator and a virtual disk see of any model.

use crate::DeviceReport;
use iopilot_block::{Flags, Lba, Nanos, Op, Positions, RequestId, Sectors};

/// A request as a device sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRequest {
    /// The name to complete it under.
    pub id: RequestId,
    /// What to do.
    pub op: Op,
    /// First sector; the request lies within the device.
    pub lba: Lba,
    /// Length; zero only for a flush.
    pub sectors: Sectors,
    /// Of these a device acts on FUA and PREFLUSH.
    pub flags: Flags,
}

/// How the host has to treat a device's write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheControl {
    /// Whether there is one that forgets when the power fails: without, no flush is sent.
    pub volatile: bool,
    /// Whether a write can go past it (FUA). Without, the host sends a flush behind such a write.
    pub fua: bool,
    /// Whether nothing else is sent beside a flush: FLUSH CACHE of ATA is no queued command. The flush waits until the device
    /// is empty, and all others until it is complete (`ata_std_qc_defer` of Linux).
    pub flush_drains: bool,
}

impl Default for CacheControl {
    fn default() -> Self {
        Self { volatile: true, fua: true, flush_drains: false }
    }
}

/// Where the time of one request went, as far as the model knows. The rest, to the full service time, was spent
/// waiting in the device's own queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceBreakdown {
    /// Moving and settling the arm, and switching heads.
    pub seek: Nanos,
    /// Waiting for the first sector to come round.
    pub rotation: Nanos,
    /// Reading or writing the medium, and moving data over the bus.
    pub transfer: Nanos,
    /// Command processing; it may go on while the arm moves.
    pub overhead: Nanos,
    /// How far the arm moved.
    pub cylinders: u32,
    /// Whether the device's cache served it: a read from the buffer, or from read-ahead that is just coming in (no
    /// positioning; GF 4.3.1 counts it as a hit); a write before it is on the medium.
    pub cache_hit: bool,
}

/// A request that the device has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which.
    pub id: RequestId,
    /// When: not after the time the device was advanced to.
    pub at: Nanos,
    /// Where its time went.
    pub service: ServiceBreakdown,
}

/// A storage device: requests go in, completions come out.
///
/// The caller keeps at most [`Device::queue_depth`] requests of each of its [`Device::hardware_queues`] in the device, asks [`Device::next_event`] after each
/// call, and calls [`Device::advance`] at that time. Time never goes back. Nothing is allocated per request in the
/// steady state.
pub trait Device {
    /// Takes a request that arrives at `now`.
    fn submit(&mut self, request: DeviceRequest, now: Nanos);

    /// When the device next has something to do (to complete, or within itself); `None` where it only waits for
    /// requests. O(1).
    fn next_event(&self) -> Option<Nanos>;

    /// Runs the device to `now` and appends what completed, in order of time, to `out`.
    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>);

    /// The device's size in sectors.
    fn capacity(&self) -> u64;

    /// How many requests it takes at once, from each of its queues.
    fn queue_depth(&self) -> u32;

    /// How many queues the host can have in it: 1 for SATA and SAS, the I/O queues of an NVMe drive.
    fn hardware_queues(&self) -> u16 {
        1
    }

    /// How the host has to treat its write cache. The default is a volatile one that SCSI controls.
    fn cache_control(&self) -> CacheControl {
        CacheControl::default()
    }

    /// Where its data and its arm are, for schedulers that order by that; `None` where it has no such thing.
    fn positions(&self) -> Option<&dyn Positions> {
        None
    }

    /// Turns the platters of an idle device by this part of a revolution, 0 to 1; nothing without platters. The members of
    /// an array are not in step.
    fn respin(&mut self, revolutions: f64) {
        _ = revolutions;
    }

    /// What it tells of itself beyond the times of requests; `None` where that is nothing.
    fn report(&self) -> Option<DeviceReport> {
        None
    }
}
