//! Injection: while the device idles for a queue, harmless requests of others are sent.

use super::Bfq;
use super::queue::QueueId;
use super::rate::IMMEDIATE;
use crate::jiffies::Jiffies;
use iopilot_block::{Nanos, Requests};

/// On a solid-state disk, a request of this many sectors is large.
pub(super) const LARGE_SECTORS: u32 = 64;

impl Bfq {
    pub(super) fn reset_inject_limit(&mut self, q: QueueId) {
        let jiffies = self.jiffies();
        let behaviour = &mut self.queues[q].behaviour;
        behaviour.base_service = 0;
        behaviour.inject_limit = u32::from(!behaviour.has_short_think_time);
        behaviour.limit_changed = jiffies;
        self.waited_request = None;
    }

    /// Updates the limit when a request that shows the effect of injection completes. `in_driver` still counts it.
    pub(super) fn update_inject_limit(&mut self, q: QueueId) {
        let total = self.now.since(self.measuring_since).0;
        let (jiffies, alone) = (self.jiffies(), self.in_driver == 1);
        let behaviour = &mut self.queues[q].behaviour;
        let old = behaviour.inject_limit;
        if behaviour.base_service > 0 && self.injected {
            let bearable = behaviour.base_service * 3 / 2;
            if total >= bearable && old > 0 {
                behaviour.inject_limit -= 1;
                behaviour.limit_changed = jiffies;
            } else if total < bearable && old <= self.max_in_driver {
                behaviour.inject_limit += 1;
            }
        }
        if (behaviour.base_service == 0 && alone) || total < behaviour.base_service {
            if behaviour.base_service == 0 {
                behaviour.inject_limit = old.max(1);
            }
            behaviour.base_service = total;
        } else if !self.injected && alone {
            behaviour.base_service = total;
        }
        self.waited_request = None;
        self.injected = false;
    }

    /// The first request of a process after a pause has arrived. Checks whether another queue woke the process, and
    /// whether to measure the effect of injection.
    pub(super) fn observe_first_request(&mut self, q: QueueId) {
        self.check_waker(q);
        let jiffies = self.jiffies();
        if self.queues[q].behaviour.limit_changed.plus_ms(1000) <= jiffies {
            self.reset_inject_limit(q);
        }
        let behaviour = &self.queues[q].behaviour;
        if self.in_service == Some(q)
            && (self.in_driver == 0 || (behaviour.base_service > 0 && self.injected))
            && behaviour.limit_changed.plus_ms(10) <= jiffies
        {
            self.measuring_since = self.now;
            self.measure_next_dispatch = true;
            if self.in_driver == 0 {
                self.injected = false;
            }
        }
    }

    /// If three requests in a row came soon after a completion of the same other queue, that queue wakes `q`.
    fn check_waker(&mut self, q: QueueId) {
        let Some(candidate) = self.last_completed.filter(|&c| c != q) else { return };
        let queue = &self.queues[q];
        if queue.behaviour.has_short_think_time || self.rate.since_completion(self.now) >= 2 * IMMEDIATE {
            return;
        }
        let stale = Nanos(queue.waker_detection_started.0 + 128 * self.slice_idle());
        let now = self.now;
        let queue = &mut self.queues[q];
        if queue.tentative_waker != Some(candidate) || now > stale {
            queue.tentative_waker = Some(candidate);
            queue.waker_detections = 1;
            queue.waker_detection_started = now;
        } else {
            queue.waker_detections += 1;
        }
        if queue.waker_detections == 3 {
            queue.tentative_waker = None;
            self.set_waker(q, Some(candidate));
        }
    }

    pub(super) fn set_waker(&mut self, q: QueueId, waker: Option<QueueId>) {
        if let Some(old) = self.queues[q].waker.take() {
            self.queues[old].woken.retain(|&w| w != q);
        }
        if let Some(waker) = waker {
            self.queues[waker].woken.push(q);
        }
        self.queues[q].waker = waker;
    }

    /// The queue that may send a request while the device idles for `q`.
    pub(super) fn inject_for(&mut self, rqs: &Requests, q: QueueId) -> Option<QueueId> {
        let queue = &self.queues[q];
        let ready = |other: QueueId| self.queues[other].busy && self.affords_next(rqs, other);
        // Asynchronous requests of the same process, then the queue that wakes it, then a queue that it wakes.
        if let Some(owner) = queue.owner {
            if let Some(other) = self.contexts[owner].queues[0].filter(|&other| ready(other)) {
                let next = self.queues[other].next.expect("it is ready");
                if self.per_request[next.index()].context == owner {
                    return Some(other);
                }
            }
        }
        if let Some(other) = queue.waker.filter(|&other| ready(other)) {
            return Some(other);
        }
        if let Some(other) = queue.woken.last().copied().filter(|&other| ready(other)) {
            return Some(other);
        }
        if self.idling_boosts_throughput(q)
            || (queue.raising.coeff > 1 && self.raised_busy <= 1 && queue.behaviour.has_short_think_time)
        {
            return None;
        }
        self.any_to_inject(rqs, q)
    }

    fn any_to_inject(&mut self, rqs: &Requests, q: QueueId) -> Option<QueueId> {
        let queue = &self.queues[q];
        let always = queue.raising.coeff == 1 || !queue.behaviour.has_short_think_time;
        let mut limit = queue.behaviour.inject_limit;
        // The kernel adds nanoseconds to jiffies here, so that this is hardly ever true. The model does the same.
        let late = Jiffies(Jiffies::at(self.idling_since).0 + self.slice_idle() as i64) <= self.jiffies();
        if limit == 0 && queue.behaviour.base_service == 0 && queue.waiting && late {
            limit = 1;
        }
        if self.in_driver >= limit {
            return None;
        }
        let fits = |other: &QueueId| {
            let o = &self.queues[*other];
            let large = |id| !self.rotational && rqs[id].sectors.0 >= LARGE_SECTORS && self.in_driver >= 1;
            (always || o.raising.coeff > 1) && self.affords_next(rqs, *other) && !o.next.is_some_and(large)
        };
        let active = self.trees.iter().flat_map(|t| t.active.iter());
        // Of the active queues, the one activated last, as in the kernel's list.
        let found = active.filter(fits).max_by_key(|&other| self.queues[other].entity.activation);
        self.injected |= found.is_some();
        found
    }

    /// Whether `q` has a request and budget for it.
    pub(super) fn affords_next(&self, rqs: &Requests, q: QueueId) -> bool {
        let queue = &self.queues[q];
        queue.next.is_some_and(|id| self.charge(q, rqs[id].sectors.0) <= queue.budget_left())
    }
}
