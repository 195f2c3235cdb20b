//! [`ReplayDispatch`]: dispatching in the order of another kyber.

use super::{BATCH, Kyber, domain_of};
use crate::{Dispatch, ReplayDispatch, Scheduler};
use iopilot_block::{Nanos, RequestId, Requests};

impl ReplayDispatch for Kyber {
    fn dispatch_recorded(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) -> bool {
        self.make_next(rqs, id);
        self.dispatch_queue(rqs, self.map.queue_of(rqs[id].cpu), now) == Dispatch::Request(id)
    }
}

impl Kyber {
    /// Makes `id`, which is queued, the next request. Requests that were ready before it must have arrived after the
    /// software queues were emptied: they go back to those.
    fn make_next(&mut self, rqs: &Requests, id: RequestId) {
        let (cpu, domain) = (self.map.cpu(rqs[id].cpu), domain_of(&rqs[id]));
        let queue = &mut self.hardware[self.map.queue_of(rqs[id].cpu)];
        if queue.ready[domain].iter(&self.links).any(|ready| ready == id) {
            let late: Vec<RequestId> = queue.ready[domain].iter(&self.links).take_while(|&ready| ready != id).collect();
            for other in late.into_iter().rev() {
                queue.ready[domain].remove(&mut self.links, other);
                self.cpus[self.map.cpu(rqs[other].cpu)][domain].push_front(&mut self.links, other);
                queue.waiting[domain] += 1;
            }
        } else {
            self.cpus[cpu][domain].remove(&mut self.links, id);
            queue.waiting[domain] -= 1;
            queue.ready[domain].push_front(&mut self.links, id);
        }
        if queue.domain != domain || queue.batching >= BATCH[domain] {
            (queue.domain, queue.batching) = (domain, 0);
        }
    }
}
