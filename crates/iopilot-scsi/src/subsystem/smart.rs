//! [`Smart`]: a controller with its own queues and a cache.

use crate::subsystem::cache::{CacheDevice, ControllerCache, MemoryCache};
use crate::subsystem::model::{ControllerCacheModel, SmartModel};
use crate::subsystem::transfers::Transfers;
use iopilot_block::{Nanos, RequestId};
use iopilot_sched::{IoQueue, IoQueueConfig};

/// The state of a smart controller; what it does is in the subsystem's event loop.
#[derive(Clone, Debug)]
pub(super) struct Smart {
    pub(super) model: SmartModel,
    pub(super) cache: ControllerCache,
    /// By device.
    pub(super) queues: Vec<IoQueue>,
    /// Operations whose data move to or from the host, or wait to.
    pub(super) transfers: Transfers,
    /// By device: counts its idle periods, so that an old timer is known.
    pub(super) idle_periods: Vec<u64>,
    /// Operations of the host's under way.
    pub(super) operations: u32,
    /// Whether one has come since the cache last began to write out for idleness.
    pub(super) interrupted: bool,
    /// Whether the next look for dirty data has its time.
    pub(super) flush_is_set: bool,
    /// Accesses that ended together.
    pub(super) ended: Vec<RequestId>,
    /// By device: what was sent and has not ended, of several that became one only one.
    pub(super) sent: Vec<u32>,
}

impl Smart {
    pub(super) fn new(model: SmartModel) -> Self {
        let cache = match &model.cache {
            ControllerCacheModel::Memory(memory) => ControllerCache::Memory(Box::new(MemoryCache::new(memory.clone()))),
            ControllerCacheModel::Device(device) => ControllerCache::Device(Box::new(CacheDevice::new(*device))),
        };
        let transfers = Transfers::new(model.interleaved);
        Self {
            model,
            cache,
            queues: Vec::new(),
            transfers,
            idle_periods: Vec::new(),
            operations: 0,
            interrupted: false,
            flush_is_set: false,
            ended: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Makes queues for devices of these sizes.
    pub(super) fn set_devices(&mut self, capacities: &[u64]) {
        let queue = |&capacity| IoQueue::new(IoQueueConfig { capacity, ..self.model.queue.clone() });
        self.queues = capacities.iter().map(queue).collect();
        self.idle_periods = vec![0; capacities.len()];
        self.sent = vec![0; capacities.len()];
    }

    /// Whether `device` has nothing to do for this controller.
    pub(super) fn is_idle(&self, device: usize) -> bool {
        let queue = &self.queues[device];
        let host = self.cache.idle_counts_host() && self.operations > 0;
        queue.is_empty() && queue.outstanding() == 0 && !host
    }

    /// Whether the cache may write out something dirty of `device` now. A cache device reads what it copies back from one
    /// device and writes it to another: both have to be idle (DiskSim 4.0).
    pub(super) fn may_clean(&self, device: usize) -> bool {
        if self.cache.idle_counts_host() && self.interrupted {
            return false;
        }
        match &self.cache {
            ControllerCache::Memory(_) => self.is_idle(device),
            ControllerCache::Device(cache) => self.is_idle(cache.model().cache) && self.is_idle(cache.model().cached),
        }
    }

    /// Sets the time of the next look for dirty data, if there is such a time and it is not set: looks are at multiples of their
    /// interval, as those of a daemon that runs since time 0.
    pub(super) fn set_flush_clock(&mut self, now: Nanos) -> Option<Nanos> {
        let interval = self.cache.flush_interval().filter(|_| !self.flush_is_set)?;
        self.flush_is_set = true;
        Some(Nanos((now.0 / interval.0 + 1) * interval.0))
    }

    /// How long the data of `sectors` blocks take between it and the host.
    pub(super) fn transfer_time(&self, sectors: u32) -> Nanos {
        Nanos((self.model.block_time * f64::from(sectors)).round() as u64)
    }
}
