//! `mq-deadline` (Linux 6.12 to 6.18): sector order in short batches of one direction, with a deadline on every
//! request, for each of three priority classes.
//!
//! A batch continues from the position of the last dispatched request of its class and direction, with the first queued
//! request at or above it. A new batch prefers reads, until writes were passed over `writes_starved` times. It starts
//! at that position, too, or at the oldest request if that has expired or no request lies above. A lower class waits
//! while a request of a higher one is queued *or in flight*, but for no longer than `prio_aging_expire`.
//!
//! The classes share batch length, starvation count and direction, as in the kernel. Deadlines count in jiffies of 4
//! ms. Zoned devices and insertion at the head are left out.

use crate::jiffies::{Jiffies, ms_to_ticks};
use crate::merge::merges_by_index;
use crate::tunables::{plain_tunables, tunables};
use crate::{Dispatch, Environment, MergeIndex, MergeTarget, Scheduler};
use iopilot_block::{Lba, Links, List, Nanos, Op, PriorityClass, Request, RequestId, Requests, SortedIndex};

tunables! {
    /// The tunables of `mq-deadline`, as in `/sys/block/*/queue/iosched` of Linux 6.12 to 6.18.
    pub(crate) struct MqDeadlineTunables {
        /// Deadline of a read.
        read_expire: u64, Ms = 500, 0..=2_147_483_647;
        /// Deadline of a write.
        write_expire: u64, Ms = 5_000, 0..=2_147_483_647;
        /// How many times reads may be preferred to waiting writes.
        writes_starved: u64, Count = 2, 0..=2_147_483_647;
        /// Try to merge in front of queued requests.
        front_merges: bool, Bool = true, 0..=1;
        /// How many requests other than synchronous reads may hold scheduler tags; 0, the default, is nr_requests,
        /// which the kernel has written here since 6.10.
        async_depth: u64, Count = 0, 0..=2_147_483_647;
        /// How many requests make a batch.
        fifo_batch: u64, Count = 16, 0..=2_147_483_647;
        /// A request of a lower class that has waited this long goes first.
        prio_aging_expire: u64, Ms = 10_000, 0..=2_147_483_647;
    }
}

/// One direction of one class.
#[derive(Clone, Debug, Default)]
struct Direction {
    sorted: SortedIndex,
    fifo: List,
    /// The start of the last dispatched request.
    latest: Lba,
}

impl Direction {
    fn next(&self) -> Option<RequestId> {
        self.sorted.at_or_after(self.latest)
    }
}

/// One priority class.
#[derive(Clone, Debug, Default)]
struct Class {
    /// Reads, then writes.
    directions: [Direction; 2],
    /// Queued or in flight.
    unfinished: usize,
}

const READ: usize = 0;
const WRITE: usize = 1;

/// The multi-queue deadline scheduler of Linux 6.
#[derive(Clone, Debug)]
pub(crate) struct MqDeadline {
    /// Real time, best effort, idle.
    classes: [Class; 3],
    links: Links,
    /// The expiry time of each request, by its index.
    expires: Vec<Jiffies>,
    last_direction: usize,
    batching: u64,
    starved: u64,
    queued: usize,
    merge: MergeIndex,
    tunables: MqDeadlineTunables,
}

fn class_of(rq: &Request) -> usize {
    match rq.priority.class {
        PriorityClass::RealTime => 0,
        PriorityClass::None | PriorityClass::BestEffort => 1,
        PriorityClass::Idle => 2,
    }
}

fn direction_of(rq: &Request) -> usize {
    usize::from(rq.is_write())
}

impl Default for MqDeadline {
    fn default() -> Self {
        Self {
            classes: Default::default(),
            links: Links::default(),
            expires: Vec::new(),
            last_direction: WRITE,
            batching: 0,
            starved: 0,
            queued: 0,
            merge: MergeIndex::new(),
            tunables: MqDeadlineTunables::default(),
        }
    }
}

impl MqDeadline {
    /// An empty queue; nothing depends on the machine.
    pub(crate) fn new(_: &Environment) -> Self {
        Self::default()
    }

    fn side(&mut self, rq: &Request) -> &mut Direction {
        &mut self.classes[class_of(rq)].directions[direction_of(rq)]
    }

    fn expire_ticks(&self, direction: usize) -> i64 {
        ms_to_ticks(if direction == READ { self.tunables.read_expire } else { self.tunables.write_expire })
    }

    fn expired(&self, id: RequestId, now: Jiffies) -> bool {
        self.expires[id.index()] <= now
    }

    /// The next request of `class`, unless it was inserted after `latest_start`. Direction, batch length and starvation
    /// count are updated in either case, as in the kernel.
    fn pick(&mut self, class: usize, latest_start: Jiffies, now: Jiffies) -> Option<RequestId> {
        let mut direction = self.last_direction;
        let sides = &self.classes[class].directions;
        let id = match sides[direction].next() {
            Some(next) if self.batching < self.tunables.fifo_batch => next,
            _ => {
                direction = match (sides[READ].fifo.is_empty(), sides[WRITE].fifo.is_empty()) {
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
                let side = &self.classes[class].directions[direction];
                let oldest = side.fifo.front()?;
                self.last_direction = direction;
                self.batching = 0;
                match side.next() {
                    Some(next) if !self.expired(oldest, now) => next,
                    _ => oldest,
                }
            }
        };
        if self.expires[id.index()].0 - self.expire_ticks(direction) > latest_start.0 {
            return None;
        }
        self.batching += 1;
        Some(id)
    }

    /// A request of a lower class that has waited for `prio_aging_expire`.
    fn pick_aged(&mut self, now: Jiffies) -> Option<RequestId> {
        if self.classes.iter().filter(|c| c.unfinished > 0).count() < 2 {
            return None;
        }
        let latest_start = Jiffies(now.0 - ms_to_ticks(self.tunables.prio_aging_expire));
        (1..3).find_map(|class| self.pick(class, latest_start, now))
    }

    fn remove(&mut self, rq: &Request, id: RequestId) {
        let class = &mut self.classes[class_of(rq)];
        let side = &mut class.directions[direction_of(rq)];
        side.sorted.remove(rq.lba, id);
        side.fifo.remove(&mut self.links, id);
        self.queued -= 1;
    }
}

impl MergeTarget for MqDeadline {
    fn merge_index(&mut self) -> &mut MergeIndex {
        &mut self.merge
    }

    fn front_merges(&self) -> bool {
        self.tunables.front_merges
    }

    /// Only neighbours in sector order coalesce.
    fn allows_coalescing(&self, rqs: &Requests, host: RequestId, other: RequestId) -> bool {
        let rq = &rqs[host];
        self.classes[class_of(rq)].directions[direction_of(rq)].sorted.adjacent(rq.lba, host, other)
    }

    fn moved(&mut self, rqs: &Requests, host: RequestId, old_lba: Lba) {
        let rq = &rqs[host];
        let side = self.side(rq);
        side.sorted.remove(old_lba, host);
        side.sorted.insert(rq.lba, host);
    }

    fn absorb(&mut self, rqs: &Requests, host: RequestId, gone: RequestId) {
        let rq = &rqs[gone];
        let class = &mut self.classes[class_of(rq)];
        let side = &mut class.directions[direction_of(rq)];
        if self.expires[gone.index()] < self.expires[host.index()] {
            self.expires[host.index()] = self.expires[gone.index()];
            side.fifo.remove(&mut self.links, host);
            side.fifo.replace(&mut self.links, gone, host);
        } else {
            side.fifo.remove(&mut self.links, gone);
        }
        side.sorted.remove(rq.lba, gone);
        class.unfinished -= 1;
        self.queued -= 1;
    }
}

impl Scheduler for MqDeadline {
    merges_by_index!();

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let rq = &rqs[id];
        let direction = direction_of(rq);
        if id.index() >= self.expires.len() {
            self.expires.resize(id.index() + 1, Jiffies::LONG_AGO);
        }
        self.expires[id.index()] = Jiffies(Jiffies::at(now).0 + self.expire_ticks(direction));
        let class = &mut self.classes[class_of(rq)];
        let side = &mut class.directions[direction];
        side.sorted.insert(rq.lba, id);
        side.fifo.push_back(&mut self.links, id);
        class.unfinished += 1;
        self.queued += 1;
        self.merge.add(rqs, id);
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        if self.queued == 0 {
            return Dispatch::Empty;
        }
        let now = Jiffies::at(now);
        let picked = self.pick_aged(now).or_else(|| {
            for class in 0..3 {
                let picked = self.pick(class, now, now);
                if picked.is_some() || self.classes[class].unfinished > 0 {
                    return picked;
                }
            }
            None
        });
        let Some(id) = picked else { return Dispatch::Empty };
        self.merge.remove(rqs, id);
        let rq = &rqs[id];
        self.remove(rq, id);
        self.side(rq).latest = rq.lba;
        Dispatch::Request(id)
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        self.merge.remove(rqs, id);
        let rq = &rqs[id];
        self.remove(rq, id);
        self.classes[class_of(rq)].unfinished -= 1;
    }

    fn completed(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        self.classes[class_of(&rqs[id])].unfinished -= 1;
    }

    fn depth_limit(&self, rq: &Request, nr_requests: u32) -> u32 {
        match u32::try_from(self.tunables.async_depth).unwrap_or(u32::MAX) {
            limit if limit > 0 && rq.op != Op::Read => limit.min(nr_requests),
            _ => nr_requests,
        }
    }

    fn queued(&self) -> usize {
        self.queued
    }

    plain_tunables!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_queue::Bench;
    use PriorityClass::{BestEffort, Idle, RealTime};

    fn bench() -> Bench<MqDeadline> {
        Bench::new(MqDeadline::default())
    }

    #[test]
    fn goes_up_from_the_last_position_then_to_the_oldest() {
        let mut b = bench();
        for lba in [500, 100, 300, 900] {
            b.read(lba);
        }
        assert_eq!(b.take(3), [100, 300, 500]);
        b.read(400);
        b.read(50);
        b.read(200);
        // Above 500 lies only 900; then nothing, so the oldest (400), and 200 and 50 lie below.
        assert_eq!(b.take(4), [900, 400, 50, 200]);
    }

    #[test]
    fn a_batch_is_fifo_batch_long_and_reads_go_first_until_writes_starved() {
        let mut b = bench();
        b.set("fifo_batch", 2.0);
        for i in 0..12 {
            b.read(1000 + 10 * i);
            b.write(5000 + 10 * i);
        }
        let kinds: String = b.take(12).iter().map(|&lba| if lba < 5000 { 'r' } else { 'w' }).collect();
        // It starts in the direction of writes, as the kernel does; then two batches of reads to one of writes.
        assert_eq!(kinds, "wwrrrrwwrrrr");
    }

    #[test]
    fn an_expired_request_starts_the_next_batch_but_does_not_break_one() {
        let mut b = bench();
        b.set("fifo_batch", 4.0);
        b.read(9_000);
        b.now = Nanos::from_millis(501);
        for i in 0..6 {
            b.read(100 + i);
        }
        assert_eq!(b.take(1), [9_000], "a new batch checks the deadline");
        b.read(20_000);
        b.now = Nanos::from_millis(1_100);
        assert_eq!(b.take(3), [20_000, 100, 101], "the batch goes on past the deadline of 100 as long as it can");
    }

    #[test]
    fn lower_classes_wait_for_higher_ones_in_flight_but_not_for_ever() {
        let mut b = bench();
        b.submit(Op::Read, 1, BestEffort);
        b.submit(Op::Read, 2, RealTime);
        b.submit(Op::Read, 3, Idle);
        let first = b.dispatch().expect("something is queued");
        assert_eq!(b.rqs[first].lba, Lba(2));
        assert_eq!(b.dispatch(), None, "real time is in flight");
        b.now = Nanos::from_millis(10_000);
        assert_eq!(b.take(1), [1], "aged");
        assert_eq!(b.take(1), [3], "aged");
        b.submit(Op::Read, 4, BestEffort);
        assert_eq!(b.dispatch(), None);
        b.complete(first);
        assert_eq!(b.take(1), [4]);
    }

    #[test]
    fn merges_at_both_ends_coalesce_and_keep_the_older_deadline() {
        let mut b = bench();
        b.submit_sectors(Op::Read, 100, 8);
        b.submit_sectors(Op::Read, 300, 8);
        b.now = Nanos::from_millis(100);
        b.submit_sectors(Op::Read, 116, 8);
        assert!(b.submit_sectors(Op::Read, 108, 8), "joins all three");
        assert_eq!(b.scheduler.queued(), 2);
        assert!(b.submit_sectors(Op::Read, 292, 8), "in front");
        b.set("front_merges", 0.0);
        assert!(!b.submit_sectors(Op::Read, 92, 8));
        assert!(b.submit_sectors(Op::Read, 284, 8), "the request that merged last accepts it in any case");
        assert!(!b.submit_sectors(Op::Write, 308, 8), "not across directions");
        assert_eq!(b.take(4), [308, 92, 100, 284]);
    }

    #[test]
    fn writes_and_asynchronous_requests_are_limited_by_async_depth() {
        let mut b = bench();
        let (read, write) = (b.request(Op::Read, 0, 8), b.request(Op::Write, 0, 8));
        assert_eq!(b.scheduler.depth_limit(&write, 64), 64);
        b.set("async_depth", 12.0);
        assert_eq!(b.scheduler.depth_limit(&write, 64), 12);
        assert_eq!(b.scheduler.depth_limit(&read, 64), 64);
    }
}
