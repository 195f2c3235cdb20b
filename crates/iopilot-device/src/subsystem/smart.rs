//! [`Smart`]: a controller with its own queues and a cache.

use crate::subsystem::cache::{CacheDevice, ControllerCache, MemoryCache};
use crate::subsystem::model::{ControllerCacheModel, SmartModel};
use crate::subsystem::queue::DeviceQueue;
use iopilot_block::Nanos;
use std::collections::VecDeque;

/// The state of a smart controller; what it does is in the subsystem's event loop.
#[derive(Clone, Debug)]
pub(super) struct Smart {
    pub(super) model: SmartModel,
    pub(super) cache: ControllerCache,
    /// By device.
    pub(super) queues: Vec<DeviceQueue>,
    /// Operations whose data wait to move to or from the host, the first of them moving.
    pub(super) transfers: VecDeque<u32>,
    /// By device: counts its idle periods, so that an old timer is known.
    pub(super) idle_periods: Vec<u64>,
    /// Operations of the host's under way.
    pub(super) operations: u32,
}

impl Smart {
    pub(super) fn new(model: SmartModel) -> Self {
        let cache = match &model.cache {
            ControllerCacheModel::Memory(memory) => ControllerCache::Memory(Box::new(MemoryCache::new(memory.clone()))),
            ControllerCacheModel::Device(device) => ControllerCache::Device(Box::new(CacheDevice::new(*device))),
        };
        Self { model, cache, queues: Vec::new(), transfers: VecDeque::new(), idle_periods: Vec::new(), operations: 0 }
    }

    pub(super) fn queue(&mut self, device: usize) -> &mut DeviceQueue {
        if device >= self.queues.len() {
            self.queues.resize(device + 1, DeviceQueue::default());
            self.idle_periods.resize(device + 1, 0);
        }
        &mut self.queues[device]
    }

    /// How long the data of `sectors` blocks take between it and the host.
    pub(super) fn transfer_time(&self, sectors: u32) -> Nanos {
        Nanos((self.model.block_time * f64::from(sectors)).round() as u64)
    }
}
