//! `noop` (Linux 2.6.24): first in, first out, with merging.
//!
//! Dispatches in order of arrival. It back-merges, and coalesces neighbours in its list, which may change the order
//! (Carroll 2.4.2).

use crate::merge::merges_by_index;
use crate::tunables::no_tunables;
use crate::{Dispatch, MergeIndex, MergeTarget, Scheduler};
use iopilot_block::{Lba, Links, List, Nanos, RequestId, Requests};

/// First in, first out, with merging.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noop {
    links: Links,
    queue: List,
    merge: MergeIndex,
}

impl Noop {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

impl MergeTarget for Noop {
    fn merge_index(&mut self) -> &mut MergeIndex {
        &mut self.merge
    }

    /// `noop` has no `elevator_merge_fn`. So the block layer finds only back merges, except for the request that merged
    /// last.
    fn front_merges(&self) -> bool {
        false
    }

    /// `noop_latter_request` looks only at the next request in the list.
    fn allows_coalescing(&self, _: &Requests, host: RequestId, other: RequestId) -> bool {
        self.queue.next(&self.links, host) == Some(other)
    }

    fn moved(&mut self, _: &Requests, _: RequestId, _: Lba) {}

    fn absorb(&mut self, _: &Requests, _: RequestId, gone: RequestId) {
        self.queue.remove(&mut self.links, gone);
    }
}

impl Scheduler for Noop {
    merges_by_index!();

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        self.queue.push_back(&mut self.links, id);
        self.merge.add(rqs, id);
    }

    fn dispatch(&mut self, rqs: &mut Requests, _: Nanos) -> Dispatch {
        match self.queue.pop_front(&mut self.links) {
            Some(id) => {
                self.merge.remove(rqs, id);
                Dispatch::Request(id)
            }
            None => Dispatch::Empty,
        }
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        self.queue.remove(&mut self.links, id);
        self.merge.remove(rqs, id);
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }

    no_tunables!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MergeLimits;
    use iopilot_block::{Op, ProcessId, Request, Sectors};

    #[test]
    fn serves_in_order_of_arrival_but_back_merges() {
        let (mut rqs, mut noop) = (Requests::new(), Noop::new());
        let mut submit = |lba| {
            let id = rqs.insert(Request::new(Op::Read, Lba(lba), Sectors(8), ProcessId(1)));
            let merged = noop.try_merge(&mut rqs, id, &MergeLimits::default(), Nanos::ZERO);
            if merged.is_none() {
                noop.insert(&mut rqs, id, Nanos::ZERO);
            }
            merged.is_some()
        };
        // 92 touches 100 in front. But only the request that merged last accepts a front merge, and that is 500 by
        // then.
        assert_eq!([100, 0, 108, 500, 508, 92].map(&mut submit), [false, false, true, false, true, false]);
        assert!(submit(492), "the request that merged last accepts one at either end");
        let mut order = Vec::new();
        while let Dispatch::Request(id) = noop.dispatch(&mut rqs, Nanos::ZERO) {
            order.push((rqs[id].lba.0, rqs[id].sectors.0));
        }
        assert_eq!(order, [(100, 16), (0, 8), (492, 24), (92, 8)]);
    }
}
