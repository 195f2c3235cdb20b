//! `none` (Linux 6.12 to 6.18): no scheduler. Requests go to the device in order of arrival on their CPU.
//!
//! Without a scheduler a request needs one of the device's own tags before it exists, so nearly all are sent at once
//! and who waits for a tag is what decides; that race is the block layer's, not this file's. What is here is what
//! blk-mq does with requests that have their tag and wait for the queue to run: each CPU appends to its own software
//! queue, where a new request may merge with the last eight; running the queue moves all software queues, in the order
//! of the CPUs, to one list (`hctx->dispatch`) that is sent first and merges no more. No tunables.

use crate::software_queue::merge_recent;
use crate::tunables::no_tunables;
use crate::{Dispatch, Environment, MergeLimits, Merged, Scheduler};
use iopilot_block::{Links, List, Nanos, RequestId, Requests};

/// No scheduler.
#[derive(Clone, Debug, Default)]
pub struct NoScheduler {
    links: Links,
    /// The software queue of each CPU.
    cpus: Vec<List>,
    dispatch: List,
    queued: usize,
}

impl NoScheduler {
    /// Empty software queues.
    pub fn new(env: &Environment) -> Self {
        Self { cpus: vec![List::new(); usize::from(env.cpus)], ..Self::default() }
    }
}

impl Scheduler for NoScheduler {
    fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, _: Nanos) -> Option<Merged> {
        let queue = self.cpus.get(usize::from(rqs[id].cpu))?;
        merge_recent(queue, &self.links, rqs, id, limits)
    }

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        let cpu = usize::from(rqs[id].cpu);
        if cpu >= self.cpus.len() {
            self.cpus.resize(cpu + 1, List::new());
        }
        self.cpus[cpu].push_back(&mut self.links, id);
        self.queued += 1;
    }

    fn dispatch(&mut self, _: &mut Requests, _: Nanos) -> Dispatch {
        if self.queued == 0 {
            return Dispatch::Empty;
        }
        if self.dispatch.is_empty() {
            for queue in &mut self.cpus {
                self.dispatch.append(&mut self.links, queue);
            }
        }
        self.queued -= 1;
        self.dispatch.pop_front(&mut self.links).map_or(Dispatch::Empty, Dispatch::Request)
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
        assert_eq!(b.take(9), [20, 10, 30, 1], "what is on its way goes before what came later");
    }

    #[test]
    fn merges_with_the_last_eight_of_the_same_cpu_at_either_end() {
        let mut b = Bench::new(NoScheduler::default());
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
