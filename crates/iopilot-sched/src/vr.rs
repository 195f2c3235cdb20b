//! `vr`: V(R) for Linux 2.6.24 (Carroll 3.2).
//!
//! The request at the smallest distance goes first. A distance in the arm's present direction is divided by
//! `rev_penalty`. 1 is SSTF. 0 stands for an infinite penalty, which is SCAN (LOOK, in the older names). Reads and
//! writes are queued together. Requests merge and coalesce. Each has a deadline. The scheduler checks deadlines only
//! after every `fifo_batch` requests, so that a flood of expired requests does not degrade it to first come, first
//! served. An expiry time of 0 turns the deadlines of its kind off.

use crate::arm::ArmQueue;
use crate::deadlines::Deadlines;
use crate::merge::merges_by_index;
use crate::tunables::{plain_tunables, tunables};
use crate::{Dispatch, MergeIndex, MergeTarget, Scheduler};
use iopilot_block::{Lba, Nanos, RequestId, Requests};

tunables! {
    /// The tunables of `vr` (Carroll, table 3.1).
    pub(crate) struct VrTunables {
        /// Deadline of a synchronous request; 0 for none.
        sync_expire: u64, Ms = 500, 0..=2_147_483_647;
        /// Deadline of an asynchronous request; 0 for none.
        async_expire: u64, Ms = 5_000, 0..=2_147_483_647;
        /// How many requests are dispatched between two checks of the deadlines.
        fifo_batch: u64, Count = 16, 0..=2_147_483_647;
        /// The factor for a distance that reverses the arm; 0 for infinity.
        rev_penalty: u64, Factor = 10, 0..=2_147_483_647;
    }
}

const ASYNC: usize = 0;
const SYNC: usize = 1;

/// V(R) with merging and deadlines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vr {
    arm: ArmQueue,
    deadlines: Deadlines<2>,
    /// How many requests were dispatched since the deadlines were checked.
    batched: u64,
    merge: MergeIndex,
    tunables: VrTunables,
}

impl Vr {
    /// An empty queue, the arm at sector 0.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The expired request with the earliest deadline.
    fn expired(&self, now: Nanos) -> Option<RequestId> {
        [SYNC, ASYNC]
            .into_iter()
            .filter_map(|kind| self.deadlines.expired(kind, now))
            .min_by_key(|&id| self.deadlines.expires(id))
    }

    fn nearest(&self, rqs: &Requests) -> Option<RequestId> {
        let divide = |distance: u64| distance.checked_div(self.tunables.rev_penalty).unwrap_or(0);
        match self.arm.both(rqs) {
            (Some((above, up)), Some((below, down))) => {
                let (up, down) = if self.arm.upwards { (divide(up), down) } else { (up, divide(down)) };
                Some(if up <= down { above } else { below })
            }
            (above, below) => above.or(below).map(|(id, _)| id),
        }
    }
}

impl MergeTarget for Vr {
    fn merge_index(&mut self) -> &mut MergeIndex {
        &mut self.merge
    }

    /// Only neighbours in sector order coalesce.
    fn allows_coalescing(&self, rqs: &Requests, host: RequestId, other: RequestId) -> bool {
        self.arm.sorted().adjacent(rqs[host].lba, host, other)
    }

    fn moved(&mut self, rqs: &Requests, host: RequestId, old_lba: Lba) {
        self.arm.remove(old_lba, host);
        self.arm.insert(rqs[host].lba, host);
    }

    fn absorb(&mut self, rqs: &Requests, host: RequestId, gone: RequestId) {
        self.arm.remove(rqs[gone].lba, gone);
        self.deadlines.absorb(host, gone);
    }
}

impl Scheduler for Vr {
    merges_by_index!();

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let rq = &rqs[id];
        let (kind, expire) =
            if rq.is_sync() { (SYNC, self.tunables.sync_expire) } else { (ASYNC, self.tunables.async_expire) };
        if expire > 0 {
            self.deadlines.push(kind, id, now + Nanos::from_millis(expire));
        }
        self.arm.insert(rq.lba, id);
        self.merge.add(rqs, id);
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        let mut picked = None;
        if self.batched >= self.tunables.fifo_batch {
            self.batched = 0;
            picked = self.expired(now);
        }
        let Some(id) = picked.or_else(|| self.nearest(rqs)) else { return Dispatch::Empty };
        self.merge.remove(rqs, id);
        self.arm.take(rqs, id);
        self.deadlines.remove(id);
        self.batched += 1;
        Dispatch::Request(id)
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        self.merge.remove(rqs, id);
        self.arm.remove(rqs[id].lba, id);
        self.deadlines.remove(id);
    }

    fn queued(&self) -> usize {
        self.arm.sorted().len()
    }

    plain_tunables!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_queue::Bench;
    use iopilot_block::Op;

    #[test]
    fn reverses_for_a_request_that_is_rev_penalty_times_nearer() {
        let mut b = Bench::new(Vr::new());
        b.read(1000);
        assert_eq!(b.take(1), [1000]);
        for lba in [990, 1100, 1191, 1300] {
            b.read(lba);
        }
        // From 1000, 1100 is 10 away and so is 990; from 1100, 1191 is 9; from 1191, 1300 is 10 and 990 is 201.
        assert_eq!(b.take(9), [1100, 1191, 1300, 990]);
        b.read(995);
        b.read(980);
        assert_eq!(b.take(9), [980, 995], "still going down");
    }

    #[test]
    fn an_expired_request_starts_a_batch_and_zero_turns_deadlines_off() {
        let order = |sync_expire: f64| {
            let mut b = Bench::new(Vr::new());
            b.set("fifo_batch", 2.0);
            b.set("sync_expire", sync_expire);
            b.read(9_000);
            b.now = Nanos::from_millis(600);
            for lba in [100, 200, 300] {
                b.read(lba);
            }
            b.take(9)
        };
        assert_eq!(order(500.0), [100, 200, 9_000, 300]);
        assert_eq!(order(0.0), [100, 200, 300, 9_000]);
    }

    #[test]
    fn reads_and_writes_share_the_arm_but_do_not_merge() {
        let mut b = Bench::new(Vr::new());
        b.submit_sectors(Op::Read, 100, 8);
        assert!(!b.submit_sectors(Op::Write, 108, 8));
        assert!(b.submit_sectors(Op::Read, 92, 8));
        b.submit_sectors(Op::Read, 116, 8);
        assert_eq!(b.take(9), [92, 108, 116]);
    }
}
