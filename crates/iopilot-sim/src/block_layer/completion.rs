//! Completion: parts complete, a tag is freed, and the next request may be dispatched.

use super::{BlockEffect, BlockLayer};
use crate::cpu_timing::CpuTiming;
use iopilot_block::{Nanos, Op, RequestId};
use iopilot_device::{Completion, Device};
use iopilot_sched::Scheduler;

impl BlockLayer {
    /// The device finished a request: its parts complete, its tag is freed, and the next request may be dispatched. A request
    /// of the flush machinery continues there.
    pub(crate) fn complete<D: Device>(
        &mut self,
        done: &Completion,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        let id = done.id;
        let queue = self.queue_of(id);
        cpus.completed(self.rqs[id].cpu, now);
        let handle = self.ios.handle(self.rqs[id].io);
        self.recorder.served(&self.rqs[id], handle, &done.service, now);
        self.throttle.served(id, &self.rqs[id], now);
        if self.queue.flush_drains_below {
            self.below.in_device -= 1;
            self.below.flushing = false;
            self.send_held(now, device, cpus);
        }
        self.cache_hit = done.service.cache_hit;
        self.in_flight -= 1;
        self.hardware[queue].in_flight -= 1;
        if self.rqs[id].op == Op::Flush {
            self.drains = false;
        } else if self.sequence(id).is_none_or(|sequence| sequence.scheduled) {
            self.scheduler.completed(&mut self.rqs, id, now);
        }
        self.end(queue, id, now);
        while let Some(other) = self.scheduler.collapsed() {
            self.recorder.merged();
            self.rqs[other].issued = now;
            self.end(self.queue_of(other), other, now);
        }
        self.plug.unplug();
        self.run_after_completion(queue, handle, now, device, cpus);
        self.drained(now);
    }

    /// The data of `id` are transferred: it is complete, or continues in the flush machinery.
    fn end(&mut self, queue: usize, id: RequestId, now: Nanos) {
        let mut over = std::mem::take(&mut self.over);
        if self.step_done(queue, id, now, &mut over) {
            for id in over.drain(..) {
                self.finish(id, now);
            }
        } else {
            self.finish(id, now);
        }
        self.over = over;
    }

    /// Completes the parts of `id`, and frees its tag.
    pub(super) fn finish(&mut self, id: RequestId, now: Nanos) {
        let handle = self.ios.handle(self.rqs[id].io);
        let (issued, merged) = (self.rqs[id].issued, self.rqs[id].sectors);
        let mut next = Some(id);
        while let Some(part) = next {
            next = self.rqs.next_part(part);
            let rq = &self.rqs[part];
            if let Some(io) = self.ios.part_done(rq.io) {
                self.recorder.completed(rq, &io, issued, now);
                let (handle, process, inserted) = (io.handle, rq.process, rq.inserted);
                self.effects.push(BlockEffect::Completed {
                    handle,
                    process,
                    inserted,
                    issued,
                    merged,
                    cache_hit: self.cache_hit,
                });
            }
        }
        self.release_place(id);
        self.free_tag(id, handle);
        let mut next = Some(id);
        while let Some(part) = next {
            next = self.rqs.next_part(part);
            self.rqs.remove(part);
        }
    }
}
