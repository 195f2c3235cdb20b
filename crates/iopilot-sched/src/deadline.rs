//! `deadline` (Linux 2.6.24): sector order in batches of one direction, with a deadline on every request (Carroll
//! 2.4.3).
//!
//! A batch is up to `fifo_batch` requests of one direction, each starting where the last one ended. The first request
//! that does not ends the batch. Reads go before writes, until writes were passed over `writes_starved` times. A new
//! batch continues in sector order. It starts at the oldest request instead if the direction changed, no request lies
//! above, or the oldest has expired.
//!
//! The scheduler remembers *which* request comes next, not at which sector: a request that arrives in between waits for
//! the next round. Of two requests of one direction that start at the same sector, the older is sent at once, as in the
//! kernel.
//!
//! Set `linux_2_6_23=1` to compare with measurements of kernels before 2.6.24, such as González-Férez' (thesis of 2012)
//! or Carroll's of the unmended scheduler. It brings back two faults that Carroll mended for 2.6.24. A batch that goes
//! on in sector order does not reset the batch counter, so all read batches but the first are of a single request
//! (3.4.1). A batch in a new direction starts at the lowest sector, which starves the upper end of the disk (3.4.2).

use crate::deadlines::Deadlines;
use crate::merge::merges_by_index;
use crate::tunables::{plain_tunables, tunables};
use crate::{Dispatch, MergeIndex, MergeTarget, Scheduler};
use iopilot_block::{Lba, Nanos, RequestId, Requests, SortedIndex};
use std::collections::VecDeque;

tunables! {
    /// The tunables of `deadline`, as in `/sys/block/*/queue/iosched` of Linux 2.6.24, and one of our own.
    pub(crate) struct DeadlineTunables {
        /// Deadline of a read.
        read_expire: u64, Ms = 500, 0..=2_147_483_647;
        /// Deadline of a write.
        write_expire: u64, Ms = 5_000, 0..=2_147_483_647;
        /// How many times reads may be preferred to waiting writes.
        writes_starved: u64, Count = 2, 0..=2_147_483_647;
        /// Try to merge in front of queued requests.
        front_merges: bool, Bool = true, 0..=1;
        /// How many contiguous requests make a batch.
        fifo_batch: u64, Count = 16, 0..=2_147_483_647;
        /// Behave as Linux 2.6.23 did, to compare with measurements of kernels before 2.6.24. No kernel has this
        /// tunable.
        linux_2_6_23: bool, Bool = false, 0..=1;
    }
}

const READ: usize = 0;
const WRITE: usize = 1;

/// The deadline scheduler of Linux 2.6.24.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadline {
    sorted: [SortedIndex; 2],
    deadlines: Deadlines<2>,
    /// The next in sector order, for the direction of the last dispatched request.
    next: [Option<RequestId>; 2],
    /// The end of the last dispatched request.
    last_end: Lba,
    /// Length of the present batch.
    batching: u64,
    /// How many times writes were passed over.
    starved: u64,
    /// Requests to send first: each was displaced by a newer one with the same first sector.
    ready: VecDeque<RequestId>,
    merge: MergeIndex,
    tunables: DeadlineTunables,
}

impl Deadline {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Inserts `id` in sector order. A request that starts at the same sector is sent to the device.
    fn sort(&mut self, rqs: &Requests, id: RequestId) {
        let (lba, direction) = (rqs[id].lba, usize::from(rqs[id].is_write()));
        if let Some(twin) = self.sorted[direction].at(lba) {
            self.leave(rqs, twin);
            self.ready.push_back(twin);
        }
        self.sorted[direction].insert(lba, id);
    }

    /// Removes `id` from the sector order. If it was next, the request after it becomes next.
    fn unsort(&mut self, rqs: &Requests, id: RequestId) {
        let (lba, direction) = (rqs[id].lba, usize::from(rqs[id].is_write()));
        if self.next[direction] == Some(id) {
            self.next[direction] = self.sorted[direction].next(lba, id);
        }
        self.sorted[direction].remove(lba, id);
    }

    /// Removes `id` from the queues as the last dispatched request.
    fn leave(&mut self, rqs: &Requests, id: RequestId) {
        let (rq, direction) = (&rqs[id], usize::from(rqs[id].is_write()));
        self.next = [None, None];
        self.next[direction] = self.sorted[direction].remove_for_next(rq.lba, id);
        self.last_end = rq.end();
        self.deadlines.remove(id);
        self.merge.remove(rqs, id);
    }

    fn pick(&mut self, rqs: &Requests, now: Nanos) -> Option<RequestId> {
        if let Some(next) = self.next[WRITE].or(self.next[READ]) {
            if rqs[next].lba != self.last_end {
                self.batching = self.batching.saturating_add(self.tunables.fifo_batch);
            }
            if self.batching < self.tunables.fifo_batch {
                return Some(next);
            }
        }
        let direction = match (self.deadlines.is_empty(READ), self.deadlines.is_empty(WRITE)) {
            (true, true) => return None,
            (true, false) => WRITE,
            (false, true) => READ,
            (false, false) => {
                self.starved += 1;
                if self.starved > self.tunables.writes_starved { WRITE } else { READ }
            }
        };
        if direction == WRITE {
            self.starved = 0;
        }
        match (self.deadlines.expired(direction, now), self.next[direction]) {
            (None, Some(next)) => {
                if !self.tunables.linux_2_6_23 {
                    self.batching = 0;
                }
                Some(next)
            }
            (None, None) if self.tunables.linux_2_6_23 => {
                self.batching = 0;
                self.sorted[direction].first()
            }
            (_, _) => {
                self.batching = 0;
                self.deadlines.oldest(direction)
            }
        }
    }
}

impl MergeTarget for Deadline {
    fn merge_index(&mut self) -> &mut MergeIndex {
        &mut self.merge
    }

    fn front_merges(&self) -> bool {
        self.tunables.front_merges
    }

    /// Only neighbours in sector order coalesce.
    fn allows_coalescing(&self, rqs: &Requests, host: RequestId, other: RequestId) -> bool {
        let rq = &rqs[host];
        self.sorted[usize::from(rq.is_write())].adjacent(rq.lba, host, other)
    }

    fn moved(&mut self, rqs: &Requests, host: RequestId, old_lba: Lba) {
        self.sorted[usize::from(rqs[host].is_write())].remove(old_lba, host);
        self.sort(rqs, host);
    }

    fn absorb(&mut self, rqs: &Requests, host: RequestId, gone: RequestId) {
        self.unsort(rqs, gone);
        self.deadlines.absorb(host, gone);
    }
}

impl Scheduler for Deadline {
    merges_by_index!();

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.sort(rqs, id);
        let (direction, expire) = match rqs[id].is_write() {
            false => (READ, self.tunables.read_expire),
            true => (WRITE, self.tunables.write_expire),
        };
        self.deadlines.push(direction, id, now + Nanos::from_millis(expire));
        self.merge.add(rqs, id);
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        if let Some(id) = self.ready.pop_front() {
            return Dispatch::Request(id);
        }
        let Some(id) = self.pick(rqs, now) else { return Dispatch::Empty };
        self.batching += 1;
        self.leave(rqs, id);
        Dispatch::Request(id)
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        if self.deadlines.expires(id).is_none() {
            // A newer request with the same first sector has displaced it.
            self.ready.retain(|&other| other != id);
            return;
        }
        self.unsort(rqs, id);
        self.deadlines.remove(id);
        self.merge.remove(rqs, id);
    }

    fn queued(&self) -> usize {
        self.sorted[READ].len() + self.sorted[WRITE].len() + self.ready.len()
    }

    plain_tunables!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_queue::Bench;

    fn bench() -> Bench<Deadline> {
        Bench::new(Deadline::new())
    }

    /// Submits `n` contiguous reads from 1000 and writes from 5000 that never merge. Returns the order of kinds.
    fn kinds(b: &mut Bench<Deadline>, n: u64) -> String {
        for i in 0..n {
            b.read(1000 + i);
            b.write(5000 + i);
        }
        b.take(2 * n as usize).iter().map(|&lba| if lba < 5000 { 'r' } else { 'w' }).collect()
    }

    #[test]
    fn writes_starved_read_batches_go_before_each_write_batch() {
        let mut b = bench();
        b.set("fifo_batch", 3.0);
        assert_eq!(kinds(&mut b, 8), "rrrrrrwwwrrwwwww");
    }

    #[test]
    fn in_2_6_23_read_batches_after_the_first_were_of_one_request() {
        let mut b = bench();
        b.set("fifo_batch", 3.0);
        b.set("linux_2_6_23", 1.0);
        assert_eq!(kinds(&mut b, 8), "rrrrwwwrrrrwwwww");
    }

    #[test]
    fn a_batch_is_contiguous() {
        let mut b = bench();
        for lba in [100, 101, 103, 104] {
            b.read(lba);
        }
        b.write(50);
        // Reads are preferred twice; the gap after 101 ended the first batch, the end of the queue the second.
        assert_eq!(b.take(9), [100, 101, 103, 104, 50]);
        for lba in [200, 202, 204] {
            b.read(lba);
        }
        b.write(60);
        assert_eq!(b.take(9), [200, 202, 60, 204]);
    }

    #[test]
    fn a_batch_in_a_new_direction_starts_at_the_oldest_and_in_2_6_23_at_the_lowest() {
        // Nothing lies above 900: the oldest of the rest is 500, and nothing lies above that either.
        for (old, expected) in [(0.0, [900, 500, 100]), (1.0, [100, 500, 900])] {
            let mut b = bench();
            b.set("linux_2_6_23", old);
            b.write(10);
            assert_eq!(b.take(1), [10]);
            for lba in [900, 500, 100] {
                b.read(lba);
            }
            assert_eq!(b.take(3), expected);
        }
    }

    #[test]
    fn the_next_request_is_remembered_and_not_searched() {
        let mut b = bench();
        b.read(100);
        b.read(300);
        assert_eq!(b.take(1), [100]);
        b.read(200);
        assert_eq!(b.take(9), [300, 200]);
    }

    #[test]
    fn an_expired_request_starts_the_next_batch() {
        let mut b = bench();
        b.read(9_000);
        b.read(100);
        b.read(8_000);
        assert_eq!(b.take(1), [9_000]);
        b.read(200);
        assert_eq!(b.take(1), [100]);
        b.now = Nanos::from_millis(501);
        assert_eq!(b.take(9), [8_000, 200]);
    }

    #[test]
    fn of_two_requests_at_one_sector_the_older_is_sent_at_once() {
        let mut b = bench();
        b.read(500);
        b.read(700);
        b.read(500);
        assert_eq!(b.scheduler.queued(), 3);
        assert_eq!(b.take(9), [500, 700, 500]);
    }
}
