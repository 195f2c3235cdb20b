//! Tags: taking one, sleeping for one, and passing on a tag that is freed.
//!
//! When a tag is freed, two tasks compete for it: the task whose request just completed, for its next request, and the one
//! woken from the tag's wait queue. The CPU timing decides which is faster ([`CpuTiming::completer_keeps_tag`]).

use super::{BlockEffect, BlockLayer};
use crate::cpu_timing::CpuTiming;
use iopilot_block::{Nanos, ProcessId, RequestId};
use iopilot_device::Device;
use iopilot_sched::Scheduler;
use iopilot_workload::SourceHandle;

impl BlockLayer {
    /// Takes a tag for `id`. False if none is free.
    pub(super) fn take_tag(&mut self, id: RequestId) -> bool {
        let queue = self.queue_of(id);
        let (rq, tags) = (&self.rqs[id], &mut self.hardware[queue].tags);
        let limit = self.scheduler.depth_limit(rq, tags.nr_requests());
        tags.take(rq, limit)
    }

    /// The submitter of `id` has woken and looks for a tag. Another task may have been faster.
    pub(crate) fn wake<D: Device>(&mut self, id: RequestId, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        // A woken task does not try to merge its request again, but it tries with its next one. If requests sleep one by one,
        // each of them stands for such a next request.
        if let Some(at) = self.unthrottled.iter().position(|of| *of == id) {
            self.unthrottled.swap_remove(at);
            return self.wake_with_place(id, now, device, cpus);
        }
        let queue = self.queue_of(id);
        let merged = !self.is_switching() && !self.serial && self.try_merge(id, now);
        let reserved = self.tag_reserved.iter().position(|of| *of == id).map(|at| self.tag_reserved.swap_remove(at));
        if reserved.is_some() {
            if merged || self.is_switching() {
                self.hardware[queue].tags.give_back(&self.rqs[id]);
            }
            if self.is_switching() {
                self.hardware[queue].tags.sleep(id, &self.rqs[id]);
                self.drained(now);
                return;
            }
        } else {
            if !merged && (self.is_switching() || !self.take_tag(id)) {
                self.hardware[queue].tags.asleep_again(id, &self.rqs[id]);
                return;
            }
            self.hardware[queue].tags.awake();
        }
        let process = self.rqs[id].process;
        if merged {
            // The request was merged and needs no tag. The next sleeper is woken for it.
            self.hardware[queue].tags.pass_on(&self.rqs[id], &mut self.woken);
            self.wake_all();
        } else {
            self.admit(id, now);
        }
        if self.serial {
            self.go_on(process, now);
        }
        self.end_batch(None, now, device, cpus);
    }

    /// Frees the tag of `id`, and wakes the sleepers that it is for.
    pub(super) fn give_tag(&mut self, id: RequestId) {
        let queue = self.queue_of(id);
        self.hardware[queue].tags.give(&self.rqs[id], &mut self.woken);
        self.wake_all();
    }

    /// Schedules the wake-up of each sleeper in `woken`.
    pub(super) fn wake_all(&mut self) {
        self.effects.extend(self.woken.drain(..).map(BlockEffect::Wake));
    }

    /// The request `id` is complete: the sleepers woken for its tag compete for it with its task.
    pub(super) fn free_tag(&mut self, id: RequestId, completed: SourceHandle) {
        let queue = self.queue_of(id);
        self.hardware[queue].tags.give(&self.rqs[id], &mut self.woken);
        let completer = self.rqs[id].process;
        let contend = |sleeper| BlockEffect::Contend { sleeper, completed, completer };
        self.effects.extend(self.woken.drain(..).map(contend));
    }

    /// Reserves a tag for the request `sleeper`. Its task continues when it has woken.
    pub(crate) fn reserve_tag(&mut self, sleeper: RequestId) {
        if self.tags_of(sleeper).are_shared() && !self.is_switching() && self.take_tag(sleeper) {
            self.tags_of(sleeper).awake();
            self.tag_reserved.push(sleeper);
        }
    }

    /// The task that submitted `id`.
    pub(crate) fn submitter(&self, id: RequestId) -> ProcessId {
        self.rqs[id].process
    }
}
