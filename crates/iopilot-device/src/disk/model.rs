//! [`DiskModel`]: all parameters of one drive, in the units of the model.

use super::mechanics::Mechanics;
use crate::CacheControl;

/// All parameters of one mechanical drive. Times are in nanoseconds, lengths in sectors.
#[derive(Clone, Debug)]
pub struct DiskModel {
    /// Platters and arm.
    pub mechanics: Mechanics,
    /// Bus, command processing and queue.
    pub interface: InterfaceModel,
    /// On-board buffer.
    pub cache: CacheModel,
}

/// Bus, command processing and queue.
#[derive(Clone, Debug)]
pub struct InterfaceModel {
    /// Time to move one sector over the bus, ns.
    pub bus_sector: f64,
    /// Requests the drive accepts at once.
    pub queue_depth: u32,
    /// How the host has to treat the write cache.
    pub cache_control: CacheControl,
    /// The order in which it serves them.
    pub policy: QueuePolicy,
    /// With [`QueuePolicy::Sptf`]: a request that has waited longer than this goes first, ns.
    pub age_limit: Option<f64>,
    /// Command processing of a read that needs the medium, ns.
    pub read_overhead: f64,
    /// Command processing of a read served from the cache, ns.
    pub hit_overhead: f64,
    /// Command processing of a write or a flush, ns.
    pub write_overhead: f64,
}

/// The order in which a drive serves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePolicy {
    /// First come, first served.
    Fifo,
    /// Shortest positioning time first: seek plus rotation (Carroll 2.2.5 "SATF", Ganger B.1.2 "Command Queueing").
    Sptf,
}

/// The on-board buffer.
#[derive(Clone, Debug)]
pub struct CacheModel {
    /// The number of segments; 0 for no cache.
    pub segments: u16,
    /// How many of them may hold dirty blocks, one run each, and then no reads; 0 for write-through.
    pub write_segments: u16,
    /// Blocks in a segment.
    pub segment_sectors: u64,
    /// Read-ahead after a sequential read.
    pub read_ahead_sequential: u32,
    /// Read-ahead after any other read that misses.
    pub read_ahead_random: u32,
    /// Whether hits of a sequential reader continue the read-ahead (off: it only follows misses, as in GF 4.3.1).
    pub read_ahead_on_hit: bool,
    /// Whether blocks before the requested one that pass under the head are kept.
    pub read_on_arrival: bool,
    /// How long the arm must be idle before dirty blocks are written, ns.
    pub destage_idle: f64,
}
