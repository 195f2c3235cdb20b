//! `fcfs` and `fifo`: strictly in order of arrival, without merging.
//!
//! First come, first served is the baseline of the literature (Carroll 2.2.5): it knows nothing about the disk and
//! starves no request. `fifo` is the same algorithm as a scheduler of Linux 2.6. Carroll (3.1) made it from `noop` by
//! refusing every merge, so that the difference between the two is the effect of merging alone.

use crate::tunables::no_tunables;
use crate::{Dispatch, Scheduler};
use iopilot_block::{Nanos, RequestId, Requests};
use std::collections::VecDeque;

/// First come, first served.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fcfs {
    queue: VecDeque<RequestId>,
}

impl Fcfs {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

impl Scheduler for Fcfs {
    fn insert(&mut self, _: &mut Requests, id: RequestId, _: Nanos) {
        self.queue.push_back(id);
    }

    fn dispatch(&mut self, _: &mut Requests, _: Nanos) -> Dispatch {
        self.queue.pop_front().map_or(Dispatch::Empty, Dispatch::Request)
    }

    fn withdraw(&mut self, _: &mut Requests, id: RequestId, _: Nanos) {
        self.queue.retain(|&other| other != id);
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }

    no_tunables!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_queue::Bench;
    use iopilot_block::Op;

    #[test]
    fn serves_in_order_of_arrival_and_never_merges() {
        let mut b = Bench::new(Fcfs::new());
        for lba in [100, 0, 108, 92] {
            assert!(!b.submit_sectors(Op::Read, lba, 8));
        }
        assert_eq!(b.take(9), [100, 0, 108, 92]);
    }
}
