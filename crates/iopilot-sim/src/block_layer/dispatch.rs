//! From the scheduler to the device.

use super::BlockLayer;
use crate::cpu_timing::{CpuTiming, QueueRun};
use crate::tags::Tags;
use iopilot_block::{Nanos, Op, RequestId};
use iopilot_device::{Device, DeviceRequest};
use iopilot_sched::{Dispatch, Scheduler, retry_at};
use iopilot_workload::SourceHandle;

impl BlockLayer {
    /// A request of hardware queue `queue` is complete. Sends the request that waits there for the device. If there is none,
    /// runs the queue if the scheduler asks for it. Then runs the other queues, if they were starved.
    pub(super) fn run_after_completion<D: Device>(
        &mut self,
        queue: usize,
        handle: SourceHandle,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        let hardware = &self.hardware[queue];
        let held = !hardware.waiting.is_empty();
        let waiting = held || !hardware.bypass.is_empty() || !self.queue.retries;
        match self.scheduler.runs_after_completion() {
            Some(at) if !waiting && at > now => self.timer = Some(at).filter(|_| self.scheduler.queued() > 0),
            None if !waiting => self.timer = None,
            _ => {
                self.retry = None;
                let waiting = held && self.queue.retries;
                self.run_queue(queue, QueueRun::Completed { handle, waiting }, now, device, cpus);
            }
        }
        if std::mem::take(&mut self.starved) {
            for other in (queue + 1..self.hardware.len()).chain(0..queue) {
                self.run_queue(other, QueueRun::Other, now, device, cpus);
            }
        }
    }

    /// Runs all hardware queues.
    pub(super) fn run_queues<D: Device>(
        &mut self,
        run: QueueRun,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        for queue in 0..self.hardware.len() {
            self.run_queue(queue, run, now, device, cpus);
        }
    }

    /// A dispatched request has reached the driver or the device.
    pub(crate) fn issue<D: Device>(&mut self, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        if let Some(arrived) = self.transported.pop_due(now) {
            return self.reach(arrived.event, now, device);
        }
        let Some((_, queue)) = self.next_issue else { return };
        let sent = self.hardware[queue].sending.take();
        let on_their_way =
            self.hardware.iter().zip(0..).filter_map(|(hardware, queue)| Some((hardware.sending?.0, queue)));
        self.next_issue = on_their_way.min();
        let Some((_, id)) = sent else { return };
        self.send(id, now, device, cpus);
        let run = QueueRun::Issued(self.ios.handle(self.rqs[id].io));
        self.run_queue(queue, run, now, device, cpus);
    }

    /// Moves requests of hardware queue `queue` from the scheduler to the device, while the scheduler dispatches one and the
    /// device has a free slot. The CPU timing delays each. An elevator may dispatch a request of another hardware queue, which
    /// uses that queue's tag and slot.
    pub(super) fn run_queue<D: Device>(
        &mut self,
        queue: usize,
        mut run: QueueRun,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        while !self.plug.is_plugged() && self.hardware[queue].sending.is_none() {
            let mut of = queue;
            if self.hardware[queue].waiting.is_empty() {
                if !self.queue.lookahead && !self.has_room(queue) {
                    self.starved = true;
                    return;
                }
                let Some(chosen) = self.look_ahead(queue, now, device) else { return };
                of = chosen;
            }
            if !self.has_room(of) {
                self.starved = true;
                return;
            }
            // A flush that is not a queued command is sent when the device is empty, and no request is sent during it
            // (libata's `ata_std_qc_defer`).
            let alone = self.queue.flush_drains
                && self.hardware[of].waiting.front().is_some_and(|&id| self.rqs[id].op == Op::Flush);
            if alone && self.in_flight > 0 {
                self.starved = true;
                return;
            }
            let Some(id) = self.hardware[of].waiting.pop_front() else { return };
            self.drains = alone;
            self.in_flight += 1;
            self.hardware[of].in_flight += 1;
            let takes = cpus.issue(self.rqs[id].cpu, run, now);
            run = QueueRun::Issued(self.ios.handle(self.rqs[id].io));
            if takes == Nanos::ZERO {
                self.send(id, now, device, cpus);
            } else {
                let at = now + takes;
                self.hardware[queue].sending = Some((at, id));
                if self.next_issue.is_none_or(|(next, _)| at < next) {
                    self.next_issue = Some((at, queue));
                }
            }
        }
    }

    /// Dispatches the next request from the scheduler, and returns the hardware queue where it then waits. `None` if the
    /// scheduler dispatches none.
    fn look_ahead<D: Device>(&mut self, queue: usize, now: Nanos, device: &D) -> Option<usize> {
        self.timer = None;
        match self.pull(queue, now, device) {
            Dispatch::Request(id) => {
                let of = self.queue_of(id);
                self.hardware[of].waiting.push_back(id);
                if self.rqs.next_part(id).is_some() && self.scheduler.joins_at_dispatch() {
                    self.joined(id);
                }
                return Some(of);
            }
            Dispatch::WaitUntil(at) => {
                debug_assert!(at > now, "a scheduler waits for the past");
                self.timer = Some(at.max(Nanos(now.0 + 1)));
            }
            Dispatch::Empty => {}
        }
        self.starved |= self.queue.retries && self.scheduler.queued() > 0;
        self.retry_later(now);
        None
    }

    /// The scheduler dispatched no request. If it holds requests, the queue is run again later.
    fn retry_later(&mut self, now: Nanos) {
        let later = self.queue.retries && self.scheduler.queued() > 0 && (self.in_flight > 0 || self.timer.is_some());
        if later && self.retry.is_none() {
            self.retry = Some(retry_at(now));
        }
    }

    /// Frees the tags of the requests that the scheduler merged into `id` at the dispatch. Each has held a tag until now.
    fn joined(&mut self, id: RequestId) {
        let mut next = self.rqs.next_part(id);
        while let Some(part) = next {
            self.recorder.merged();
            self.release_place(part);
            self.give_tag(part);
            next = self.rqs.next_part(part);
        }
    }

    fn pull<D: Device>(&mut self, queue: usize, now: Nanos, device: &D) -> Dispatch {
        match self.hardware[queue].bypass.pop_front() {
            Some(id) => Dispatch::Request(id),
            None if self.hardware.len() > 1 => self.scheduler.dispatch_queue(&mut self.rqs, queue, now),
            None => self.scheduler.dispatch_at(&mut self.rqs, now, device.positions()),
        }
    }

    /// The driver has a request.
    fn send<D: Device>(&mut self, id: RequestId, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        let rq = &mut self.rqs[id];
        rq.issued = now;
        self.throttle.issued(id, rq, now);
        self.recorder.dispatched(&self.rqs[id], now);
        if self.queue.flush_drains_below {
            self.below.held.push_back(id);
            self.send_held(now, device, cpus);
        } else {
            self.transport(id, now, device, cpus);
        }
    }

    /// Sends requests that are held below the driver, in order. A flush waits until the device is empty, and the others wait
    /// until the flush is complete.
    pub(super) fn send_held<D: Device>(&mut self, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        while let Some(&id) = self.below.held.front() {
            let alone = self.rqs[id].op == Op::Flush;
            if self.below.flushing || (alone && self.below.in_device > 0) {
                return;
            }
            self.below.held.pop_front();
            self.below.in_device += 1;
            self.below.flushing = alone;
            self.transport(id, now, device, cpus);
        }
    }

    fn transport<D: Device>(&mut self, id: RequestId, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        match cpus.transport(now) {
            Nanos::ZERO => self.reach(id, now, device),
            takes => {
                self.transported.push(now + takes, id);
            }
        }
    }

    /// The device has a request.
    fn reach<D: Device>(&self, id: RequestId, now: Nanos, device: &mut D) {
        let rq = &self.rqs[id];
        let request = DeviceRequest { id, op: rq.op, lba: rq.lba, sectors: rq.sectors, flags: rq.flags };
        device.submit(request, now);
    }

    /// The hardware queue of the CPU that submitted `id`.
    #[inline]
    pub(super) fn queue_of(&self, id: RequestId) -> usize {
        self.queue.map.queue_of(self.rqs[id].cpu)
    }

    /// The tags of the hardware queue of `id`.
    pub(super) fn tags_of(&mut self, id: RequestId) -> &mut Tags {
        let queue = self.queue_of(id);
        &mut self.hardware[queue].tags
    }

    /// Whether the device has a free slot for hardware queue `queue`.
    pub(super) fn has_room(&self, queue: usize) -> bool {
        self.hardware[queue].in_flight < self.queue.queue_depth
            && self.in_flight < self.queue.device_depth
            && !self.drains
    }

    /// A request was inserted for hardware queue `queue`, which is therefore run at the end of the batch.
    pub(super) fn touch(&mut self, queue: usize) {
        if self.hardware.len() > 1 && !std::mem::replace(&mut self.hardware[queue].inserted, true) {
            self.touched.push(queue);
        }
    }
}
