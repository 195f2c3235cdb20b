//! From the scheduler to the device.

use super::BlockLayer;
use crate::asks::Asks;
use iopilot_block::{Nanos, ProcessId, RequestId};
use iopilot_device::{Device, DeviceRequest};
use iopilot_sched::{Dispatch, Scheduler, retry_at};

impl BlockLayer {
    /// What waits for the device may go now; else the queue is run where the scheduler says so.
    pub(super) fn run_after_completion<D: Device>(
        &mut self,
        (tag, process): (u64, ProcessId),
        now: Nanos,
        device: &mut D,
    ) {
        let seen = self.asks().is_some_and(|asks| asks.asks_after_completion(tag, process));
        let waiting = seen || self.pulled.is_some() || !self.bypass.is_empty() || !self.queue.retries;
        match self.scheduler.runs_after_completion() {
            Some(at) if !waiting && at > now => self.timer = Some(at).filter(|_| self.scheduler.queued() > 0),
            None if !waiting => self.timer = None,
            _ if !waiting && self.asks().is_some_and(|asks| asks.is_quiet_after(tag, process)) => {
                // Should the task not come, somebody has to.
                if self.scheduler.queued() > 0 {
                    self.retry.get_or_insert(retry_at(now));
                }
            }
            _ => {
                self.retry = None;
                let waits = self.pulled.is_some();
                let first = if waits { self.queue.restart_latency } else { self.queue.issue_latency };
                match self.asks() {
                    Some(asks) => asks.completed(tag, process, waits, now, first),
                    None => self.pump_from(first, now, device),
                }
            }
        }
    }

    /// The request on its way has reached the device.
    pub(crate) fn issue<D: Device>(&mut self, now: Nanos, device: &mut D) {
        if let Some((id, by)) = self.asks().and_then(|asks| asks.take_issue(now)) {
            self.send(id, now, device);
            let of = (self.ios.tag(self.rqs[id].tag), self.rqs[id].process);
            let usual = self.queue.issue_latency;
            if let Some(asks) = self.asks() {
                asks.issued(of, by, now, usual);
            }
            return;
        }
        if let Some((_, id)) = self.issuing.take() {
            self.send(id, now, device);
        }
        self.pump(now, device);
    }

    /// What a recording tells of when the scheduler is asked, where there is one and the scheduler is one of Linux 6.
    pub(super) fn asks(&mut self) -> Option<&mut Asks> {
        self.asks.as_deref_mut().filter(|_| self.queue.retries)
    }

    /// Moves requests from the scheduler to the device while both are willing.
    pub(super) fn pump<D: Device>(&mut self, now: Nanos, device: &mut D) {
        match self.asks() {
            Some(_) => self.choose(now, device),
            None => self.pump_from(self.queue.issue_latency, now, device),
        }
    }

    /// The same where a recording tells when requests were handed over: as many are chosen at once as the kernel would, and they reach the
    /// device one after the other.
    fn choose<D: Device>(&mut self, now: Nanos, device: &mut D) {
        let stood = self.asks().map_or(Nanos::ZERO, |asks| asks.begin_to_ask(now));
        self.scheduler.clock_stood(stood);
        if self.pulled.is_some() && self.asks().is_some_and(|asks| asks.asks_beside()) {
            // Another CPU has that, which was asking at the same time.
            let first = self.pulled.take();
            if self.look_ahead(now, device) {
                self.also_pulled.extend(self.pulled.take());
            }
            self.pulled = first;
            if self.asks().is_some_and(|asks| asks.is_early()) {
                // That is about to go to the device.
                self.scheduler.clock_stood(Nanos::ZERO);
                return;
            }
        }
        while !self.plug.is_plugged() {
            let room = self.in_flight < self.queue.queue_depth;
            let left = self.pulled.is_some();
            if !left {
                if !room && !self.queue.lookahead {
                    break;
                }
                if !self.look_ahead(now, device) {
                    break;
                }
            }
            let chosen = self.pulled.take_if(|_| room);
            if chosen.is_some() {
                self.pulled = self.also_pulled.pop_front();
            }
            let Some(asks) = self.asks() else { break };
            let Some(id) = chosen else {
                asks.was_busy(true);
                if !left {
                    asks.leaves_over(now);
                }
                break;
            };
            let busy = asks.is_busy();
            asks.chosen(id, now);
            self.in_flight += 1;
            // What was left over goes by itself, and so does each where the device was full just now.
            if left || busy || self.asks().is_some_and(|asks| asks.asks_again(now)) {
                break;
            }
        }
        self.scheduler.clock_stood(Nanos::ZERO);
    }

    /// The same, where the first one takes `latency`.
    fn pump_from<D: Device>(&mut self, mut latency: Nanos, now: Nanos, device: &mut D) {
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
            let takes = std::mem::replace(&mut latency, self.queue.issue_latency);
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

    /// The scheduler gave nothing: where it holds something, it is asked again, unless nothing will ever come.
    fn retry_later(&mut self, now: Nanos) {
        let later = self.queue.retries && self.scheduler.queued() > 0 && (self.in_flight > 0 || self.timer.is_some());
        if later && self.retry.is_none() {
            self.retry = Some(retry_at(now));
        }
    }

    /// Each part of `id` held a tag of its own until now, which it needs no more.
    fn joined(&mut self, id: RequestId) {
        let mut next = self.rqs.next_part(id);
        while let Some(part) = next {
            self.recorder.merged();
            self.tags.give(&self.rqs[part], &mut self.effects.wake);
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
