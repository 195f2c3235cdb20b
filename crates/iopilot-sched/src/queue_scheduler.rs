//! [`QueueScheduler`]: an [`IoQueue`] as an I/O scheduler, under the names that its policies have in the literature.
//!
//! `sptf` and its variants ask the disk for the position of its arm and the angle of its platters, which no kernel can
//! (Carroll 2.2.5). They show the value of that knowledge. `look-cyl` and the other schedulers by cylinder ask for
//! cylinders only. `ioqueue` is the whole queue with all its parameters.

mod tunables;

pub(crate) use tunables::{
    AgedTunables, CylinderTunables, IoQueueTunables, PositionTunables, QueueTunables, SlackTunables, VscanCylTunables,
    WeightedTunables,
};

use crate::merge::mergeable;
use crate::{Dispatch, Environment, IoQueue, IoQueueConfig, IoQueuePolicy, IoRequest, MergeLimits, Merged, Scheduler};
use crate::{TunableError, Tunables};
use iopilot_block::{Nanos, Positions, RequestId, Requests, Sectors};

/// An [`IoQueue`] with tunables, in front of one device.
#[derive(Clone, Debug)]
pub(crate) struct QueueScheduler<T> {
    queue: IoQueue,
    tunables: T,
    /// The initial policy and the size of the disk.
    base: IoQueueConfig,
    /// The most sectors of a request.
    largest: u32,
    /// Requests that are complete with the one reported last, without its parts; the last comes first.
    collapsed: Vec<RequestId>,
}

impl<T: QueueTunables> QueueScheduler<T> {
    /// An empty queue with `policy`, unless the tunables choose another.
    pub(crate) fn new(policy: IoQueuePolicy, env: &Environment) -> Self {
        let base =
            IoQueueConfig { capacity: env.capacity, device_initiation: true, ..IoQueueConfig::with_policy(policy) };
        let tunables = T::default();
        let queue = IoQueue::new(tunables.apply(base.clone()));
        Self { queue, tunables, base, largest: MergeLimits::default().max_sectors, collapsed: Vec::new() }
    }

    fn reconfigure(&mut self) {
        let mut config = self.tunables.apply(self.base.clone());
        config.max_concat = Sectors(config.max_concat.0.min(self.largest));
        self.queue.reconfigure(config);
    }
}

impl<T: QueueTunables> Scheduler for QueueScheduler<T> {
    /// Requests merge when they are dispatched, not when they arrive. This only stores the limits.
    fn try_merge(&mut self, _: &mut Requests, _: RequestId, limits: &MergeLimits, _: Nanos) -> Option<Merged> {
        let largest = if limits.nomerges == 0 { limits.max_sectors } else { 0 };
        if largest != self.largest {
            self.largest = largest;
            self.reconfigure();
        }
        None
    }

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let rq = &rqs[id];
        let request = IoRequest {
            criticality: rqs.urgency(id),
            joinable: mergeable(rq),
            ..IoRequest::new(id, rq.op, rq.lba, rq.sectors)
        };
        self.queue.insert(request, now);
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        self.dispatch_at(rqs, now, None)
    }

    fn dispatch_at(&mut self, rqs: &mut Requests, now: Nanos, positions: Option<&dyn Positions>) -> Dispatch {
        let Some(pick) = self.queue.pick(now, positions) else { return Dispatch::Empty };
        let mut part = self.queue.next_part(pick.id);
        while let Some(id) = part {
            rqs.merge_back(pick.id, id);
            part = self.queue.next_part(id);
        }
        Dispatch::Request(pick.id)
    }

    fn withdraw(&mut self, _: &mut Requests, id: RequestId, _: Nanos) {
        let waited = self.queue.remove(id);
        debug_assert!(waited, "only a queued request is withdrawn");
    }

    fn raise(&mut self, _: &mut Requests, id: RequestId, _: Nanos) {
        self.queue.raise(id);
    }

    fn needs_positions(&self) -> bool {
        self.queue.needs_positions()
    }

    fn joins_at_dispatch(&self) -> bool {
        self.queue.config().max_concat.0 > 0
    }

    fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        debug_assert!(self.collapsed.is_empty(), "the caller has asked for all collapsed requests");
        self.collapsed.clear();
        self.queue.completed(id, now, &mut self.collapsed);
        // The caller already completes the parts of a whole.
        self.collapsed.retain(|&other| rqs.whole(other) == other);
        self.collapsed.reverse();
    }

    fn collapsed(&mut self) -> Option<RequestId> {
        self.collapsed.pop()
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }

    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError> {
        self.tunables.set(name, value)?;
        self.reconfigure();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_queue::Bench;
    use iopilot_block::{Op, Requests};

    #[test]
    fn a_merged_request_has_its_parts() {
        let mut b =
            Bench::new(QueueScheduler::<IoQueueTunables>::new(IoQueuePolicy::CycleLbn, &Environment::default()));
        b.set("stream_scheme", 3.0);
        b.set("max_concat", 24.0);
        for lba in [16, 8, 24, 32] {
            assert!(!b.submit_sectors(Op::Read, lba, 8), "it merges at dispatch");
        }
        let first = b.dispatch().expect("four wait");
        assert_eq!((b.rqs[first].lba.0, b.rqs[first].sectors), (8, Sectors(24)));
        let parts = |rqs: &Requests, id| std::iter::successors(rqs.next_part(id), |&p| rqs.next_part(p)).count();
        assert_eq!((parts(&b.rqs, first), b.scheduler.queued()), (2, 1));
        b.complete(first);
        assert_eq!(b.take(9), [32]);
    }

    #[test]
    fn a_policy_can_be_changed_with_requests_queued() {
        let mut b =
            Bench::new(QueueScheduler::<IoQueueTunables>::new(IoQueuePolicy::CycleLbn, &Environment::default()));
        for lba in [500, 100, 300] {
            b.read(lba);
        }
        b.set("policy", 1.0);
        assert_eq!(b.take(9), [500, 100, 300]);
    }

    #[test]
    fn queued_requests_for_the_same_blocks_complete_together_and_are_not_sent() {
        let served = |overlap: f64| {
            let mut b =
                Bench::new(QueueScheduler::<IoQueueTunables>::new(IoQueuePolicy::CycleLbn, &Environment::default()));
            b.set("overlap", overlap);
            b.set("stream_scheme", 3.0);
            b.set("max_concat", 64.0);
            for lba in [8, 16, 8, 8] {
                b.submit_sectors(Op::Read, lba, 8);
            }
            let mut order = Vec::new();
            while let Some(id) = b.dispatch() {
                let sent = b.rqs[id].sectors.0;
                b.complete(id);
                let with = std::iter::from_fn(|| b.scheduler.collapsed()).count();
                order.push((sent, with));
            }
            assert_eq!(b.scheduler.queued(), 0);
            order
        };
        assert_eq!(served(0.0).iter().map(|&(_, with)| with).sum::<usize>(), 0, "each is sent");
        let (sent, with) = (served(1.0).len(), served(1.0).iter().map(|&(_, with)| with).sum::<usize>());
        assert!(sent < served(0.0).len() && with > 0, "{sent} sent, {with} complete with others");
    }

    #[test]
    fn only_positional_policies_need_positions() {
        let env = Environment::default();
        let mut s = QueueScheduler::<IoQueueTunables>::new(IoQueuePolicy::CycleLbn, &env);
        for policy in IoQueuePolicy::all() {
            s.set("policy", f64::from(policy.number())).expect("a policy");
            let blind = matches!(policy.number(), 1..=4 | 17 | 19 | 28);
            assert_eq!(s.needs_positions(), !blind, "{policy}");
        }
        assert!(QueueScheduler::<PositionTunables>::new(IoQueuePolicy::Sptf, &env).needs_positions());
    }
}
