//! Slices: which queue has its turn, for how long, and which request may preempt it.

use super::{Cfq, CfqQueueId, IDLE_GRACE, SEEKY_IDLE, TICK};
use iopilot_block::{Flags, Nanos, RequestId, Requests};

impl Cfq {
    /// Moves the clock to `now`, and expires the timers that are due, each at its own time.
    pub(super) fn advance(&mut self, now: Nanos) {
        if let Some(at) = self.idle_timer.filter(|&at| at <= now) {
            self.now = at;
            self.idle_timer = None;
            if let Some(active) = self.active {
                let q = &self.queues[active.0 as usize];
                let waits_on = self.tree.busy == 0 || !q.sorted.is_empty();
                if q.slice_is_used(at) || !waits_on {
                    self.expire_slice(false);
                }
            }
        }
        if self.grace_timer.is_some_and(|at| at <= now) {
            self.grace_timer = None;
        }
        self.now = now;
    }

    /// The length of a slice for this kind of queue and level, in nanoseconds.
    fn slice(&self, is_sync: bool, level: u8) -> i64 {
        let base = if is_sync { self.tunables.slice_sync } else { self.tunables.slice_async } * 1_000_000;
        base as i64 + base as i64 / 5 * (4 - i64::from(level))
    }

    /// Moves `queue` to the position of its next slice in the service tree.
    pub(super) fn resort(&mut self, queue: CfqQueueId) {
        if !self.queue(queue).is_busy {
            return;
        }
        // An approximation that the kernel makes: the shorter its slices, the later its turn.
        let others = i64::from(self.tree.busy) - 1;
        let offset = {
            let q = &self.queues[queue.0 as usize];
            others.saturating_mul(self.slice(true, 0) - self.slice(q.is_sync, q.level()))
        };
        let q = &mut self.queues[queue.0 as usize];
        let key = offset.saturating_add(self.now.0 as i64).saturating_add(std::mem::take(&mut q.slice_rest));
        self.tree.place(q, queue, key);
    }

    /// Ends the slice of the active queue. If the slice was cut off, the queue keeps the unused rest.
    pub(super) fn expire_slice(&mut self, cut_off: bool) {
        let Some(active) = self.active else { return };
        let now = self.now;
        let q = self.queue(active);
        let was_awaited = std::mem::take(&mut q.is_awaited);
        if let Some(end) = q.slice_end.filter(|_| cut_off) {
            q.slice_rest = end.0 as i64 - now.0 as i64;
        }
        if was_awaited {
            self.idle_timer = None;
        }
        self.resort(active);
        self.active = None;
        if let Some(process) = self.active_process.take() {
            self.processes.release(process);
        }
    }

    /// The queue to serve now; `None` to idle, or if no request waits.
    fn select(&mut self) -> Option<CfqQueueId> {
        if let Some(active) = self.active {
            let q = &self.queues[active.0 as usize];
            if !q.slice_is_used(self.now) {
                if !q.sorted.is_empty() {
                    return Some(active);
                }
                if self.idle_timer.is_some() || (q.in_flight > 0 && q.idles) {
                    return None;
                }
            }
            self.expire_slice(false);
        }
        let next = self.tree.first()?;
        if self.queue(next).is_idle_class() {
            let graced = self.last_end + IDLE_GRACE;
            if self.now < graced {
                self.grace_timer = Some(graced);
                return None;
            }
        }
        self.grace_timer = None;
        let q = self.queue(next);
        q.slice_end = None;
        q.age_checked = false;
        self.active = Some(next);
        Some(next)
    }

    /// Moves requests to the dispatch queue, in rounds, until it is full enough.
    pub(super) fn serve(&mut self, rqs: &Requests) {
        if self.tree.busy == 0 {
            return;
        }
        while let Some(queue) = self.select() {
            let q = &self.queues[queue.0 as usize];
            let most = if q.is_idle_class() { 1 } else { self.tunables.quantum };
            // A queue without competitors may have four times as many requests at the device.
            let limit = if self.tree.busy > 1 { most } else { 4 * most };
            if q.in_flight >= limit || (self.sync_in_flight > 0 && !q.is_sync) {
                return;
            }
            self.queue(queue).is_awaited = false;
            self.idle_timer = None;
            self.round(rqs, queue, most);
        }
    }

    /// Moves up to `most` requests of `queue`.
    fn round(&mut self, rqs: &Requests, queue: CfqQueueId, most: u64) {
        let mut moved = 0;
        while moved < most {
            let expired = self.look_for_expired(queue);
            let Some(id) = expired.or(self.queue(queue).next) else { break };
            let process = self.entry(id).context;
            self.send(rqs, id);
            moved += 1;
            if self.active_process.is_none() {
                self.processes.hold(process);
                self.active_process = Some(process);
            }
        }
        let q = &self.queues[queue.0 as usize];
        let share = 2 * self.tunables.slice_async_rq * (8 - u64::from(q.level()));
        if self.tree.busy > 1 && (q.is_idle_class() || (!q.is_sync && moved >= share)) {
            self.queue(queue).slice_end = Some(self.now + TICK);
            self.expire_slice(false);
        }
    }

    /// Moves `id` to the dispatch queue.
    pub(super) fn send(&mut self, rqs: &Requests, id: RequestId) {
        let queue = self.entry(id).queue;
        self.unqueue(rqs, id);
        self.queued += 1; // It counts as queued until it leaves the dispatch queue.
        self.merge.remove(rqs, id);
        let q = self.queue(queue);
        q.in_flight += 1;
        self.sync_in_flight += u32::from(q.is_sync);
        self.make_ready(rqs, id);
    }

    /// A request of the active queue is complete: the slice begins, ends, or continues with idling.
    pub(super) fn slice_goes_on(&mut self, queue: CfqQueueId, sync: bool) {
        let (is_sync, level) = (self.queue(queue).is_sync, self.queue(queue).level());
        let now = self.now;
        let slice = Nanos(self.slice(is_sync, level) as u64);
        let q = self.queue(queue);
        let end = *q.slice_end.get_or_insert(now + slice);
        if now >= end {
            self.expire_slice(true);
        } else if sync && q.sorted.is_empty() {
            self.idle(queue);
        }
    }

    /// Begins to idle for `queue`, if that is likely to pay.
    fn idle(&mut self, queue: CfqQueueId) {
        let Some(process) = self.active_process.filter(|&p| self.processes.is_running(p)) else { return };
        if self.tunables.slice_idle == 0 || !self.queue(queue).idles {
            return;
        }
        self.queue(queue).is_awaited = true;
        let mut wait = Nanos::from_millis(self.tunables.slice_idle);
        let history = &self.processes[process];
        if history.seek.is_valid() && history.seeks() {
            // Idling does not shorten the seek here, but the process gets its share of time.
            wait = wait.min(SEEKY_IDLE);
        }
        self.idle_timer = Some(self.now + wait);
    }

    /// Updates the history of the process after `id` was queued, ends the idling for it, or lets `id` preempt.
    pub(super) fn arrived(&mut self, rqs: &Requests, id: RequestId) {
        let entry = self.entry(id);
        let (rq, queue) = (&rqs[id], entry.queue);
        if rq.flags.contains(Flags::META) {
            self.queue(queue).meta_pending += 1;
        }
        let slice_idle = Nanos::from_millis(self.tunables.slice_idle);
        let process = &mut self.processes[entry.context];
        process.think.add(self.now.since(process.last_end).min(slice_idle * 2).0);
        process.seek.add_seek(process.position.distance(rq.lba));
        process.position = rq.end();
        if self.queue(queue).is_sync {
            let process = &self.processes[entry.context];
            let running = self.processes.is_running(entry.context);
            let hopeless = !running || slice_idle == Nanos::ZERO || (self.device_queues && process.seeks());
            let think = process.think;
            let q = self.queue(queue);
            if hopeless {
                q.idles = false;
            } else if think.is_valid() {
                q.idles = think.mean() <= slice_idle.0;
            }
        }
        if self.active == Some(queue) {
            if self.queue(queue).is_awaited {
                self.idle_timer = None;
            }
        } else if self.may_interrupt(rqs, id) {
            self.expire_slice(true);
            let q = &mut self.queues[queue.0 as usize];
            self.tree.place(q, queue, 0);
            q.slice_end = None;
        }
    }

    /// Whether `id` preempts the active queue, which is another one.
    fn may_interrupt(&self, rqs: &Requests, id: RequestId) -> bool {
        let Some(active) = self.active else { return false };
        let (rq, new) = (&rqs[id], &self.queues[self.entry(id).queue.0 as usize]);
        let active = &self.queues[active.0 as usize];
        if active.slice_is_used(self.now) {
            return true;
        }
        if new.is_idle_class() || active.is_idle_class() {
            return !new.is_idle_class();
        }
        if rq.is_sync() && !active.is_sync {
            return true;
        }
        if rq.flags.contains(Flags::META) && active.meta_pending == 0 {
            return true;
        }
        // It is as near as the request that the disk idles for.
        match self.active_process {
            Some(process) if active.is_awaited => {
                let seek = &self.processes[process].seek;
                seek.is_valid() && self.position.distance(rq.lba) <= seek.mean()
            }
            _ => false,
        }
    }
}
