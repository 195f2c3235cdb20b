//! B-WF2Q+: chooses the next queue, so that each gets its share of the sectors.
//!
//! Each priority class has a tree. The next queue is the one with the earliest finish time among those whose start time
//! has come, or one that the search passes on its way there ([`ActiveTree`](super::tree::ActiveTree)).

use super::Bfq;
use super::queue::{Entity, QueueId, TreeMembership};
use super::service_tree::BfqServiceTree;
use crate::jiffies::{HZ, Jiffies};

/// Fixed-point shift of virtual time.
const SERVICE_SHIFT: u32 = 22;
/// The idle class is served at least this often, in jiffies.
const IDLE_CLASS_TIMEOUT: i64 = HZ / 5;

fn virtual_time(service: i64, weight: u64) -> u64 {
    ((service as u64) << SERVICE_SHIFT) / weight
}

impl Bfq {
    fn tree(&mut self, q: QueueId) -> &mut BfqServiceTree {
        &mut self.trees[self.queues[q].class]
    }

    fn set_finish(&mut self, q: QueueId, service: i64) {
        let e = &mut self.queues[q].entity;
        e.finish = e.start + virtual_time(service, e.weight);
    }

    fn active_insert(&mut self, q: QueueId) {
        let Entity { start, finish, .. } = self.queues[q].entity;
        self.tree(q).active.insert(q, start, finish);
        self.activations += 1;
        let e = &mut self.queues[q].entity;
        (e.tree, e.activation) = (TreeMembership::Active, self.activations);
    }

    fn tree_extract(&mut self, q: QueueId) {
        let queue = &mut self.queues[q];
        let tree = &mut self.trees[queue.class];
        match std::mem::take(&mut queue.entity.tree) {
            TreeMembership::Active => tree.active.remove(q),
            TreeMembership::Idle => tree.remove_idle(queue.entity.finish, q),
            TreeMembership::Nowhere => {}
        }
    }

    fn forget(&mut self, q: QueueId, in_service: bool) {
        self.queues[q].entity.scheduled = false;
        let weight = self.queues[q].entity.weight;
        self.tree(q).weights -= weight;
        if !in_service {
            self.free_if_unused(q);
        }
    }

    /// Drops an idle queue whose past service no longer counts.
    fn forget_idle(&mut self, class: usize) {
        let tree = &mut self.trees[class];
        let (Some((first, q)), Some((last, _))) = (tree.first_idle(), tree.last_idle()) else { return };
        if tree.active.is_empty() && last <= tree.vtime {
            tree.vtime = last;
        }
        if first <= tree.vtime {
            self.tree_extract(q);
            self.forget(q, self.in_service_entity == Some(q));
        }
    }

    /// Applies pending changes of weight and, where `class_too`, of class.
    pub(super) fn update_weight(&mut self, q: QueueId, class_too: bool) {
        let queue = &mut self.queues[q];
        if !queue.entity.prio_changed {
            return;
        }
        let (old_class, old_weight) = (queue.class, queue.entity.weight);
        if queue.entity.new_weight != queue.entity.own_weight {
            queue.entity.own_weight = queue.entity.new_weight;
            queue.level = 8u64.saturating_sub(queue.entity.own_weight / 10) as u8;
        }
        if class_too && queue.class != queue.new_class {
            queue.class = queue.new_class;
            if queue.busy {
                self.busy[old_class] -= 1;
                self.busy[queue.class] += 1;
            }
        }
        if queue.class == queue.new_class {
            queue.entity.prio_changed = false;
        }
        let (class, raised) = (queue.class, queue.raising.coeff > 1);
        let weight = queue.entity.own_weight * queue.raising.coeff;
        self.trees[old_class].weights -= old_weight;
        if weight != old_weight {
            self.uncount_weight(q);
        }
        self.queues[q].entity.weight = weight;
        if weight != old_weight && !raised {
            self.count_weight(q);
        }
        self.trees[class].weights += weight;
        if class != old_class {
            self.queues[q].entity.start = self.trees[class].vtime;
        }
    }

    /// `q` was served `sectors`.
    pub(super) fn served(&mut self, q: QueueId, sectors: i64) {
        let jiffies = self.jiffies();
        let queue = &mut self.queues[q];
        if queue.service_from_backlogged == 0 {
            queue.first_service = jiffies;
        }
        if queue.raising.coeff > 1 {
            queue.raising.service += sectors;
        }
        queue.service_from_backlogged += sectors;
        queue.entity.service += sectors;
        let class = queue.class;
        let tree = &mut self.trees[class];
        tree.vtime += virtual_time(sectors, tree.weights);
        self.forget_idle(class);
    }

    fn enqueue(&mut self, q: QueueId, backshifted: bool) {
        self.update_weight(q, true);
        self.set_finish(q, self.queues[q].entity.budget);
        let vtime = self.tree(q).vtime;
        let queue = &mut self.queues[q];
        if backshifted && vtime > queue.entity.finish {
            // Its times are moved up to the present, so that it cannot monopolise the device. Raised queues keep more
            // of their advantage.
            let delta = (vtime - queue.entity.finish) / queue.raising.coeff;
            queue.entity.start += delta;
            queue.entity.finish += delta;
        }
        self.active_insert(q);
    }

    fn activate(&mut self, q: QueueId, was_waiting: bool) {
        let vtime = self.tree(q).vtime;
        let e = &self.queues[q].entity;
        let backshifted = was_waiting && vtime > e.finish;
        let start = if backshifted { e.finish } else { vtime };
        if e.tree == TreeMembership::Idle {
            self.tree_extract(q);
            let e = &mut self.queues[q].entity;
            e.start = start.max(e.finish);
        } else {
            let weight = e.weight;
            self.tree(q).weights += weight;
            let e = &mut self.queues[q].entity;
            e.start = start;
            e.scheduled = true;
        }
        self.enqueue(q, backshifted);
    }

    fn requeue(&mut self, q: QueueId) {
        if self.in_service_entity == Some(q) {
            self.set_finish(q, self.queues[q].entity.service);
            let e = &mut self.queues[q].entity;
            e.start = e.finish;
        }
        self.tree_extract(q);
        self.enqueue(q, false);
    }

    /// Inserts `q` into the active tree, or moves it there, by its new state.
    pub(super) fn activate_or_requeue(&mut self, q: QueueId, was_waiting: bool, expiration: bool) {
        if self.in_service_entity == Some(q) || self.queues[q].entity.tree == TreeMembership::Active {
            self.requeue(q);
        } else {
            self.activate(q, was_waiting);
        }
        self.update_next(Some(q), expiration);
    }

    /// Removes `q`, which has run empty, from the active tree.
    pub(super) fn deactivate(&mut self, q: QueueId, expiration: bool) {
        if !self.queues[q].entity.scheduled {
            return;
        }
        let in_service = self.in_service_entity == Some(q);
        self.tree_extract(q);
        self.set_finish(q, self.queues[q].entity.service);
        if in_service {
            self.in_service_entity = None;
        } else {
            self.queues[q].entity.service = 0;
        }
        let finish = self.queues[q].entity.finish;
        if finish > self.tree(q).vtime {
            self.tree(q).insert_idle(finish, q);
            self.queues[q].entity.tree = TreeMembership::Idle;
        } else {
            self.forget(q, in_service);
        }
        if self.next_in_service == Some(q) {
            self.update_next(None, expiration);
        }
    }

    /// Chooses the next queue again, after `changed` was inserted into a tree.
    fn update_next(&mut self, changed: Option<QueueId>, expiration: bool) {
        if let Some(new) = changed.filter(|_| changed != self.next_in_service) {
            let sooner = self.next_in_service.is_none_or(|next| {
                let (new, next) = (&self.queues[new], &self.queues[next]);
                new.class == next.class
                    && new.entity.start <= self.trees[new.class].vtime
                    && next.entity.finish > new.entity.finish
            });
            if sooner {
                self.next_in_service = Some(new);
                return;
            }
        }
        self.next_in_service = self.look_up_next(expiration);
    }

    fn look_up_next(&mut self, expiration: bool) -> Option<QueueId> {
        let jiffies = self.jiffies();
        let mut first = 0;
        if jiffies > Jiffies(self.idle_class_served.0 + IDLE_CLASS_TIMEOUT) {
            if !self.trees[2].active.is_empty() {
                first = 2;
            }
            self.idle_class_served = jiffies;
        }
        let in_service = self.in_service_entity.is_some() && !expiration;
        (first..3).find_map(|class| self.look_up_in_class(class, in_service))
    }

    fn look_up_in_class(&mut self, class: usize, in_service: bool) -> Option<QueueId> {
        let tree = &self.trees[class];
        // If no queue has started, virtual time jumps to the earliest start.
        let jump = tree.active.earliest_start()?.max(tree.vtime);
        let next = tree.active.first(jump);
        if !in_service && jump > tree.vtime {
            self.trees[class].vtime = jump;
            self.forget_idle(class);
        }
        next
    }

    /// Puts the next queue in service.
    pub(super) fn take_next_queue(&mut self) -> Option<QueueId> {
        if self.total_busy() == 0 {
            return None;
        }
        let q = self.next_in_service?;
        self.in_service_entity = Some(q); // Its injected requests stay charged to it.
        self.tree_extract(q);
        self.update_next(None, false);
        Some(q)
    }

    /// Adds `q`, which got its first request, to the busy queues.
    pub(super) fn add_busy(&mut self, q: QueueId) {
        let was_waiting = std::mem::take(&mut self.queues[q].non_blocking_wait);
        self.activate_or_requeue(q, was_waiting, false);
        let queue = &mut self.queues[q];
        queue.busy = true;
        self.busy[queue.class] += 1;
        let raised = queue.raising.coeff > 1;
        if queue.dispatched == 0 && !raised {
            self.count_weight(q);
        }
        self.raised_busy += i32::from(raised);
    }

    /// Removes `q` from the busy queues.
    pub(super) fn del_busy(&mut self, q: QueueId, expiration: bool) {
        let queue = &mut self.queues[q];
        queue.busy = false;
        self.busy[queue.class] -= 1;
        self.raised_busy -= i32::from(queue.raising.coeff > 1);
        self.deactivate(q, expiration);
        if self.queues[q].dispatched == 0 {
            self.uncount_weight(q);
        }
    }

    /// Counts the weight of `q` among those of queues with requests queued or in flight.
    fn count_weight(&mut self, q: QueueId) {
        let queue = &mut self.queues[q];
        if queue.counted_weight.is_some() {
            return;
        }
        let weight = queue.entity.weight;
        queue.counted_weight = Some(weight);
        match self.weights.binary_search_by_key(&weight, |&(w, _)| w) {
            Ok(at) => self.weights[at].1 += 1,
            Err(at) => self.weights.insert(at, (weight, 1)),
        }
    }

    /// Undoes [`Bfq::count_weight`].
    pub(super) fn uncount_weight(&mut self, q: QueueId) {
        let Some(weight) = self.queues[q].counted_weight.take() else { return };
        if let Ok(at) = self.weights.binary_search_by_key(&weight, |&(w, _)| w) {
            self.weights[at].1 -= 1;
            if self.weights[at].1 == 0 {
                self.weights.remove(at);
            }
        }
        self.free_if_unused(q);
    }

    /// Whether queues should get different shares, and `q` is not among those with the smallest.
    pub(super) fn asymmetric(&self, q: QueueId) -> bool {
        let least = self.queues[q].counted_weight.is_some_and(|w| self.weights.first().is_some_and(|f| f.0 == w));
        let classes = self.busy.iter().filter(|&&n| n > 0).count();
        (!least && self.weights.len() > 1) || classes > 1
    }
}
