//! [`DeviceQueue`]: the requests that wait at a smart controller for one device.

use std::collections::VecDeque;

/// First come, first served.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceQueue {
    waiting: VecDeque<u32>,
    pub(super) outstanding: u32,
}

impl DeviceQueue {
    pub(super) fn insert(&mut self, flight: u32) {
        self.waiting.push_back(flight);
    }

    pub(super) fn pick(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.outstanding == 0
    }
}
