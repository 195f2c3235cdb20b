//! `none` (Linux 6.12 to 6.18): no scheduler. Requests go to the device in order of arrival on their CPU.
//!
//! Without a scheduler, a request needs one of the device's own tags before it exists. So nearly all requests are sent
//! at once, and their order depends on which task gets a tag. The block layer simulates that contention. This file
//! simulates what blk-mq does with requests that have a tag and wait for the queue to run. Each CPU appends requests to
//! its own software queue, where a new request may merge with the last eight. Running a hardware queue moves the
//! software queues of its CPUs, in their order, to one list (`hctx->dispatch`). That list is sent first, and its
//! requests no longer merge. There are no tunables.

use crate::software_queue::merge_recent;
use crate::tunables::no_tunables;
use crate::{Dispatch, Environment, MergeLimits, Merged, QueueMap, Scheduler};
use iopilot_block::{Links, List, Nanos, RequestId, Requests};

/// No scheduler.
#[derive(Clone, Debug)]
pub(crate) struct NoScheduler {
    links: Links,
    /// The software queue of each CPU.
    cpus: Vec<List>,
    /// For each hardware queue, the requests that have left the software queues.
    dispatch: Vec<List>,
    map: QueueMap,
    queued: usize,
}

impl NoScheduler {
    /// Empty software queues.
    pub(crate) fn new(env: &Environment) -> Self {
        let map = env.queue_map();
        Self {
            links: Links::default(),
            cpus: vec![List::new(); usize::from(env.cpus)],
            dispatch: vec![List::new(); map.queues()],
            map,
            queued: 0,
        }
    }
}

impl Scheduler for NoScheduler {
    fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, _: Nanos) -> Option<Merged> {
        merge_recent(&self.cpus[self.map.cpu(rqs[id].cpu)], &self.links, rqs, id, limits)
    }

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        let cpu = self.map.cpu(rqs[id].cpu);
        self.cpus[cpu].push_back(&mut self.links, id);
        self.queued += 1;
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        self.dispatch_queue(rqs, 0, now)
    }

    fn dispatch_queue(&mut self, _: &mut Requests, queue: usize, _: Nanos) -> Dispatch {
        if self.queued == 0 {
            return Dispatch::Empty;
        }
        let dispatch = &mut self.dispatch[queue];
        if dispatch.is_empty() {
            for cpu in &mut self.cpus[self.map.cpus_of(queue)] {
                dispatch.append(&mut self.links, cpu);
            }
        }
        let Some(id) = dispatch.pop_front(&mut self.links) else { return Dispatch::Empty };
        self.queued -= 1;
        Dispatch::Request(id)
    }

    fn serves_queues_apart(&self) -> bool {
        true
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        let cpu = rqs[id].cpu;
        let dispatch = &mut self.dispatch[self.map.queue_of(cpu)];
        let list = match dispatch.iter(&self.links).any(|sent| sent == id) {
            true => dispatch,
            false => &mut self.cpus[self.map.cpu(cpu)],
        };
        list.remove(&mut self.links, id);
        self.queued -= 1;
    }

    fn queued(&self) -> usize {
        self.queued
    }

    no_tunables!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_queue::Bench;
    use iopilot_block::Op;

    #[test]
    fn cpus_are_served_in_turn_each_in_order_of_arrival() {
        let mut b = Bench::new(NoScheduler::new(&Environment { cpus: 2, ..Environment::default() }));
        for (cpu, lba) in [(1, 10), (0, 50), (1, 30), (0, 20)] {
            let mut rq = b.request(Op::Read, lba, 1);
            rq.cpu = cpu;
            b.put(rq);
        }
        assert_eq!(b.take(1), [50]);
        let mut late = b.request(Op::Read, 1, 1);
        late.cpu = 0;
        b.put(late);
        assert_eq!(b.take(9), [20, 10, 30, 1], "the dispatch list goes before later arrivals");
    }

    #[test]
    fn a_hardware_queue_dispatches_requests_of_its_own_cpus() {
        let env = Environment { cpus: 4, hardware_queues: 2, ..Environment::default() };
        let mut b = Bench::new(NoScheduler::new(&env));
        for (cpu, lba) in [(3, 10), (0, 50), (2, 30), (1, 20)] {
            let mut rq = b.request(Op::Read, lba, 1);
            rq.cpu = cpu;
            b.put(rq);
        }
        assert_eq!([b.take_from(0, 9), b.take_from(1, 9)], [vec![50, 20], vec![30, 10]]);
    }

    #[test]
    fn merges_with_the_last_eight_of_the_same_cpu_at_either_end() {
        let mut b = Bench::new(NoScheduler::new(&Environment { cpus: 2, ..Environment::default() }));
        for i in 0..9 {
            assert!(!b.submit_sectors(Op::Read, 1000 * i, 8));
        }
        assert!(!b.submit_sectors(Op::Read, 8, 8), "the ninth from the end is out of sight");
        assert!(b.submit_sectors(Op::Read, 8008, 8));
        assert!(b.submit_sectors(Op::Read, 7992, 8));
        let mut elsewhere = b.request(Op::Read, 8016, 8);
        elsewhere.cpu = 1;
        assert!(!b.put(elsewhere));
    }
}
