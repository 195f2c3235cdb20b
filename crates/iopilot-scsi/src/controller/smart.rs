//! [`Smart`]: a controller with its own queues and a cache.

use crate::controller::model::{ControllerCacheModel, SmartModel};
use crate::controller::transfers::Transfers;
use crate::controller_cache::{CacheDevice, ControllerCache, MemoryCache};
use iopilot_block::{Nanos, RequestId};
use iopilot_sched::{IoQueue, IoQueueConfig};

/// The state of a smart controller; its behaviour is in `topology/messages.rs`.
#[derive(Clone, Debug)]
pub(crate) struct Smart {
    pub(crate) model: SmartModel,
    pub(crate) cache: ControllerCache,
    /// By device.
    pub(crate) queues: Vec<IoQueue>,
    /// Operations whose data move to or from the host, or wait to.
    pub(crate) transfers: Transfers,
    /// By device: the number of its current idle period, which tells an outdated timer.
    pub(crate) idle_periods: Vec<u64>,
    /// Operations of the host in flight.
    pub(crate) operations: u32,
    /// Whether an operation has arrived since the cache last began to write back for idleness.
    pub(crate) interrupted: bool,
    /// Whether the next check for dirty data is scheduled.
    pub(crate) flush_is_set: bool,
    /// Scratch space: accesses that ended together.
    pub(crate) ended: Vec<RequestId>,
    /// By device: requests that were sent and have not ended; merged requests count as one.
    pub(crate) sent: Vec<u32>,
}

impl Smart {
    pub(crate) fn new(model: SmartModel) -> Self {
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
    pub(crate) fn set_devices(&mut self, capacities: &[u64]) {
        let queue = |&capacity| IoQueue::new(IoQueueConfig { capacity, ..self.model.queue.clone() });
        self.queues = capacities.iter().map(queue).collect();
        self.idle_periods = vec![0; capacities.len()];
        self.sent = vec![0; capacities.len()];
    }

    /// Whether `device` has nothing to do for this controller.
    pub(crate) fn is_idle(&self, device: usize) -> bool {
        let queue = &self.queues[device];
        let host = self.cache.idle_counts_host() && self.operations > 0;
        queue.is_empty() && queue.outstanding() == 0 && !host
    }

    /// Whether the cache may write back dirty data of `device` now. A cache device copies back from one device to
    /// another, so both have to be idle (DiskSim 4.0).
    pub(crate) fn may_clean(&self, device: usize) -> bool {
        if self.cache.idle_counts_host() && self.interrupted {
            return false;
        }
        match &self.cache {
            ControllerCache::Memory(_) => self.is_idle(device),
            ControllerCache::Device(cache) => self.is_idle(cache.model().cache) && self.is_idle(cache.model().cached),
        }
    }

    /// Returns the time of the next check for dirty data, if there are checks and none is scheduled. Checks are at
    /// multiples of their interval, like those of a daemon that has run since time 0.
    pub(crate) fn set_flush_clock(&mut self, now: Nanos) -> Option<Nanos> {
        let interval = self.cache.flush_interval().filter(|_| !self.flush_is_set)?;
        self.flush_is_set = true;
        Some(Nanos((now.0 / interval.0 + 1) * interval.0))
    }

    /// The transfer time of `sectors` blocks between the controller and the host.
    pub(crate) fn transfer_time(&self, sectors: u32) -> Nanos {
        Nanos((self.model.block_time * f64::from(sectors)).round() as u64)
    }
}
