//! [`ReplayDispatch`]: dispatching in the order of another bfq.

use super::{Bfq, Expiration};
use crate::{Dispatch, ReplayDispatch, Scheduler};
use iopilot_block::{Nanos, RequestId, Requests};

impl ReplayDispatch for Bfq {
    fn dispatch_recorded(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) -> bool {
        self.make_next(rqs, id, now);
        self.dispatch(rqs, now) == Dispatch::Request(id)
    }
}

impl Bfq {
    /// Puts the queue of `id`, which is queued, in service. Makes `id` its next request.
    fn make_next(&mut self, rqs: &Requests, id: RequestId, now: Nanos) {
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
}
