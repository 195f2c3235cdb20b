//! What a replay of a kernel's choices tells the scheduler of that kernel.

use super::{Bfq, Expiration};
use iopilot_block::{Nanos, RequestId, Requests};

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

    /// From now on the clocks of those who insert show `at`, or the time: while a task submits, its plug keeps the time (Linux 6.9), and a
    /// queue that came into service on another CPU meanwhile did so in its future.
    pub fn plug_time(&mut self, at: Option<Nanos>) {
        self.plug_time = at;
    }
}
