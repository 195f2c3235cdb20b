//! From the task to the scheduler: splitting, merging, throttling, taking a tag, plugging.

use super::flush::Admission;
use super::{BlockEffect, BlockLayer};
use crate::cpu_timing::{CpuTiming, QueueRun};
use iopilot_block::{Criticality, Nanos, Op, ProcessId, Request, RequestId, Sectors};
use iopilot_device::Device;
use iopilot_redcap::RequestPart;
use iopilot_sched::{Merged, Scheduler};
use iopilot_workload::{Arrival, SourceHandle};
use std::collections::VecDeque;

impl BlockLayer {
    /// A task submits a request, as part of a batch that [`BlockLayer::end_batch`] ends.
    pub(crate) fn submit(&mut self, arrival: &Arrival, now: Nanos) {
        self.recorder.arrived(now);
        if self.throttle.next_timer().is_some_and(|at| at <= now) {
            self.end_throttle_windows(now);
        }
        let cpu = arrival.cpu % self.queue.cpus;
        let most = self.queue.max_sectors;
        let parts = arrival.sectors.0.div_ceil(most).max(1);
        let io = self.ios.insert(arrival, parts);
        let mut lba = arrival.lba;
        let mut left = arrival.sectors.0;
        for _ in 0..parts {
            let sectors = Sectors(left.min(most));
            let mut rq = Request::new(arrival.op, lba, sectors, arrival.process);
            rq.flags = arrival.flags;
            rq.priority = arrival.priority;
            rq.criticality = arrival.criticality;
            rq.cpu = cpu;
            rq.io = io;
            rq.arrived = now;
            let id = self.rqs.insert(rq);
            self.submit_part(id, now);
            lba = lba + sectors;
            left -= sectors.0;
        }
    }

    /// A process now waits for the request `handle`, which becomes time-critical. O(requests).
    pub(crate) fn raise(&mut self, handle: SourceHandle, now: Nanos) {
        let Some(io) = self.ios.find(handle) else { return };
        let mut parts = std::mem::take(&mut self.raised);
        parts.extend(self.rqs.of_io(io));
        for id in parts.drain(..) {
            self.rqs[id].criticality = Criticality::TimeCritical;
            let whole = self.rqs.whole(id);
            self.scheduler.raise(&mut self.rqs, whole, now);
        }
        self.raised = parts;
    }

    /// Unplugs the device, because a process waits for a request.
    pub(crate) fn unplug<D: Device>(&mut self, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        self.plug.unplug();
        self.run_queues(QueueRun::Other, now, device, cpus);
    }

    /// Whether a prefetch would be queued at once: its task does not sleep, and would not have to sleep for a tag.
    pub(crate) fn takes_at_once(&self, part: &RequestPart) -> bool {
        let cpu = part.cpu % self.queue.cpus;
        let needed = part.sectors.0.div_ceil(self.queue.max_sectors).max(1);
        let asleep = self.serial && self.asleep.contains_key(&part.process);
        let tags = &self.hardware[self.queue.map.queue_of(cpu)].tags;
        !asleep && !self.is_switching() && tags.has_free(needed)
    }

    fn submit_part(&mut self, id: RequestId, now: Nanos) {
        if !self.asleep.is_empty() && self.serial {
            if let Some(rest) = self.asleep.get_mut(&self.rqs[id].process) {
                rest.push_back(id);
                return;
            }
        }
        self.try_submit(id, now);
    }

    /// Merges `id` into a request in the task's plug or in the scheduler, if one is adjacent.
    pub(super) fn try_merge(&mut self, id: RequestId, now: Nanos) -> bool {
        if self.plug.try_merge(&mut self.rqs, id, &self.limits) {
            self.rqs[id].inserted = now;
            self.recorder.merged();
            return true;
        }
        if !self.rqs[id].op.transfers() {
            return false;
        }
        let Some(Merged { absorbed, .. }) = self.scheduler.try_merge(&mut self.rqs, id, &self.limits, now) else {
            return false;
        };
        self.rqs[id].inserted = now;
        self.recorder.merged();
        if let Some(gone) = absorbed {
            self.recorder.merged();
            self.release_place(gone);
            self.give_tag(gone);
        }
        true
    }

    /// Submits one request: it is merged, or takes a tag, or its task sleeps. False if the task sleeps.
    pub(super) fn try_submit(&mut self, id: RequestId, now: Nanos) -> bool {
        if !self.is_switching() {
            if self.try_merge(id, now) {
                return true;
            }
            if !self.throttle.admit(id, &self.rqs[id], now) {
                self.flush_plug(now);
                self.fall_asleep(id);
                return false;
            }
            if self.take_tag(id) {
                self.admit(id, now);
                return true;
            }
        }
        self.flush_plug(now);
        let queue = self.queue_of(id);
        self.hardware[queue].tags.sleep(id, &self.rqs[id]);
        self.fall_asleep(id);
        false
    }

    /// Puts the submitter of `id` to sleep. Its further requests wait with it.
    fn fall_asleep(&mut self, id: RequestId) {
        if self.serial {
            let process = self.rqs[id].process;
            self.asleep.insert(process, VecDeque::new());
            self.effects.push(BlockEffect::Blocked(process));
        }
    }

    /// `process` has its tag, and submits the rest of its batch.
    pub(super) fn go_on(&mut self, process: ProcessId, now: Nanos) {
        let Some(mut rest) = self.asleep.remove(&process) else { return };
        while let Some(id) = rest.pop_front() {
            if !self.try_submit(id, now) {
                self.asleep.insert(process, rest);
                // The task sleeps again at once. The last effect already says so, so that the source needs no other.
                debug_assert!(matches!(self.effects.last(), Some(BlockEffect::Blocked(p)) if *p == process));
                self.effects.pop();
                return;
            }
        }
        self.effects.push(BlockEffect::Unblocked(process));
    }

    /// Passes a request with a tag to the flush machinery, to the task's plug, or to the scheduler.
    pub(super) fn admit(&mut self, id: RequestId, now: Nanos) {
        match self.begin_sequence(id, now) {
            Admission::Taken => {}
            Admission::Nothing => {
                self.rqs[id].issued = now;
                self.finish(id, now);
            }
            Admission::Ordinary if self.plug.holds(&self.rqs[id]) => {
                if self.plug.is_full(&self.rqs, id, &self.limits) {
                    self.flush_plug(now);
                }
                self.plug.hold(id);
            }
            Admission::Ordinary => self.insert(id, now),
        }
    }

    pub(super) fn flush_plug(&mut self, now: Nanos) {
        self.plug.close();
        while let Some(id) = self.plug.take() {
            self.insert(id, now);
        }
    }

    fn insert(&mut self, id: RequestId, now: Nanos) {
        self.rqs[id].inserted = now;
        self.inserted = Some(self.ios.handle(self.rqs[id].io));
        let queue = self.queue_of(id);
        self.touch(queue);
        let hardware = &mut self.hardware[queue];
        let idle = self.scheduler.queued() == 0 && hardware.waiting.is_empty() && hardware.bypass.is_empty();
        if self.rqs[id].op == Op::Flush {
            hardware.bypass.push_back(id);
        } else {
            self.scheduler.insert(&mut self.rqs, id, now);
        }
        self.plug.inserted(&self.rqs[id], idle, self.scheduler.queued(), now);
    }
}
