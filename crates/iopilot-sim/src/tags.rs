//! Request tags: how many requests may be queued, and who sleeps when there are none left.

use iopilot_block::{Request, RequestId};
use std::collections::VecDeque;

/// How tags are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagRule {
    /// Linux 2.6: `nr_requests` reads and as many writes (`struct request_list`); sleepers go in order.
    PerDirection,
    /// Linux 6.x: one bitmap of `nr_requests`; sleepers are woken in batches of an eighth of it
    /// (`sbitmap_queue`), and a freed tag goes to whoever asks first, sleeper or not.
    Shared,
}

/// The tags of one queue.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    rule: TagRule,
    nr_requests: u32,
    /// Tags taken: reads, writes. `Shared` looks at the sum.
    used: [u32; 2],
    /// Submitters asleep, in order, with their place in it: who waits for a read (or, if shared, a synchronous) tag, and
    /// the others. Apart, as one class may be at its limit when the other is not.
    waiting: [VecDeque<(u64, RequestId)>; 2],
    next_place: u64,
    /// Tags freed since sleepers were last woken.
    frees: u32,
    wake_batch: u32,
}

impl Tags {
    pub(crate) fn new(rule: TagRule, nr_requests: u32) -> Self {
        let wake_batch = match rule {
            TagRule::PerDirection => 1,
            TagRule::Shared => (nr_requests / 8).clamp(1, 8),
        };
        Self { rule, nr_requests, used: [0; 2], waiting: Default::default(), next_place: 0, frees: 0, wake_batch }
    }

    /// The same sleepers before another number of tags, none of which is taken.
    pub(crate) fn resized(self, nr_requests: u32) -> Self {
        debug_assert_eq!(self.used, [0; 2], "tags change hands when none is in use");
        Self { waiting: self.waiting, next_place: self.next_place, ..Self::new(self.rule, nr_requests) }
    }

    /// Whether no tag is taken.
    pub(crate) fn all_free(&self) -> bool {
        self.used == [0; 2]
    }

    pub(crate) fn nr_requests(&self) -> u32 {
        self.nr_requests
    }

    /// Takes a tag for `rq`, of which at most `limit` may be in use; false where it must sleep.
    pub(crate) fn take(&mut self, rq: &Request, limit: u32) -> bool {
        let direction = usize::from(rq.is_write());
        let used = match self.rule {
            TagRule::PerDirection => self.used[direction],
            TagRule::Shared => self.used[0] + self.used[1],
        };
        // A limit below one would stop the queue for good.
        let free = used < limit.clamp(1, self.nr_requests);
        self.used[direction] += u32::from(free);
        free
    }

    /// Gives a tag of `rq` back; says how many sleepers are to be woken now.
    pub(crate) fn give(&mut self, rq: &Request) -> usize {
        let direction = usize::from(rq.is_write());
        self.used[direction] -= 1;
        let asleep = match self.rule {
            TagRule::PerDirection => self.waiting[direction].len(),
            TagRule::Shared => self.asleep(),
        };
        if asleep == 0 {
            self.frees = 0;
            return 0;
        }
        self.frees += 1;
        // The last tag wakes whatever the batch: nobody else would.
        if self.frees >= self.wake_batch || self.used == [0; 2] {
            self.frees = 0;
            return asleep.min(self.wake_batch as usize);
        }
        0
    }

    /// Puts the submitter of `id` to sleep behind those already asleep.
    pub(crate) fn sleep(&mut self, id: RequestId, rq: &Request) {
        let class = self.class(rq);
        self.waiting[class].push_back((self.next_place, id));
        self.next_place += 1;
    }

    /// The sleeper at the front of each class, with the class; who has slept longest first.
    pub(crate) fn sleepers(&self) -> [Option<(usize, RequestId)>; 2] {
        let front = |class: usize| self.waiting[class].front().map(|&(place, id)| (place, class, id));
        let mut fronts = [front(0), front(1)];
        fronts.sort_by_key(|front| front.map_or(u64::MAX, |(place, ..)| place));
        fronts.map(|front| front.map(|(_, class, id)| (class, id)))
    }

    /// The front sleeper of `class` has its tag.
    pub(crate) fn awake(&mut self, class: usize) {
        self.waiting[class].pop_front();
    }

    /// How many are asleep.
    pub(crate) fn asleep(&self) -> usize {
        self.waiting[0].len() + self.waiting[1].len()
    }

    fn class(&self, rq: &Request) -> usize {
        usize::from(match self.rule {
            TagRule::PerDirection => rq.is_write(),
            TagRule::Shared => !rq.is_sync(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, ProcessId, Sectors};

    fn request(op: Op) -> Request {
        Request::new(op, Lba(0), Sectors(8), ProcessId(1))
    }

    #[test]
    fn linux_2_6_counts_reads_and_writes_apart() {
        let mut tags = Tags::new(TagRule::PerDirection, 2);
        let (read, write) = (request(Op::Read), request(Op::Write));
        assert!(tags.take(&read, 2) && tags.take(&read, 2) && !tags.take(&read, 2));
        assert!(tags.take(&write, 2));
        tags.sleep(RequestId::from_index(0), &read);
        assert_eq!(tags.give(&write), 0, "a write's tag is of no use to a reader");
        assert_eq!(tags.give(&read), 1);
    }

    #[test]
    fn linux_6_wakes_in_batches_of_an_eighth() {
        let mut tags = Tags::new(TagRule::Shared, 32);
        let read = request(Op::Read);
        while tags.take(&read, 32) {}
        for i in 0..10 {
            tags.sleep(RequestId::from_index(i), &read);
        }
        let woken: Vec<_> = (0..8).map(|_| tags.give(&read)).collect();
        assert_eq!(woken, [0, 0, 0, 4, 0, 0, 0, 4]);
    }

    #[test]
    fn who_has_slept_longest_looks_first() {
        let mut tags = Tags::new(TagRule::Shared, 1);
        let (a, b) = (RequestId::from_index(0), RequestId::from_index(1));
        tags.sleep(a, &request(Op::Write));
        tags.sleep(b, &request(Op::Read));
        assert_eq!(tags.sleepers(), [Some((1, a)), Some((0, b))]);
        tags.awake(1);
        assert_eq!(tags.sleepers(), [Some((0, b)), None]);
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
    fn the_last_tag_wakes_someone_even_within_a_batch() {
        let mut tags = Tags::new(TagRule::Shared, 64);
        let write = request(Op::Write);
        assert!(tags.take(&write, 1));
        tags.sleep(RequestId::from_index(0), &write);
        assert_eq!(tags.give(&write), 1);
    }
}
