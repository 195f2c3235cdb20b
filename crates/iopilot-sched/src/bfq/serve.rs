//! Service: which queue sends next, for how long, and how it is charged.

use super::queue::QueueId;
use super::rate::IMMEDIATE;
use super::{ASYNC_CHARGE, Bfq, Expiration, SLICE_IDLE_NS, TIMEOUT_MS, WR_COEFF};
use crate::jiffies::{HZ, Jiffies, ms_to_ticks};
use iopilot_block::{Nanos, RequestId, Requests};

/// Budgets are tuned after this many were assigned (a decaying count with the limit 256).
const ENOUGH_BUDGETS: u32 = 194;
/// The largest budget before that, in sectors.
pub(super) const DEFAULT_MAX_BUDGET: i64 = 16 * 1024;

impl Bfq {
    pub(super) fn current_max_budget(&self) -> i64 {
        if self.budgets_assigned < ENOUGH_BUDGETS { DEFAULT_MAX_BUDGET } else { self.max_budget }
    }

    pub(super) fn min_budget(&self) -> i64 {
        self.current_max_budget() / 32
    }

    /// The charge of `q` for sending `sectors`: three times as much for asynchronous requests, unless the queue is
    /// raised or weights differ.
    pub(super) fn charge(&self, q: QueueId, sectors: u32) -> i64 {
        let queue = &self.queues[q];
        let plain = queue.sync || queue.raising.coeff > 1 || self.asymmetric(q);
        i64::from(sectors) * if plain { 1 } else { ASYNC_CHARGE }
    }

    fn timed_out(&self, q: QueueId) -> bool {
        self.queues[q].budget_timeout <= self.jiffies()
    }

    fn may_expire_for_timeout(&self, q: QueueId) -> bool {
        let queue = &self.queues[q];
        (!queue.waiting || queue.budget_left() >= queue.entity.budget / 3) && self.timed_out(q)
    }

    /// The queue to send from; `None` to idle.
    fn select(&mut self, rqs: &Requests) -> Option<QueueId> {
        if let Some(q) = self.in_service {
            if self.may_expire_for_timeout(q) && !self.must_idle(q) {
                self.expire(rqs, q, false, Expiration::BudgetTimeout);
            }
        }
        loop {
            let q = match self.in_service {
                Some(q) => q,
                None => self.put_in_service()?,
            };
            let reason = if self.queues[q].next.is_some() {
                if self.affords_next(rqs, q) {
                    if std::mem::take(&mut self.queues[q].waiting) {
                        self.timer = None;
                    }
                    return Some(q);
                }
                Expiration::BudgetExhausted
            } else {
                if self.waits_for(q) {
                    return self.inject_for(rqs, q);
                }
                Expiration::NoMoreRequests
            };
            self.expire(rqs, q, false, reason);
        }
    }

    pub(super) fn put_in_service(&mut self) -> Option<QueueId> {
        let q = self.take_next_queue()?;
        let jiffies = self.jiffies();
        self.budgets_assigned = (self.budgets_assigned * 7 + 256) / 8;
        let queue = &mut self.queues[q];
        queue.fifo_checked = false;
        let soft_rt = queue.raising.max_time == super::SOFT_RT_MAX_TIME;
        if soft_rt && queue.raising.coeff > 1 && queue.raising.changed < jiffies && queue.budget_timeout < jiffies {
            // Its wait for service does not count as raised time.
            queue.raising.changed = if queue.budget_timeout > queue.raising.changed {
                Jiffies(queue.raising.changed.0 + jiffies.0 - queue.budget_timeout.0)
            } else {
                jiffies
            };
        }
        let slices = if soft_rt { 1 } else { (queue.entity.weight / queue.entity.own_weight) as i64 };
        queue.budget_timeout = Jiffies(jiffies.0 + ms_to_ticks(self.tunables.timeout_sync) * slices);
        self.budget_start = self.now;
        self.in_service = Some(q);
        self.in_service_last_position = 0;
        Some(q)
    }

    /// Dispatches the next request.
    pub(super) fn dispatch_one(&mut self, rqs: &Requests) -> Option<RequestId> {
        if self.total_busy() == 0 || (self.tunables.strict_guarantees && self.in_driver > 0) {
            return None;
        }
        let q = self.select(rqs)?;
        let id = self.queues[q].next.expect("a queue is selected for its next request");
        let rq = &rqs[id];
        self.served(q, self.charge(q, rq.sectors.0));
        if self.in_service == Some(q) && std::mem::take(&mut self.measure_next_dispatch) {
            self.waited_request = Some(id);
        }
        self.queues[q].dispatched += 1;
        let seeky = self.is_seeky(self.last_position, rq);
        if self.rate.dispatched(rq.sectors.0, seeky, self.in_driver, self.now) {
            self.tune_max_budget();
        }
        self.last_position = rq.end().0;
        if self.in_service == Some(q) {
            self.in_service_last_position = self.last_position;
        }
        self.take_out(rqs, q, id);
        if self.in_service == Some(q) {
            self.update_raising(q);
            if self.total_busy() > 1 && self.queues[q].class == 2 {
                self.expire(rqs, q, false, Expiration::BudgetExhausted);
            }
        }
        self.in_driver += 1;
        Some(id)
    }

    pub(super) fn tune_max_budget(&mut self) {
        self.max_budget = match self.tunables.max_budget {
            0 => self.rate.sectors_in((ms_to_ticks(self.tunables.timeout_sync) * 1000 / HZ) as u64),
            user => user as i64,
        };
    }

    /// Removes a request from its queue (`bfq_remove_request`).
    pub(super) fn take_out(&mut self, rqs: &Requests, q: QueueId, id: RequestId) {
        if self.queues[q].next == Some(id) {
            self.queues[q].next = self.find_next(rqs, q, id);
            self.fit_budget(rqs, q);
        }
        let queue = &mut self.queues[q];
        queue.fifo.remove(&mut self.links, id);
        queue.queued[usize::from(rqs[id].is_sync())] -= 1;
        queue.sorted.remove(rqs[id].lba, id);
        self.queued -= 1;
        if queue.sorted.is_empty() {
            queue.next = None;
            if queue.busy && self.in_service != Some(q) {
                self.del_busy(q, false);
                let e = &mut self.queues[q].entity;
                (e.budget, e.service) = (0, 0);
            }
            self.unindex_position(q);
        } else if !self.solid_state_with_queueing {
            let next = queue.next.map(|n| rqs[n].lba.0);
            self.index_position(q, next);
        }
    }

    /// The request after `last`: once in a slice the oldest, if it has expired; if not, the nearer neighbour.
    fn find_next(&mut self, rqs: &Requests, q: QueueId, last: RequestId) -> Option<RequestId> {
        let now = self.now;
        let queue = &mut self.queues[q];
        if !std::mem::replace(&mut queue.fifo_checked, true) {
            let expired = |id: &RequestId| *id != last && self.per_request[id.index()].expires <= now;
            if let Some(oldest) = queue.fifo.front().filter(expired) {
                return Some(oldest);
            }
        }
        let lba = rqs[last].lba;
        let prev = queue.sorted.prev(lba, last);
        let next = queue.sorted.next(lba, last).or_else(|| queue.sorted.first().filter(|&first| first != last));
        match (next, prev) {
            (Some(next), Some(prev)) => Some(self.choose(rqs, next, prev, lba.0)),
            (next, prev) => next.or(prev),
        }
    }

    /// Whether `q` used its budget slowly, and how long it was in service, in ms.
    pub(super) fn is_slow(&self, q: QueueId, compensate: bool) -> (bool, u64) {
        let queue = &self.queues[q];
        if !queue.sync {
            return (false, 0);
        }
        let until = if compensate { self.idling_since } else { self.now };
        let ns = until.0 as i64 - self.budget_start.0 as i64;
        // As in the kernel, the time is rounded towards zero and taken as unsigned, so that -1 us is more than an hour.
        let us = (ns / 1000) as u32;
        if us < 1000 {
            let least = if self.rotational { SLICE_IDLE_NS } else { IMMEDIATE };
            return (queue.seeky(), least / 1_000_000);
        }
        let slow = if us > 20_000 { queue.entity.service < self.max_budget / 2 } else { queue.seeky() };
        (slow, u64::from(us) / 1000)
    }

    /// Charges `q` as if it had transferred at the device's peak rate while it was in service.
    fn charge_time(&mut self, q: QueueId, ms: u64) {
        let e = &mut self.queues[q].entity;
        let for_time = self.max_budget * ms.min(TIMEOUT_MS) as i64 / TIMEOUT_MS as i64;
        let total = for_time.max(e.service);
        e.budget = e.budget.max(total);
        let rest = total - e.service;
        self.served(q, rest);
    }

    /// Ends the service of `q`.
    pub(super) fn expire(&mut self, rqs: &Requests, q: QueueId, compensate: bool, reason: Expiration) {
        let (slow, ms) = self.is_slow(q, compensate);
        let queue = &self.queues[q];
        let late = reason == Expiration::BudgetTimeout && queue.budget_left() >= queue.entity.budget / 3;
        if queue.raising.coeff == 1 && (slow || late) {
            self.charge_time(q, ms);
        }
        if self.tunables.low_latency {
            let jiffies = self.jiffies();
            let soft_rt_start = self.soft_rt_start(q);
            let queue = &mut self.queues[q];
            if queue.raising.coeff == 1 {
                queue.raising.changed = jiffies;
            }
            if queue.sorted.is_empty() {
                if queue.dispatched == 0 {
                    queue.soft_rt_next_start = soft_rt_start;
                } else {
                    queue.soft_rt_update = true;
                }
            }
        }
        self.injected = false;
        self.measure_next_dispatch = false;
        self.waited_request = None;
        self.tune_budget(rqs, q, reason);
        self.leave_service(Some(rqs), q, reason);
        let queue = &mut self.queues[q];
        if !queue.live {
            return;
        }
        if !queue.busy && !matches!(reason, Expiration::BudgetTimeout | Expiration::BudgetExhausted) {
            queue.non_blocking_wait = true; // It may continue with this budget.
        } else {
            queue.entity.service = 0;
        }
    }

    /// Adapts the budget of `q` to its use of the last one.
    fn tune_budget(&mut self, rqs: &Requests, q: QueueId, reason: Expiration) {
        let least = self.min_budget();
        let most = self.max_budget;
        let queue = &self.queues[q];
        let raised = queue.raising.coeff > 1;
        let old = if raised { 2 * least } else { queue.max_budget };
        let budget = if !queue.sync {
            most
        } else if raised {
            old
        } else {
            match reason {
                Expiration::TooIdle if queue.dispatched > 0 => (old * 2).min(most),
                Expiration::TooIdle if old > 5 * least => old - 4 * least,
                Expiration::TooIdle => least,
                Expiration::BudgetTimeout => (old * 2).min(most),
                Expiration::BudgetExhausted => (old * 4).min(most),
                Expiration::NoMoreRequests => queue.entity.service.max(least),
                Expiration::Preempted => return,
            }
        };
        let tuned = self.budgets_assigned >= ENOUGH_BUDGETS && self.tunables.max_budget == 0;
        let budget = if tuned { budget.min(most) } else { budget };
        let charge = queue.next.map(|next| self.charge(q, rqs[next].sectors.0));
        let queue = &mut self.queues[q];
        queue.max_budget = budget;
        if let Some(charge) = charge {
            queue.entity.budget = budget.max(charge);
        }
    }

    /// Ends the service of `q`, and deactivates or requeues it (`__bfq_bfqq_expire`).
    pub(super) fn leave_service(&mut self, rqs: Option<&Requests>, q: QueueId, reason: Expiration) {
        let jiffies = self.jiffies();
        let empty = self.queues[q].sorted.is_empty();
        let keep = reason == Expiration::Preempted && self.idling_keeps_guarantees(q);
        let queue = &mut self.queues[q];
        if queue.cooperative && queue.seeky() {
            queue.split_wanted = true;
        }
        if empty && !keep {
            if queue.dispatched == 0 {
                queue.budget_timeout = jiffies;
            }
            self.del_busy(q, true);
        } else {
            self.activate_or_requeue(q, false, true);
            if let Some(rqs) = rqs.filter(|_| !self.solid_state_with_queueing && !empty) {
                let next = self.queues[q].next.map(|n| rqs[n].lba.0);
                self.index_position(q, next);
            }
        }
        self.queues[q].waiting = false;
        self.timer = None;
        self.in_service = None;
        self.in_service_entity = None;
        self.free_if_unused(q);
    }

    /// The idling for the queue in service has ended without a request.
    pub(super) fn idled_out(&mut self, rqs: &Requests) {
        let Some(q) = self.in_service else { return };
        let empty = self.queues[q].queued == [0; 2];
        self.queues[q].waiting = false;
        if self.timed_out(q) {
            self.expire(rqs, q, true, Expiration::BudgetTimeout);
        } else if empty {
            self.expire(rqs, q, true, Expiration::TooIdle);
        }
    }

    /// The device has finished a request of `q`.
    pub(super) fn finish(&mut self, rqs: &Requests, q: QueueId, id: RequestId) {
        if self.waited_request == Some(id) {
            self.update_inject_limit(q);
        }
        self.update_hardware_queueing();
        let (now, jiffies) = (self.now, self.jiffies());
        self.in_driver -= 1;
        let queue = &mut self.queues[q];
        queue.dispatched -= 1;
        if queue.dispatched == 0 && !queue.busy {
            queue.budget_timeout = jiffies;
            self.uncount_weight(q);
        }
        self.queues[q].behaviour.last_end = now;
        if self.rate.completed(now) {
            self.tune_max_budget();
        }
        let queue = &self.queues[q];
        self.last_completed = (!queue.cooperative).then_some(q);
        if queue.soft_rt_update && queue.dispatched == 0 && queue.sorted.is_empty() && queue.raising.coeff != WR_COEFF {
            self.queues[q].soft_rt_next_start = self.soft_rt_start(q);
        }
        if self.in_service != Some(q) {
            return;
        }
        if self.must_idle(q) {
            if self.queues[q].dispatched == 0 {
                self.start_idling(q);
            }
        } else if self.may_expire_for_timeout(q) {
            self.expire(rqs, q, false, Expiration::BudgetTimeout);
        } else if self.queues[q].sorted.is_empty() && (self.queues[q].dispatched == 0 || !self.better_to_idle(q)) {
            self.expire(rqs, q, false, Expiration::NoMoreRequests);
        }
    }

    /// Moves the clock to `now`, and expires the idle timer at its own time if it is due.
    pub(super) fn advance(&mut self, rqs: &Requests, now: Nanos) {
        if let Some(due) = self.timer.filter(|&due| due <= now) {
            self.timer = None;
            self.now = due;
            self.idled_out(rqs);
        }
        self.now = now;
    }
}
