//! The arrival of a request: it gets a queue, and the queue is activated.

use super::queue::{QueueId, class_and_level, weight_of};
use super::raise::{MIN_ASYNC_GAP_MS, MIN_IDLE_MS};
use super::{Bfq, Expiration, PerRequest, SEEK_THRESHOLD, SOFT_RT_MAX_TIME, inject};
use crate::back_seek::BackSeek;
use crate::io_contexts::IoContextId;
use crate::jiffies::Jiffies;
use iopilot_block::{Flags, Lba, Nanos, Request, RequestId, Requests};

/// Requests of fewer sectors are not worth ending an idle period that boosts throughput.
const SMALL_SECTORS: u32 = 32;

impl Bfq {
    /// Whether `rq` is far from `last`, the end of its predecessor. Large requests are never far on a solid-state disk.
    pub(super) fn is_seeky(&self, last: u64, rq: &Request) -> bool {
        last != 0
            && rq.lba.0.abs_diff(last) > SEEK_THRESHOLD
            && (self.rotational || rq.sectors.0 < inject::LARGE_SECTORS)
    }

    /// The better of two requests from `last`: synchronous before asynchronous, metadata before data, then the nearest.
    /// A backward distance counts `back_seek_penalty` times, up to `back_seek_max`.
    pub(super) fn choose(&self, rqs: &Requests, a: RequestId, b: RequestId, last: u64) -> RequestId {
        let (x, y) = (&rqs[a], &rqs[b]);
        if a == b {
            return a;
        }
        if x.is_sync() != y.is_sync() {
            return if x.is_sync() { a } else { b };
        }
        let meta = |rq: &Request| rq.flags.contains(Flags::META);
        if meta(x) != meta(y) {
            return if meta(x) { a } else { b };
        }
        // 1 KiB is 2 sectors.
        let rule = BackSeek { max: self.tunables.back_seek_max * 2, penalty: self.tunables.back_seek_penalty };
        if rule.prefers(Lba(last), x.lba, y.lba) { a } else { b }
    }

    /// A queue for `context`, with a new reference.
    pub(super) fn get_queue(&mut self, context: IoContextId, sync: bool, respawn: bool) -> QueueId {
        let priority = self.contexts[context].priority;
        let (class, level) = class_and_level(priority);
        if !sync {
            let existing = self.async_queues[class][usize::from(level)];
            if let Some(q) = existing {
                self.queues[q].process_refs += 1;
                return q;
            }
        }
        let q = self.queues.insert(sync, priority, self.now);
        self.queues[q].max_budget = 2 * self.current_max_budget() / 3;
        self.queues[q].process_refs = 1;
        if sync {
            return if respawn { q } else { self.consider_stable_merge(q, context) };
        }
        // All asynchronous requests of its priority share it, and it is never freed.
        self.queues[q].process_refs += 1;
        self.async_queues[class][usize::from(level)] = Some(q);
        q
    }

    /// Applies a change of the process' I/O priority.
    fn change_priority(&mut self, context: IoContextId, rq: &Request) {
        if self.contexts[context].priority == rq.priority {
            return;
        }
        self.contexts[context].priority = rq.priority;
        let [asynchronous, synchronous] = self.contexts[context].queues;
        if let Some(old) = asynchronous {
            let new = self.get_queue(context, false, true);
            self.set_queue(context, Some(new), false);
            self.release(old);
        }
        if let Some(q) = synchronous {
            let (class, level) = class_and_level(rq.priority);
            let queue = &mut self.queues[q];
            queue.new_class = class;
            queue.entity.new_weight = weight_of(level);
            queue.entity.prio_changed = true;
        }
    }

    /// Queues a request that did not merge.
    pub(super) fn arrive(&mut self, rqs: &Requests, id: RequestId) {
        let rq = &rqs[id];
        let sync = rq.is_sync();
        let context = self.context_of(rq);
        self.change_priority(context, rq);
        let mut q = self.queue_for(context, sync);
        self.queues[q].allocated += 1;
        self.contexts.hold(context);
        let queue = &mut self.queues[q];
        if queue.merged_into.is_none() && queue.process_refs == 1 {
            queue.owner = Some(context);
        }
        if queue.just_created && (self.burst.size > 0 || self.total_busy() == 0) {
            self.note_birth(q);
        }
        if let Some(to) = self.find_cooperator(q, rq.lba.0, context) {
            self.queues[to].allocated += 1;
            self.queues[q].allocated -= 1;
            self.queues[q].just_created = false;
            q = self.follow_merge(q, to, context);
        }
        if id.index() >= self.per_request.len() {
            self.per_request.resize(id.index() + 1, PerRequest { queue: q, context, expires: Nanos::ZERO });
        }
        let expire = if sync { self.tunables.fifo_expire_sync } else { self.tunables.fifo_expire_async };
        let expires = self.now + Nanos::from_millis(expire);
        self.per_request[id.index()] = PerRequest { queue: q, context, expires };
        self.update_think_time(q);
        self.update_short_think_time(q);
        self.update_seekiness(q, rq);
        self.add(rqs, q, id, context);
        self.queues[q].fifo.push_back(&mut self.links, id);
        self.enqueued(rqs, q, rq);
    }

    /// Follows the redirection from `q` to `to`, if the process has not done so yet.
    pub(super) fn follow_merge(&mut self, mut q: QueueId, to: QueueId, context: IoContextId) -> QueueId {
        if self.contexts[context].queues[1] == Some(q) {
            while q != to {
                q = self.merge_queue(q, context);
            }
        } else {
            self.free_if_unused(q);
        }
        to
    }

    fn update_think_time(&mut self, q: QueueId) {
        let most = 2 * self.slice_idle();
        let now = self.now.0;
        let queue = &mut self.queues[q];
        if queue.dispatched > 0 || queue.busy {
            return;
        }
        let h = &mut queue.behaviour;
        let elapsed = now.wrapping_sub(h.last_end.0).min(most);
        h.think_samples = (7 * h.think_samples + 256) / 8;
        h.think_total = (7 * h.think_total + 256 * elapsed) / 8;
        h.think_mean = (h.think_total + 128) / h.think_samples;
    }

    fn update_short_think_time(&mut self, q: QueueId) {
        let slice = self.slice_idle();
        let queue = &self.queues[q];
        if !queue.sync || queue.class == 2 || slice == 0 || self.just_split(q) {
            return;
        }
        let h = &queue.behaviour;
        let short = !(h.think_samples > 80 && h.think_mean > slice / 2);
        let (changed, unknown) = (short != h.has_short_think_time, h.base_service == 0);
        let settled = h.limit_changed.plus_ms(100) <= self.jiffies();
        self.queues[q].behaviour.has_short_think_time = short;
        if changed && unknown && (settled || !short) {
            self.reset_inject_limit(q);
        }
    }

    fn update_seekiness(&mut self, q: QueueId, rq: &Request) {
        let seeky = self.is_seeky(self.queues[q].last_request_end, rq);
        let queue = &mut self.queues[q];
        queue.seek_history = queue.seek_history << 1 | u32::from(seeky);
        if queue.raising.coeff > 1 && queue.raising.max_time == SOFT_RT_MAX_TIME && queue.seek_history == u32::MAX {
            if self.interactive_is_over(q) {
                self.end_raising(q);
            } else {
                self.back_to_interactive(q);
                self.queues[q].entity.prio_changed = true;
            }
        }
    }

    fn update_io_intensity(&mut self, q: QueueId) {
        let now = self.now;
        let queue = &mut self.queues[q];
        let h = &mut queue.behaviour;
        let total = now.since(h.io_start).0;
        if queue.sorted.is_empty() && queue.dispatched == 0 {
            // For the first request the difference is -1, and wraps. So a queue that started with several requests at
            // once does not count as I/O-bound until an idle time is added (Linux 6.9 and later, where a plug caches
            // the time).
            h.idle_total = h.idle_total.wrapping_add(now.0.wrapping_sub(h.last_end.0));
        }
        if queue.just_created {
            return;
        }
        h.io_bound = h.idle_total.wrapping_mul(5) <= total;
        if total > 200_000_000 {
            h.io_start = Nanos(now.0 - total / 2);
            h.idle_total /= 2;
        }
    }

    /// Adds a request to the sorted queue, and activates the queue if it was empty (`bfq_add_request`).
    fn add(&mut self, rqs: &Requests, q: QueueId, id: RequestId, context: IoContextId) {
        let rq = &rqs[id];
        let jiffies = self.jiffies();
        let old_coeff = self.queues[q].raising.coeff;
        self.queues[q].queued[usize::from(rq.is_sync())] += 1;
        self.queued += 1;
        if self.queues[q].sync {
            if self.contexts.references(context) <= 1 {
                self.observe_first_request(q);
            }
            self.update_io_intensity(q);
        }
        let queue = &mut self.queues[q];
        queue.sorted.insert(rq.lba, id);
        let previous = queue.next;
        let next = previous.map_or(id, |p| self.choose(rqs, p, id, self.last_position));
        self.queues[q].next = Some(next);
        if !self.solid_state_with_queueing && previous != Some(next) {
            self.index_position(q, Some(rqs[next].lba.0));
        }
        let mut interactive = false;
        if !self.queues[q].busy {
            interactive = self.wake(rqs, q, old_coeff, context);
        } else {
            let changed = self.queues[q].raising.changed;
            if self.tunables.low_latency
                && old_coeff == 1
                && !rq.is_sync()
                && changed.plus_ms(MIN_ASYNC_GAP_MS) < jiffies
            {
                self.queues[q].raising.coeff = super::WR_COEFF;
                self.queues[q].raising.max_time = self.raising_duration();
                self.queues[q].entity.prio_changed = true;
                self.raised_busy += 1;
            }
            if previous != Some(next) {
                self.fit_budget(rqs, q);
            }
        }
        if self.tunables.low_latency && (old_coeff == 1 || self.queues[q].raising.coeff == 1 || interactive) {
            self.queues[q].raising.changed = jiffies;
        }
    }

    /// Raises the budget of a queue that is not in service to cover at least its next request.
    pub(super) fn fit_budget(&mut self, rqs: &Requests, q: QueueId) {
        let Some(next) = self.queues[q].next.filter(|_| self.in_service != Some(q)) else { return };
        let charge = self.charge(q, rqs[next].sectors.0);
        let queue = &mut self.queues[q];
        let budget = queue.max_budget.max(charge).max(queue.entity.service);
        if queue.entity.budget != budget {
            queue.entity.budget = budget;
            self.activate_or_requeue(q, false, false);
        }
    }

    /// Activates an empty queue that got a request. True if it looks interactive.
    fn wake(&mut self, rqs: &Requests, q: QueueId, old_coeff: u64, context: IoContextId) -> bool {
        let jiffies = self.jiffies();
        let queue = &self.queues[q];
        let idle_since = queue.budget_timeout;
        let idle_long = queue.dispatched == 0 && idle_since.plus_ms(MIN_IDLE_MS) < jiffies;
        let in_time = self.now.0 <= queue.behaviour.last_end.0 + 3 * self.slice_idle();
        let usual_weight = queue.entity.new_weight == 40;
        let in_burst = queue.in_large_burst;
        let soft_rt = queue.seek_history != u32::MAX
            && !in_burst
            && queue.soft_rt_next_start < jiffies
            && queue.dispatched == 0
            && usual_weight;
        let interactive = !in_burst && idle_long && usual_weight;
        let own = queue.owner.is_some() || self.contexts[context].stably_merged;
        let deserves =
            self.tunables.low_latency && (queue.raising.coeff > 1 || (queue.sync && own && (interactive || soft_rt)));
        let just_created = queue.just_created;

        let recover = self.budget_for_activation(rqs, q, in_time);
        if !just_created && idle_long && idle_since.plus_ms(10_000) < jiffies {
            self.leave_burst(q);
            self.queues[q].in_large_burst = false;
        }
        self.queues[q].just_created = false;
        if self.tunables.low_latency && self.queues[q].split_time.plus_ms(MIN_IDLE_MS) < jiffies {
            self.raise_at_activation(q, old_coeff, deserves, interactive, soft_rt);
            if self.queues[q].raising.coeff != old_coeff {
                self.queues[q].entity.prio_changed = true;
            }
        }
        let queue = &mut self.queues[q];
        queue.last_idle_backlogged = jiffies;
        queue.service_from_backlogged = 0;
        queue.soft_rt_update = false;
        self.add_busy(q);

        if let Some(serving) = self.in_service {
            let (new, old) = (&self.queues[q], &self.queues[serving]);
            let matters = (recover && new.raising.coeff >= old.raising.coeff)
                || new.class < old.class
                || new.entity.weight > old.entity.weight
                || !self.better_to_idle(serving);
            if matters && self.next_in_service != self.in_service_entity {
                self.expire(rqs, serving, false, Expiration::Preempted);
            }
        }
        interactive
    }

    /// Sets the budget of a queue that is activated. True if it continues with the rest of its last budget because its
    /// request came in time. It should preempt then.
    fn budget_for_activation(&mut self, rqs: &Requests, q: QueueId, in_time: bool) -> bool {
        let queue = &mut self.queues[q];
        if queue.non_blocking_wait && in_time && queue.budget_left() > 0 {
            queue.entity.budget = queue.budget_left().min(queue.max_budget);
            queue.entity.service = 0;
            return true;
        }
        let next = queue.next.expect("it has just got a request");
        let charge = self.charge(q, rqs[next].sectors.0);
        let queue = &mut self.queues[q];
        queue.entity.service = 0;
        queue.entity.budget = queue.max_budget.max(charge);
        queue.non_blocking_wait = false;
        false
    }

    /// Ends the idling for a queue that got a request, unless waiting for more requests is better (`bfq_rq_enqueued`).
    fn enqueued(&mut self, rqs: &Requests, q: QueueId, rq: &Request) {
        self.queues[q].last_request_end = rq.end().0;
        if self.in_service != Some(q) || !self.queues[q].waiting {
            return;
        }
        let queue = &self.queues[q];
        let small = queue.queued[usize::from(rq.is_sync())] == 1 && rq.sectors.0 < SMALL_SECTORS;
        let timeout = queue.budget_timeout <= self.jiffies();
        if small && self.idling_boosts_throughput(q) && !timeout {
            return;
        }
        self.queues[q].waiting = false;
        self.timer = None;
        if timeout {
            self.expire(rqs, q, false, Expiration::BudgetTimeout);
        }
    }

    /// The present tick.
    pub(super) fn jiffies(&self) -> Jiffies {
        Jiffies::at(self.now)
    }
}
