//! [`PrefetchQueue`]: prefetches that wait in the cache, because the queue below is full.
//!
//! No process may have to sleep because of a prefetch. So a prefetch is sent only while fewer requests are in flight than the
//! queue below takes without letting anyone sleep (`nr_requests`). Any other prefetch waits here. It leaves in one of three
//! ways:
//!
//! - It has its turn: a request has ended, and the queue below has room. The newest comes first, because its reader is near.
//! - A process reads its blocks. Then it is sent at once, for that process.
//! - It is given up: it has waited too long, too many others wait, or its blocks were written or are no longer cached.

use iopilot_block::Nanos;
use std::collections::VecDeque;

/// The longest wait. A disk serves tens of reads in this time, and none was for the prefetch's segment.
const LONGEST: Nanos = Nanos::from_secs(1);
/// The most prefetches that wait. They are searched one by one.
const MOST: u32 = 256;

/// A prefetch that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingPrefetch {
    /// Its part.
    pub(crate) part: u32,
    /// The miss that it belongs to.
    pub(crate) fetch: u32,
    /// When it began to wait.
    pub(crate) since: Nanos,
}

/// The prefetches that wait, the oldest first, and the limit of the queue below.
#[derive(Clone, Debug)]
pub(crate) struct PrefetchQueue {
    waiting: VecDeque<WaitingPrefetch>,
    /// The most that wait: half of the segments, since the segment of each is busy.
    most: usize,
    /// The requests that the queue below takes without letting anyone sleep.
    limit: usize,
}

impl PrefetchQueue {
    /// For a cache of so many segments, above a queue without a limit.
    pub(crate) const fn new(segments: u32) -> Self {
        Self { waiting: VecDeque::new(), most: most(segments), limit: usize::MAX }
    }

    /// The number of segments has changed.
    pub(crate) const fn set_segments(&mut self, segments: u32) {
        self.most = most(segments);
    }

    /// The queue below takes `limit` requests without letting anyone sleep.
    pub(crate) const fn set_limit(&mut self, limit: u32) {
        // With nothing in flight, there is always room.
        self.limit = if limit > 0 { limit as usize } else { 1 };
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the queue below has room for a prefetch, with so many requests in flight.
    pub(crate) const fn has_room(&self, in_flight: usize) -> bool {
        in_flight < self.limit
    }

    /// Lets a prefetch wait. Times do not go back.
    pub(crate) fn push(&mut self, prefetch: WaitingPrefetch) {
        self.waiting.push_back(prefetch);
    }

    /// Takes a prefetch that is no longer worth its turn: the oldest, if too many wait, or if it has waited too long.
    pub(crate) fn take_surplus(&mut self, now: Nanos) -> Option<WaitingPrefetch> {
        let oldest = self.waiting.front()?;
        let surplus = self.waiting.len() > self.most || now.since(oldest.since) > LONGEST;
        if surplus { self.waiting.pop_front() } else { None }
    }

    /// Takes the prefetch whose turn it is, if the queue below has room: the first one of the newest miss.
    pub(crate) fn take_next(&mut self, in_flight: usize) -> Option<WaitingPrefetch> {
        let newest = self.waiting.back().filter(|_| self.has_room(in_flight))?.fetch;
        let earlier = self.waiting.iter().rev().take_while(|prefetch| prefetch.fetch == newest).count();
        self.waiting.remove(self.waiting.len() - earlier)
    }

    /// Takes the oldest prefetch whose part `chosen` accepts. O(waiting).
    pub(crate) fn take_if(&mut self, chosen: impl Fn(u32) -> bool) -> Option<WaitingPrefetch> {
        let at = self.waiting.iter().position(|prefetch| chosen(prefetch.part))?;
        self.waiting.remove(at)
    }
}

const fn most(segments: u32) -> usize {
    let half = segments / 2;
    (if half < MOST { half } else { MOST }) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(segments: u32, limit: u32, waiting: &[(u32, u32, u64)]) -> PrefetchQueue {
        let mut queue = PrefetchQueue::new(segments);
        queue.set_limit(limit);
        for &(part, fetch, ms) in waiting {
            queue.push(WaitingPrefetch { part, fetch, since: Nanos::from_millis(ms) });
        }
        queue
    }

    fn part(taken: Option<WaitingPrefetch>) -> Option<u32> {
        taken.map(|prefetch| prefetch.part)
    }

    #[test]
    fn the_newest_miss_comes_first_and_its_parts_in_order() {
        let mut queue = queue(64, 4, &[(1, 10, 0), (2, 20, 1), (3, 20, 1)]);
        assert_eq!(part(queue.take_next(4)), None, "the queue below is full");
        let order: Vec<_> = std::iter::from_fn(|| part(queue.take_next(3))).collect();
        assert_eq!(order, [2, 3, 1]);
    }

    #[test]
    fn the_oldest_is_given_up_beyond_half_of_the_segments() {
        let mut queue = queue(4, 1, &[(1, 1, 0), (2, 2, 0), (3, 3, 0)]);
        assert_eq!([(); 2].map(|()| part(queue.take_surplus(Nanos::from_millis(1)))), [Some(1), None]);
        queue.set_segments(1);
        assert_eq!([(); 2].map(|()| part(queue.take_surplus(Nanos::from_millis(1)))), [Some(2), Some(3)]);
        assert_eq!(queue.len(), 0, "a cache of one segment lets none wait");
    }

    #[test]
    fn what_has_waited_too_long_is_given_up() {
        let mut queue = queue(64, 1, &[(1, 1, 0), (2, 2, 600)]);
        assert_eq!(part(queue.take_surplus(Nanos::from_millis(1000))), None);
        assert_eq!(part(queue.take_surplus(Nanos::from_millis(1001))), Some(1));
        assert_eq!(part(queue.take_surplus(Nanos::from_millis(1001))), None);
    }

    #[test]
    fn a_chosen_one_leaves_the_others_in_order() {
        let mut queue = queue(64, 4, &[(1, 1, 0), (2, 2, 0), (3, 3, 0)]);
        assert_eq!(part(queue.take_if(|part| part == 2)), Some(2));
        assert_eq!(part(queue.take_if(|part| part == 2)), None);
        assert_eq!([(); 2].map(|()| part(queue.take_next(0))), [Some(3), Some(1)]);
    }
}
