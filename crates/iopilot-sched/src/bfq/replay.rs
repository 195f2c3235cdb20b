//! What a replay of a kernel's choices tells the scheduler of that kernel.

use super::{Bfq, Expiration};
use iopilot_block::{Nanos, RequestId, Requests};
use std::hash::{Hash, Hasher};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// What only replays ask.
#[derive(Clone, Debug, Default)]
pub(super) struct Replay {
    /// By how much the clock of whoever acts is wrong.
    pub(super) clock_error_ns: i64,
    /// What queues were charged for the time they took, in sectors.
    pub(super) charged: i64,
}

impl Bfq {
    /// Puts the queue of `id`, which is queued, in service, and makes `id` its next, whatever would have been chosen: for replays
    /// of what a kernel did, after it has chosen otherwise. Without that, one choice would make all later ones others.
    pub fn steer(&mut self, rqs: &Requests, id: RequestId, now: Nanos) {
        self.advance(rqs, now);
        let q = self.per_request[id.index()].queue;
        if self.in_service != Some(q) {
            if let Some(current) = self.in_service {
                self.expire(rqs, current, false, Expiration::Preempted);
            }
            self.next_in_service = Some(q);
            self.put_in_service();
        }
        let charge = self.charge(q, rqs[id].sectors.0);
        let queue = &mut self.queues[q];
        queue.next = Some(id);
        queue.entity.budget = queue.entity.budget.max(queue.entity.service + charge);
    }

    /// From now on the clock of whoever acts is off by `ns`. A task's clock stands still while it submits (Linux 6.9: its plug keeps the
    /// time), and a queue that came into service on another CPU meanwhile did so in its future.
    pub fn clock_error(&mut self, ns: i64) {
        self.replay.clock_error_ns = ns;
    }

    /// By how many nanoseconds the clock of whoever acts at `now` would have to be off for the queue in service to be charged
    /// otherwise, should it leave service: the kernel rounds its time down to milliseconds, and takes a microsecond less than nothing for more
    /// than an hour. `i64::MAX` where none is in service.
    pub fn clock_margin(&self, now: Nanos) -> i64 {
        if self.in_service.is_none() {
            return i64::MAX;
        }
        let margin = |until: Nanos| match until.0 as i64 - self.budget_start.0 as i64 {
            hour if hour <= -US => 1 - US - hour,
            none if none < MS => (none + US).min(MS - none),
            some => (some % MS + 1).min(MS - some % MS),
        };
        // Where it was idled for in vain, that does not count.
        let idled = self.idling_since >= self.budget_start;
        margin(now).min(if idled { margin(self.idling_since) } else { i64::MAX })
    }

    /// What queues were charged so far for the time they took, in sectors: where it differs the order of what is to come does, too.
    pub fn charged_for_time(&self) -> i64 {
        self.replay.charged
    }

    /// What decides whom it serves next and for how long, apart from clocks: two with the same go on alike until clocks tell them apart.
    pub fn digest(&self, to: &mut impl Hasher) {
        self.in_service.hash(to);
        self.trees.iter().for_each(|tree| tree.vtime.hash(to));
        // Their order counts: of queues that finish at the same time the first to come is served.
        self.trees.iter().flat_map(|tree| tree.active.iter()).for_each(|q| q.hash(to));
        for q in self.queues.live() {
            let queue = &self.queues[q];
            let e = &queue.entity;
            q.hash(to);
            (e.start, e.finish, e.service, e.budget, e.weight, e.tree).hash(to);
            (queue.max_budget, queue.queued, queue.dispatched, queue.waiting, queue.busy).hash(to);
            (queue.raising.coeff, queue.habits.inject_limit, queue.merged_into).hash(to);
            (queue.non_blocking_wait, queue.soft_rt_update, queue.habits.io_bound, queue.habits.has_short_think_time)
                .hash(to);
        }
    }
}
