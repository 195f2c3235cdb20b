//! From the scheduler to the device.

use super::BlockLayer;
use crate::cpu_timing::{CpuTiming, QueueRun};
use iopilot_block::{Nanos, RequestId};
use iopilot_device::{Device, DeviceRequest};
use iopilot_sched::{Dispatch, Scheduler, retry_at};
use iopilot_workload::SourceHandle;

impl BlockLayer {
    /// Sends the request that waits for the device. Without one, runs the queue where the scheduler says so.
    pub(super) fn run_after_completion<D: Device>(
        &mut self,
        handle: SourceHandle,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        let waiting = self.pulled.is_some() || !self.bypass.is_empty() || !self.queue.retries;
        match self.scheduler.runs_after_completion() {
            Some(at) if !waiting && at > now => self.timer = Some(at).filter(|_| self.scheduler.queued() > 0),
            None if !waiting => self.timer = None,
            _ => {
                self.retry = None;
                let waiting = self.pulled.is_some() && self.queue.retries;
                self.run_queue(QueueRun::Completed { handle, waiting }, now, device, cpus);
            }
        }
    }

    /// The request on its way has reached the device.
    pub(crate) fn issue<D: Device>(&mut self, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        let mut run = QueueRun::Other;
        if let Some((_, id)) = self.issuing.take() {
            run = QueueRun::Issued(self.ios.handle(self.rqs[id].io));
            self.send(id, now, device);
        }
        self.run_queue(run, now, device, cpus);
    }

    /// Moves requests from the scheduler to the device while the scheduler has one and the device has room. The CPU timing
    /// gives each its delay.
    pub(super) fn run_queue<D: Device>(
        &mut self,
        mut run: QueueRun,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        while !self.plug.is_plugged() && self.issuing.is_none() {
            let room = self.in_flight < self.queue.queue_depth;
            if self.pulled.is_none() {
                if !room && !self.queue.lookahead {
                    return;
                }
                if !self.look_ahead(now, device) {
                    return;
                }
            }
            if !room {
                return;
            }
            let Some(id) = self.pulled.take() else { return };
            self.in_flight += 1;
            let takes = cpus.issue(run, now);
            run = QueueRun::Issued(self.ios.handle(self.rqs[id].io));
            if takes == Nanos::ZERO {
                self.send(id, now, device);
            } else {
                self.issuing = Some((now + takes, id));
            }
        }
    }

    /// Has the scheduler choose the next request; false where it gives none.
    fn look_ahead<D: Device>(&mut self, now: Nanos, device: &D) -> bool {
        self.timer = None;
        match self.pull(now, device) {
            Dispatch::Request(id) => {
                self.pulled = Some(id);
                if self.rqs.next_part(id).is_some() && self.scheduler.joins_at_dispatch() {
                    self.joined(id);
                }
                return true;
            }
            Dispatch::WaitUntil(at) => {
                debug_assert!(at > now, "a scheduler waits for the past");
                self.timer = Some(at.max(Nanos(now.0 + 1)));
            }
            Dispatch::Empty => {}
        }
        self.retry_later(now);
        false
    }

    /// The scheduler gave no request. While it holds requests, the queue is run again later.
    fn retry_later(&mut self, now: Nanos) {
        let later = self.queue.retries && self.scheduler.queued() > 0 && (self.in_flight > 0 || self.timer.is_some());
        if later && self.retry.is_none() {
            self.retry = Some(retry_at(now));
        }
    }

    /// Frees the tags of the requests that were merged into `id`: each held a tag of its own until now.
    fn joined(&mut self, id: RequestId) {
        let mut next = self.rqs.next_part(id);
        while let Some(part) = next {
            self.recorder.merged();
            self.give_tag(part);
            next = self.rqs.next_part(part);
        }
    }

    fn pull<D: Device>(&mut self, now: Nanos, device: &D) -> Dispatch {
        match self.bypass.pop_front() {
            Some(id) => Dispatch::Request(id),
            None => self.scheduler.dispatch_at(&mut self.rqs, now, device.positions()),
        }
    }

    fn send<D: Device>(&mut self, id: RequestId, now: Nanos, device: &mut D) {
        let rq = &mut self.rqs[id];
        rq.issued = now;
        let request = DeviceRequest { id, op: rq.op, lba: rq.lba, sectors: rq.sectors, flags: rq.flags };
        self.recorder.dispatched(&self.rqs[id], now);
        device.submit(request, now);
    }
}
