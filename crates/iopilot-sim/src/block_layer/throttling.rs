//! Write-back throttling in the block layer: a request that has a place takes a tag next.

use super::BlockLayer;
use crate::cpu_timing::CpuTiming;
use iopilot_block::{Nanos, RequestId};
use iopilot_device::Device;

impl BlockLayer {
    /// The submitter of `id` has woken with a place of write-back throttling, and now needs a tag.
    pub(super) fn wake_with_place<D: Device>(
        &mut self,
        id: RequestId,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        let process = self.rqs[id].process;
        // As in `wake`: if requests sleep one by one, each stands for a request that its task submits after waking.
        if !self.serial && !self.is_switching() && self.try_merge(id, now) {
            self.release_place(id);
            return self.end_batch(None, now, device, cpus);
        }
        if self.is_switching() || !self.take_tag(id) {
            let queue = self.queue_of(id);
            self.hardware[queue].tags.sleep(id, &self.rqs[id]);
            return;
        }
        self.admit(id, now);
        if self.serial {
            self.go_on(process, now);
        }
        self.end_batch(None, now, device, cpus);
    }

    /// Schedules the wake-up of each sleeper that has a place now.
    pub(super) fn wake_unthrottled(&mut self) {
        if self.woken.is_empty() {
            return;
        }
        self.unthrottled.extend(&self.woken);
        self.wake_all();
    }

    /// Closes the windows of write-back throttling that have ended by now.
    pub(super) fn end_throttle_windows(&mut self, now: Nanos) {
        self.throttle.timer(now, &mut self.woken);
        self.wake_unthrottled();
    }

    /// Frees the place that `id` has in write-back throttling, if it has one, and wakes the sleeper that gets it.
    #[inline]
    pub(super) fn release_place(&mut self, id: RequestId) {
        self.throttle.released(id, &mut self.woken);
        self.wake_unthrottled();
    }
}
