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

pub(crate) use device::CacheDevice;
pub(crate) use memory::MemoryCache;

use iopilot_block::{Nanos, Op, SECTOR_BYTES};
use iopilot_device::ControllerReport;

/// An operation of the host, numbered by the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostOperation {
    pub(crate) number: u32,
    pub(crate) device: usize,
    pub(crate) lba: u64,
    pub(crate) sectors: u32,
    pub(crate) op: Op,
    /// Whether a write is done only when it is on the device, whatever the cache's scheme.
    pub(crate) through: bool,
}

/// What a cache asks its controller to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheAction {
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
pub(crate) struct CacheAccess {
    pub(crate) number: u32,
    pub(crate) device: usize,
    pub(crate) lba: u64,
    pub(crate) sectors: u32,
    pub(crate) op: Op,
    /// Whether it is a write that must be on the device's medium when it ends.
    pub(crate) through: bool,
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
pub(crate) enum ControllerCache {
    Memory(Box<MemoryCache>),
    Device(Box<CacheDevice>),
}

impl ControllerCache {
    pub(crate) fn begin(&mut self, operation: HostOperation, out: &mut Vec<CacheAction>) {
        match self {
            Self::Memory(cache) => cache.begin(operation, out),
            Self::Device(cache) => cache.begin(operation, out),
        }
    }

    pub(crate) fn transferred(&mut self, operation: u32, out: &mut Vec<CacheAction>) {
        match self {
            Self::Memory(cache) => cache.transferred(operation, out),
            Self::Device(cache) => cache.transferred(operation, out),
        }
    }

    pub(crate) fn accessed(&mut self, access: u32, out: &mut Vec<CacheAction>) {
        match self {
            Self::Memory(cache) => cache.accessed(access, out),
            Self::Device(cache) => cache.accessed(access, out),
        }
    }

    /// Writes back the dirty data of the next part of the lines.
    pub(crate) fn flush(&mut self, out: &mut Vec<CacheAction>) {
        if let Self::Memory(cache) = self {
            cache.flush_part(out);
        }
    }

    /// Whether each check for dirty data covers only a part of the lines.
    pub(crate) fn flushes_in_parts(&self) -> bool {
        matches!(self, Self::Memory(cache) if cache.model().flush_wakeups > 1)
    }

    /// Whether parts that were not checked yet hold dirty data.
    pub(crate) fn is_partly_flushed(&self) -> bool {
        self.flushes_in_parts() && matches!(self, Self::Memory(cache) if cache.is_dirty())
    }

    /// `device` has been idle: writes back some of its dirty data, if there are any.
    pub(crate) fn idle(&mut self, device: usize, out: &mut Vec<CacheAction>) {
        match self {
            Self::Memory(cache) => cache.flush_idle(device, out),
            Self::Device(cache) => cache.flush_idle(device, out),
        }
    }

    pub(crate) fn idle_delay(&self) -> Option<Nanos> {
        match self {
            Self::Memory(cache) => cache.model().idle_delay,
            Self::Device(cache) => cache.model().idle_delay,
        }
    }

    /// Whether an operation of the host makes its device count as busy.
    pub(crate) fn idle_counts_host(&self) -> bool {
        matches!(self, Self::Memory(cache) if cache.model().idle_counts_host)
    }

    /// The interval of checks for dirty data.
    pub(crate) fn flush_interval(&self) -> Option<Nanos> {
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
    pub(crate) fn max_request(&self) -> u32 {
        match self {
            Self::Memory(cache) => cache.model().max_request,
            Self::Device(cache) => cache.model().max_request,
        }
    }

    pub(crate) fn report(&self) -> ControllerCacheReport {
        match self {
            Self::Memory(cache) => cache.report(),
            Self::Device(cache) => cache.report(),
        }
    }
}
