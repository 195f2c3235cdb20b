//! Queues shared by processes that cooperate: early queue merging, stable merging, and splitting.

use super::queue::{QueueId, SavedQueueState};
use super::raise::MIN_IDLE_MS;
use super::{Bfq, SOFT_RT_MAX_TIME, WR_COEFF, burst};
use crate::io_contexts::IoContextId;
use crate::jiffies::Jiffies;

/// Positions this near are close, in sectors.
const CLOSE: u64 = 8 * 1024;
/// Queues merge only in the first 100 ms of their service.
const MERGE_MS: u64 = 100;
/// Queues created within this time of each other are candidates for stable merging, ms.
const STABLE_MS: u64 = 600;

impl Bfq {
    fn too_late_to_merge(&self, q: QueueId) -> bool {
        let queue = &self.queues[q];
        queue.service_from_backlogged > 0 && queue.first_service.plus_ms(MERGE_MS) < self.jiffies()
    }

    /// Adds `q` to the index of next positions, at `next`, if it may merge with others.
    pub(super) fn index_position(&mut self, q: QueueId, next: Option<u64>) {
        self.unindex_position(q);
        let Some(lba) = next else { return };
        if self.queues[q].class == 2 || self.too_late_to_merge(q) {
            return;
        }
        if let Err(at) = self.positions.binary_search_by_key(&lba, |&(p, _)| p) {
            self.positions.insert(at, (lba, q));
            self.queues[q].position = Some(lba);
        }
    }

    pub(super) fn unindex_position(&mut self, q: QueueId) {
        if let Some(lba) = self.queues[q].position.take() {
            if let Ok(at) = self.positions.binary_search_by_key(&lba, |&(p, _)| p) {
                self.positions.remove(at);
            }
        }
    }

    /// The queue whose next request is closest to `lba`.
    fn close_to(&self, lba: u64) -> Option<QueueId> {
        let at = self.positions.partition_point(|&(p, _)| p < lba);
        let after = self.positions.get(at);
        let before = at.checked_sub(1).and_then(|at| self.positions.get(at));
        let close = after.into_iter().chain(before).filter(|&&(p, _)| p.abs_diff(lba) <= CLOSE);
        close.min_by_key(|&&(p, _)| p.abs_diff(lba)).map(|&(_, q)| q)
    }

    fn may_cooperate(&self, q: QueueId, other: QueueId) -> bool {
        let (a, b) = (&self.queues[q], &self.queues[other]);
        !self.too_late_to_merge(other)
            && a.class != 2
            && a.class == b.class
            && !a.seeky()
            && !b.seeky()
            && a.sync
            && b.sync
    }

    /// Redirects the processes of `q` to `other`, from their next request on.
    fn redirect(&mut self, q: QueueId, other: QueueId) -> Option<QueueId> {
        if self.queues[other].process_refs == 0 {
            return None;
        }
        let mut to = other;
        while let Some(next) = self.queues[to].merged_into {
            if next == q {
                return None;
            }
            to = next;
        }
        let refs = self.queues[q].process_refs;
        if refs == 0 || self.queues[to].process_refs == 0 || to == q {
            return None;
        }
        self.queues[q].merged_into = Some(to);
        self.queues[to].process_refs += refs;
        Some(to)
    }

    /// The queue that a request at `lba` of `context`, whose queue is `q`, should join instead
    /// (`bfq_setup_cooperator`).
    pub(super) fn find_cooperator(&mut self, q: QueueId, lba: u64, context: IoContextId) -> Option<QueueId> {
        if let Some(mut to) = self.queues[q].merged_into {
            while let Some(next) = self.queues[to].merged_into {
                to = next;
            }
            return Some(to);
        }
        if self.solid_state_with_queueing {
            return None;
        }
        let jiffies = self.jiffies();
        let queue = &self.queues[q];
        if queue.sync
            && !queue.just_created
            && queue.split_time.plus_ms(STABLE_MS) < jiffies
            && queue.created.plus_ms(STABLE_MS) < jiffies
        {
            if let Some(other) = self.contexts[context].stable_merge.take() {
                return self.merge_stably(q, other, context);
            }
        }
        if self.too_late_to_merge(q) || self.total_busy() == 1 {
            return None;
        }
        if let Some(serving) = self.in_service.filter(|&s| s != q) {
            if lba.abs_diff(self.in_service_last_position) <= CLOSE && self.may_cooperate(q, serving) {
                if let Some(to) = self.redirect(q, serving) {
                    return Some(to);
                }
            }
        }
        let other = self.close_to(lba).filter(|&o| o != q && self.may_cooperate(q, o))?;
        self.redirect(q, other)
    }

    fn merge_stably(&mut self, q: QueueId, other: QueueId, context: IoContextId) -> Option<QueueId> {
        let to = if self.idling_boosts_throughput(q) { None } else { self.redirect(q, other) };
        if let Some(to) = to {
            self.mark_stably_merged(to, context);
        }
        self.drop_stable_ref(other);
        to
    }

    fn mark_stably_merged(&mut self, to: QueueId, context: IoContextId) {
        self.contexts[context].stably_merged = true;
        if let Some(owner) = self.queues[to].owner {
            self.contexts[owner].stably_merged = true;
        }
    }

    pub(super) fn drop_stable_ref(&mut self, q: QueueId) {
        self.queues[q].stable_refs -= 1;
        self.free_if_unused(q);
    }

    /// Merges `q`, which is new, with a queue created just before it, or plans to do so.
    pub(super) fn consider_stable_merge(&mut self, q: QueueId, context: IoContextId) -> QueueId {
        let queue = &self.queues[q];
        let last = self.last_created.filter(|&l| {
            let l = &self.queues[l];
            l.created.plus_ms(STABLE_MS) >= queue.created && l.class == queue.class && l.level == queue.level
        });
        let Some(last) = last else {
            self.last_created = Some(q);
            return q;
        };
        if self.queues[last].created.plus_ms(burst::EARLY_MERGE_MS) < queue.created {
            return q;
        }
        if !self.solid_state_with_queueing {
            self.queues[last].stable_refs += 1;
            self.contexts[context].stable_merge = Some(last);
            return q;
        }
        match self.redirect(q, last) {
            Some(to) => {
                self.mark_stably_merged(to, context);
                self.queues[q].owner = Some(context);
                self.merge_queue(q, context)
            }
            None => q,
        }
    }

    /// Makes `to` the queue of `context`.
    pub(super) fn set_queue(&mut self, context: IoContextId, to: Option<QueueId>, sync: bool) {
        let slot = usize::from(sync);
        if let Some(old) = self.contexts[context].queues[slot] {
            if self.queues[old].owner == Some(context) {
                self.queues[old].owner = None;
            }
        }
        self.contexts[context].queues[slot] = to;
        if let Some(planned) = self.contexts[context].stable_merge.filter(|&p| to == Some(p)) {
            self.contexts[context].stable_merge = None;
            self.drop_stable_ref(planned);
        }
    }

    /// Carries out the redirection of `context` from `q`. Returns its new queue.
    pub(super) fn merge_queue(&mut self, q: QueueId, context: IoContextId) -> QueueId {
        let to = self.queues[q].merged_into.expect("it was redirected");
        self.save_state(q);
        self.save_state(to);
        let io_bound = std::mem::take(&mut self.queues[q].behaviour.io_bound);
        self.queues[to].behaviour.io_bound |= io_bound;
        if let Some(waker) = self.queues[q].waker.filter(|&w| w != to) {
            if self.queues[to].waker.is_none() {
                self.queues[to].tentative_waker = None;
                self.set_waker(to, Some(waker));
            }
        }
        let from = self.queues[q].raising;
        if from.coeff > 1 {
            let new = &mut self.queues[to];
            if new.raising.coeff == 1 {
                let service = new.raising.service;
                new.raising = super::queue::WeightRaising { service, ..from };
                new.entity.prio_changed = true;
                self.raised_busy += i32::from(new.busy);
            }
            let old = &mut self.queues[q];
            old.raising.coeff = 1;
            old.entity.prio_changed = true;
            self.raised_busy -= i32::from(old.busy);
        }
        self.set_queue(context, Some(to), true);
        self.queues[to].cooperative = true;
        self.queues[to].owner = None;
        self.queues[q].owner = None;
        if self.last_created == Some(q) {
            self.last_created = Some(to);
        }
        self.drop_process_ref(q);
        to
    }

    fn save_state(&mut self, q: QueueId) {
        let Some(owner) = self.queues[q].owner else { return };
        let queue = &self.queues[q];
        let mut raising = queue.raising;
        if queue.just_created && !queue.in_large_burst && self.tunables.low_latency {
            // Without the merge, it would have been raised.
            raising.coeff = WR_COEFF;
            raising.interactive_since = Jiffies::LONG_AGO;
            raising.max_time = self.raising_duration();
            raising.changed = self.jiffies();
            raising.service = 0;
        }
        self.contexts[owner].saved = Some(SavedQueueState {
            behaviour: queue.behaviour,
            raising,
            weight: queue.entity.own_weight,
            was_in_burst_list: queue.in_burst_list,
            in_large_burst: queue.in_large_burst,
        });
    }

    fn resume_state(&mut self, q: QueueId, context: IoContextId, existed: bool) {
        let Some(saved) = self.contexts[context].saved else { return };
        let jiffies = self.jiffies();
        let low_latency = self.tunables.low_latency;
        let queue = &mut self.queues[q];
        let old = queue.raising.coeff;
        queue.behaviour = saved.behaviour;
        queue.entity.new_weight = saved.weight;
        queue.raising = saved.raising;
        if !low_latency {
            queue.raising.coeff = old;
        }
        let raising = queue.raising;
        let burst = queue.in_large_burst;
        if raising.coeff > 1 && (burst || Jiffies(raising.changed.0 + raising.max_time) < jiffies) {
            if raising.max_time == SOFT_RT_MAX_TIME && !burst && !self.interactive_is_over(q) {
                self.back_to_interactive(q);
            } else {
                self.queues[q].raising.coeff = 1;
            }
        }
        let queue = &mut self.queues[q];
        queue.entity.prio_changed = true;
        if existed && queue.busy {
            let new = queue.raising.coeff;
            self.raised_busy += i32::from(old == 1 && new > 1) - i32::from(old > 1 && new == 1);
        }
    }

    /// The queue for a request of `context`. The process leaves a shared queue that has become seeky.
    pub(super) fn queue_for(&mut self, context: IoContextId, sync: bool) -> QueueId {
        let Some(q) = self.contexts[context].queues[usize::from(sync)] else {
            let q = self.get_queue(context, sync, false);
            self.set_queue(context, Some(q), sync);
            return q;
        };
        let queue = &self.queues[q];
        if !queue.cooperative || !queue.split_wanted || self.contexts[context].stably_merged {
            return q;
        }
        let waker = queue.waker.filter(|&w| self.waker_survives(q, w));
        if queue.in_large_burst {
            if let Some(saved) = &mut self.contexts[context].saved {
                saved.in_large_burst = true;
            }
        }
        if queue.process_refs == 1 && queue.merged_into.is_none() {
            // All other processes have left.
            let queue = &mut self.queues[q];
            (queue.cooperative, queue.split_wanted) = (false, false);
            self.resume_state(q, context, true);
            return q;
        }
        self.set_queue(context, None, true);
        self.drop_redirections(q);
        self.release(q);
        let new = self.get_queue(context, sync, true);
        self.set_queue(context, Some(new), sync);
        if sync {
            let saved = self.contexts[context].saved;
            let (listed, large) = saved.map_or((false, false), |s| (s.was_in_burst_list, s.in_large_burst));
            self.queues[new].in_large_burst = (listed && self.burst.large) || large;
            if listed && !self.queues[new].in_large_burst {
                self.join_burst(new);
            }
            self.queues[new].split_time = self.jiffies();
        }
        self.resume_state(new, context, false);
        self.queues[new].tentative_waker = None;
        self.set_waker(new, waker.filter(|&w| self.queues[w].live));
        new
    }

    /// Whether the waker of `q` survives if `q` loses a process.
    fn waker_survives(&self, q: QueueId, waker: QueueId) -> bool {
        let chain = std::iter::successors(self.queues[q].merged_into, |&next| self.queues[next].merged_into);
        let own = u32::from(chain.into_iter().any(|next| next == waker));
        self.queues[waker].process_refs > own
    }

    /// Releases the references of `q` to the queues that its processes were redirected to.
    pub(super) fn drop_redirections(&mut self, q: QueueId) {
        let mut next = self.queues[q].merged_into;
        while let Some(to) = next {
            next = self.queues[to].merged_into;
            self.queues[to].process_refs -= 1;
            self.free_if_unused(to);
        }
    }

    /// Releases the reference of a process that leaves `q` for good.
    pub(super) fn release(&mut self, q: QueueId) {
        if self.last_created == Some(q) {
            self.last_created = None;
        }
        self.drop_process_ref(q);
    }

    fn drop_process_ref(&mut self, q: QueueId) {
        let queue = &self.queues[q];
        if queue.busy && queue.sorted.is_empty() && self.in_service != Some(q) {
            self.del_busy(q, false);
        }
        self.queues[q].process_refs -= 1;
        self.free_if_unused(q);
    }

    /// Whether a queue was split from others so recently that its behaviour means nothing yet.
    pub(super) fn just_split(&self, q: QueueId) -> bool {
        self.queues[q].split_time.plus_ms(MIN_IDLE_MS) >= self.jiffies()
    }
}
