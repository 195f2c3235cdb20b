//! The cache of a smart controller (Ganger A.1.2.3).
//!
//! A cache is a pure state machine. The controller begins an operation for every request of the host. The cache
//! answers with [`CacheAction`]s: accesses to devices, permission to move the host's data, and completions for the
//! host. The controller reports back when data have moved and when accesses have ended.

mod blocks;
mod device;
mod fill;
mod flush;
mod lines;
mod locking;
mod memory;
mod model;
mod runs;

pub use device::CacheDeviceModel;
pub use model::{AllocationPolicy, FlushPolicy, MemoryCacheModel, Prefetch, ReplacementPolicy, WriteScheme};

pub(super) use device::CacheDevice;
pub(super) use memory::MemoryCache;

use iopilot_block::{Nanos, Op, SECTOR_BYTES};
use iopilot_device::ControllerReport;

/// An operation of the host, numbered by the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostOperation {
    pub(super) number: u32,
    pub(super) device: usize,
    pub(super) lba: u64,
    pub(super) sectors: u32,
    pub(super) op: Op,
    /// Whether a write is done only when it is on the device, whatever the cache's scheme.
    pub(super) through: bool,
}

/// What a cache asks its controller to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheAction {
    /// Make an access to a device, and report its end under its number.
    Access(CacheAccess),
    /// Record that this operation was a full hit.
    Hit(u32),
    /// Move the data of this operation between host and cache.
    Transfer(u32),
    /// Tell the host that this operation is done.
    Reply(u32),
    /// Reuse the number of this operation: the cache has forgotten it. Comes after its reply.
    Forget(u32),
    /// Check whether there is time for another idle write-back: one has ended.
    StillIdle(usize),
}

/// An access of a cache to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheAccess {
    pub(super) number: u32,
    pub(super) device: usize,
    pub(super) lba: u64,
    pub(super) sectors: u32,
    pub(super) op: Op,
    /// Whether it is a write that must be on the device's medium when it ends.
    pub(super) through: bool,
}

/// What a cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerCacheReport {
    /// Reads of the host.
    pub reads: u64,
    /// Reads served without an access to the device.
    pub read_hits: u64,
    /// Writes of the host.
    pub writes: u64,
    /// Writes to blocks that were all in the cache.
    pub write_hits: u64,
    /// Accesses that filled lines.
    pub fills: u64,
    /// Blocks they filled.
    pub filled: u64,
    /// Accesses that wrote data back.
    pub write_backs: u64,
    /// Blocks they wrote.
    pub written_back: u64,
}

impl From<ControllerCacheReport> for ControllerReport {
    fn from(cache: ControllerCacheReport) -> Self {
        Self {
            reads: cache.reads,
            read_hits: cache.read_hits,
            writes: cache.writes,
            write_hits: cache.write_hits,
            fills: cache.fills,
            filled_bytes: cache.filled * SECTOR_BYTES,
            write_backs: cache.write_backs,
            written_back_bytes: cache.written_back * SECTOR_BYTES,
        }
    }
}

/// The cache of a controller.
#[derive(Clone, Debug)]
pub(super) enum ControllerCache {
    Memory(Box<MemoryCache>),
    Device(Box<CacheDevice>),
}

impl ControllerCache {
    pub(super) fn begin(&mut self, operation: HostOperation, out: &mut Vec<CacheAction>) {
        match self {
            Self::Memory(cache) => cache.begin(operation, out),
            Self::Device(cache) => cache.begin(operation, out),
        }
    }

    pub(super) fn transferred(&mut self, operation: u32, out: &mut Vec<CacheAction>) {
        match self {
            Self::Memory(cache) => cache.transferred(operation, out),
            Self::Device(cache) => cache.transferred(operation, out),
        }
    }

    pub(super) fn accessed(&mut self, access: u32, out: &mut Vec<CacheAction>) {
        match self {
            Self::Memory(cache) => cache.accessed(access, out),
            Self::Device(cache) => cache.accessed(access, out),
        }
    }

    /// Writes back the dirty data of the next part of the lines.
    pub(super) fn flush(&mut self, out: &mut Vec<CacheAction>) {
        if let Self::Memory(cache) = self {
            cache.flush_part(out);
        }
    }

    /// Whether each check for dirty data covers only a part of the lines.
    pub(super) fn flushes_in_parts(&self) -> bool {
        matches!(self, Self::Memory(cache) if cache.model().flush_wakeups > 1)
    }

    /// Whether parts that were not checked yet hold dirty data.
    pub(super) fn is_partly_flushed(&self) -> bool {
        self.flushes_in_parts() && matches!(self, Self::Memory(cache) if cache.is_dirty())
    }

    /// `device` has been idle: writes back some of its dirty data, if there are any.
    pub(super) fn idle(&mut self, device: usize, out: &mut Vec<CacheAction>) {
        match self {
            Self::Memory(cache) => cache.flush_idle(device, out),
            Self::Device(cache) => cache.flush_idle(device, out),
        }
    }

    pub(super) fn idle_delay(&self) -> Option<Nanos> {
        match self {
            Self::Memory(cache) => cache.model().idle_delay,
            Self::Device(cache) => cache.model().idle_delay,
        }
    }

    /// Whether an operation of the host makes its device count as busy.
    pub(super) fn idle_counts_host(&self) -> bool {
        matches!(self, Self::Memory(cache) if cache.model().idle_counts_host)
    }

    /// The interval of checks for dirty data.
    pub(super) fn flush_interval(&self) -> Option<Nanos> {
        match self {
            Self::Memory(cache) => match cache.model().flush {
                FlushPolicy::Periodic(period) => {
                    Some(Nanos((period.0 / u64::from(cache.model().flush_wakeups.max(1))).max(1)))
                }
                FlushPolicy::OnDemand => None,
            },
            Self::Device(_) => None,
        }
    }

    /// The controller splits requests above this size; zero for no limit.
    pub(super) fn max_request(&self) -> u32 {
        match self {
            Self::Memory(cache) => cache.model().max_request,
            Self::Device(cache) => cache.model().max_request,
        }
    }

    pub(super) fn report(&self) -> ControllerCacheReport {
        match self {
            Self::Memory(cache) => cache.report(),
            Self::Device(cache) => cache.report(),
        }
    }
}
