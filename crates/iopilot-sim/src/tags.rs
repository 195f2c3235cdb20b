//! Request tags: they limit the number of queued requests. A task that finds none free sleeps.

use iopilot_block::{Request, RequestId};
use std::collections::VecDeque;

/// Wait queues of Linux 6 (`SBQ_WAIT_QUEUES`).
const WAIT_QUEUES: usize = 8;

/// How tags are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagRule {
    /// Linux 2.6: `nr_requests` reads and as many writes (`struct request_list`); sleepers are woken in order.
    PerDirection,
    /// Linux 6.x (`sbitmap_queue`): one bitmap of `nr_requests`. Sleepers are spread over eight wait queues in
    /// turn, and woken from these in turn, in batches of an eighth of the tags. A freed tag goes to the first task that
    /// looks for one. A woken sleeper that finds none goes to the end of a wait queue. Its next wait queue is chosen before
    /// it looks (`blk_mq_get_tag`), so a task that finds a tag uses up a turn. The queues therefore fill unevenly, and a
    /// sleeper in a short one is woken again soon.
    Shared,
}

/// The tags of one queue.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    rule: TagRule,
    nr_requests: u32,
    /// The tags in use by reads and by writes. `Shared` limits their sum.
    used: [u32; 2],
    /// Sleeping submitters. `PerDirection`: the first queue is for reads, the second for writes.
    waiting: [VecDeque<RequestId>; WAIT_QUEUES],
    /// `Shared`: the wait queue for the next sleeper.
    next_wait_queue: usize,
    /// `Shared`: the wait queue from which the next sleeper is woken.
    next_wake_queue: usize,
    /// The number of tasks that sleep or are waking.
    sleepers: usize,
    /// Tags freed since sleepers were last woken.
    frees: u32,
    wake_batch: u32,
}

impl Tags {
    pub(crate) fn new(rule: TagRule, nr_requests: u32) -> Self {
        let wake_batch = match rule {
            TagRule::PerDirection => 1,
            TagRule::Shared => (nr_requests / WAIT_QUEUES as u32).clamp(1, 8),
        };
        Self {
            rule,
            nr_requests,
            used: [0; 2],
            waiting: Default::default(),
            next_wait_queue: 0,
            next_wake_queue: 0,
            sleepers: 0,
            frees: 0,
            wake_batch,
        }
    }

    /// Whether one set of tags serves all requests, as in Linux 6.
    pub(crate) fn are_shared(&self) -> bool {
        self.rule == TagRule::Shared
    }

    /// Changes the number of tags, all of which must be free. All sleepers are woken.
    pub(crate) fn resize(&mut self, nr_requests: u32, woken: &mut Vec<RequestId>) {
        debug_assert_eq!(self.used, [0; 2], "tags change hands when none is in use");
        woken.extend(self.waiting.iter_mut().flat_map(|queue| queue.drain(..)));
        *self = Self { sleepers: self.sleepers, ..Self::new(self.rule, nr_requests) };
    }

    /// Whether no tag is taken.
    pub(crate) fn all_free(&self) -> bool {
        self.used == [0; 2]
    }

    /// Whether this many reads would find tags, and leave one for others.
    pub(crate) fn has_free(&self, reads: u32) -> bool {
        let used = match self.rule {
            TagRule::PerDirection => self.used[0],
            TagRule::Shared => self.used[0] + self.used[1],
        };
        self.sleepers == 0 && used + reads < self.nr_requests
    }

    pub(crate) fn nr_requests(&self) -> u32 {
        self.nr_requests
    }

    /// Takes a tag for `rq` if fewer than `limit` are in use. False if the submitter must sleep.
    pub(crate) fn take(&mut self, rq: &Request, limit: u32) -> bool {
        let direction = usize::from(rq.is_write());
        let used = match self.rule {
            TagRule::PerDirection => self.used[direction],
            TagRule::Shared => self.used[0] + self.used[1],
        };
        // A limit below one would stop the queue forever.
        let free = used < limit.clamp(1, self.nr_requests);
        self.used[direction] += u32::from(free);
        free
    }

    /// Frees the tag of `rq`. Appends the sleepers that this wakes to `woken`.
    pub(crate) fn give(&mut self, rq: &Request, woken: &mut Vec<RequestId>) {
        self.used[usize::from(rq.is_write())] -= 1;
        if self.rule == TagRule::PerDirection {
            return self.pass_on(rq, woken);
        }
        if self.sleepers == 0 {
            self.frees = 0;
            return;
        }
        self.frees += 1;
        // The last tag in use wakes sleepers even within a batch, because no later one would.
        if self.frees >= self.wake_batch || self.used == [0; 2] {
            self.frees = 0;
            self.wake(self.wake_batch as usize, woken);
        }
    }

    /// Frees the tag that was reserved for `rq` while its submitter slept, because it is not needed.
    pub(crate) fn give_back(&mut self, rq: &Request) {
        self.used[usize::from(rq.is_write())] -= 1;
    }

    /// `rq` does not need the tag for which it was woken. Appends the next sleeper to `woken`.
    pub(crate) fn pass_on(&mut self, rq: &Request, woken: &mut Vec<RequestId>) {
        match self.rule {
            TagRule::PerDirection => woken.extend(self.waiting[usize::from(rq.is_write())].pop_front()),
            TagRule::Shared => self.wake(1, woken),
        }
    }

    /// Wakes up to `most` sleepers of `Shared`, from one wait queue and then the next.
    fn wake(&mut self, most: usize, woken: &mut Vec<RequestId>) {
        let before = woken.len();
        for _ in 0..WAIT_QUEUES {
            let queue = &mut self.waiting[self.next_wake_queue];
            self.next_wake_queue = (self.next_wake_queue + 1) % WAIT_QUEUES;
            let left = most - (woken.len() - before);
            woken.extend(queue.drain(..left.min(queue.len())));
            if woken.len() - before == most {
                break;
            }
        }
    }

    /// Puts the submitter of `id` to sleep.
    pub(crate) fn sleep(&mut self, id: RequestId, rq: &Request) {
        self.sleepers += 1;
        let queue = match self.rule {
            TagRule::PerDirection => usize::from(rq.is_write()),
            TagRule::Shared => {
                let queue = self.next_wait_queue;
                self.next_wait_queue = (queue + 1) % WAIT_QUEUES;
                queue
            }
        };
        self.waiting[queue].push_back(id);
    }

    /// A woken submitter has its tag, or needs none.
    pub(crate) fn awake(&mut self) {
        self.sleepers -= 1;
        // Its next wait queue was chosen before it looked for a tag.
        self.next_wait_queue = (self.next_wait_queue + 1) % WAIT_QUEUES;
    }

    /// The submitter of `id` has woken and found no tag: it sleeps again.
    pub(crate) fn asleep_again(&mut self, id: RequestId, rq: &Request) {
        self.sleepers -= 1;
        match self.rule {
            TagRule::PerDirection => {
                self.sleepers += 1;
                self.waiting[usize::from(rq.is_write())].push_front(id);
            }
            TagRule::Shared => self.sleep(id, rq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, ProcessId, Sectors};

    fn request(op: Op) -> Request {
        Request::new(op, Lba(0), Sectors(8), ProcessId(1))
    }

    fn give(tags: &mut Tags, rq: &Request) -> Vec<usize> {
        let mut woken = Vec::new();
        tags.give(rq, &mut woken);
        woken.iter().map(|id| id.index()).collect()
    }

    #[test]
    fn linux_2_6_counts_reads_and_writes_apart() {
        let mut tags = Tags::new(TagRule::PerDirection, 2);
        let (read, write) = (request(Op::Read), request(Op::Write));
        assert!(tags.take(&read, 2) && tags.take(&read, 2) && !tags.take(&read, 2));
        assert!(tags.take(&write, 2));
        tags.sleep(RequestId::from_index(0), &read);
        assert!(give(&mut tags, &write).is_empty(), "a write's tag is of no use to a reader");
        assert_eq!(give(&mut tags, &read), [0]);
    }

    #[test]
    fn in_linux_2_6_a_sleeper_that_finds_no_tag_stays_in_front() {
        let mut tags = Tags::new(TagRule::PerDirection, 1);
        let read = request(Op::Read);
        assert!(tags.take(&read, 1));
        for i in 0..2 {
            tags.sleep(RequestId::from_index(i), &read);
        }
        assert_eq!(give(&mut tags, &read), [0]);
        assert!(tags.take(&read, 1), "another task is faster");
        tags.asleep_again(RequestId::from_index(0), &read);
        assert_eq!(give(&mut tags, &read), [0]);
    }

    #[test]
    fn linux_6_wakes_in_batches_of_an_eighth() {
        let mut tags = Tags::new(TagRule::Shared, 32);
        let read = request(Op::Read);
        while tags.take(&read, 32) {}
        for i in 0..10 {
            tags.sleep(RequestId::from_index(i), &read);
        }
        let woken: Vec<_> = (0..8).map(|_| give(&mut tags, &read)).collect();
        // Queue 0 has 0 and 8, queue 1 has 1 and 9, the others one each.
        assert_eq!(woken[3], [0, 8, 1, 9]);
        assert_eq!(woken[7], [2, 3, 4, 5]);
        assert!([0, 1, 2, 4, 5, 6].iter().all(|&i| woken[i].is_empty()));
    }

    #[test]
    fn in_linux_6_a_sleeper_that_finds_no_tag_goes_to_the_end() {
        let mut tags = Tags::new(TagRule::Shared, 1);
        let read = request(Op::Read);
        assert!(tags.take(&read, 1));
        for i in 0..3 {
            tags.sleep(RequestId::from_index(i), &read);
        }
        assert_eq!(give(&mut tags, &read), [0]);
        assert!(tags.take(&read, 1), "another task is faster");
        tags.asleep_again(RequestId::from_index(0), &read);
        let order: Vec<_> = (0..3)
            .flat_map(|_| {
                let woken = give(&mut tags, &read);
                tags.awake();
                assert!(tags.take(&read, 1));
                woken
            })
            .collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn in_linux_6_a_sleeper_that_gets_a_tag_has_used_up_a_wait_queue_too() {
        let mut tags = Tags::new(TagRule::Shared, 1);
        let read = request(Op::Read);
        assert!(tags.take(&read, 1));
        // One after the other finds no tag, and each time a sleeper gets the one that becomes free.
        for i in 0..12 {
            tags.sleep(RequestId::from_index(i), &read);
            if i >= 8 {
                assert_eq!(give(&mut tags, &read).len(), 1);
                tags.awake();
                assert!(tags.take(&read, 1));
            }
        }
        let lengths: Vec<usize> = tags.waiting.iter().map(VecDeque::len).collect();
        // Four of the first eight have gone, in order; the others came into every other queue.
        assert_eq!(lengths, [1, 0, 1, 0, 2, 1, 2, 1]);
    }

    #[test]
    fn a_change_wakes_all() {
        let mut tags = Tags::new(TagRule::Shared, 4);
        for i in 0..3 {
            tags.sleep(RequestId::from_index(i), &request(Op::Read));
        }
        let mut woken = Vec::new();
        tags.resize(8, &mut woken);
        assert_eq!((woken.len(), tags.sleepers), (3, 3));
    }

    #[test]
    fn a_shallow_limit_leaves_tags_to_others() {
        let mut tags = Tags::new(TagRule::Shared, 8);
        let write = request(Op::Write);
        assert!((0..6).all(|_| tags.take(&write, 6)));
        assert!(!tags.take(&write, 6));
        assert!(tags.take(&request(Op::Read), 8));
    }

    #[test]
    fn the_last_tag_wakes_a_sleeper_even_within_a_batch() {
        let mut tags = Tags::new(TagRule::Shared, 64);
        let write = request(Op::Write);
        assert!(tags.take(&write, 1));
        tags.sleep(RequestId::from_index(0), &write);
        assert_eq!(give(&mut tags, &write), [0]);
    }
}
