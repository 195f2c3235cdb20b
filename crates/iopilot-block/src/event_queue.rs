//! [`EventQueue`]: future events in an order that is the same in every run.

use crate::Nanos;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// An event of an [`EventQueue`], and when it happens.
///
/// Ordered by time, then by insertion number. The event itself plays no part in it.
#[derive(Clone, Copy, Debug)]
pub struct Scheduled<T> {
    /// When it happens.
    pub at: Nanos,
    /// How many events had been inserted before it.
    pub number: u64,
    /// What happens.
    pub event: T,
}

/// Events to come, ordered by (time, insertion number).
///
/// Events of one time are served first in, first out, so that a simulation is deterministic. The queue is a binary
/// heap: inserting and removing are O(log n), peeking is O(1). An event that is not before the latest one is appended
/// to a list instead, which is O(1) and common, as most delays are constant. The queue allocates only while it grows
/// beyond its longest length so far.
///
/// An event cannot be cancelled. To replace events, keep the number that [`EventQueue::push`] returns, and skip events
/// with another number.
///
/// # Examples
/// ```
/// use iopilot_block::{EventQueue, Nanos};
///
/// let mut queue = EventQueue::new();
/// queue.push(Nanos(20), "flush");
/// queue.push(Nanos(10), "first");
/// queue.push(Nanos(10), "second");
/// assert_eq!(queue.next_time(), Some(Nanos(10)));
/// let due: Vec<_> = std::iter::from_fn(|| queue.pop_due(Nanos(15))).map(|s| s.event).collect();
/// assert_eq!(due, ["first", "second"]);
/// ```
#[derive(Clone, Debug)]
pub struct EventQueue<T> {
    heap: BinaryHeap<Reverse<Scheduled<T>>>,
    /// In order.
    list: VecDeque<Scheduled<T>>,
    inserted: u64,
}

impl<T> EventQueue<T> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { heap: BinaryHeap::new(), list: VecDeque::new(), inserted: 0 }
    }

    /// An empty queue that can hold `events` events before it allocates.
    pub fn with_capacity(events: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(events), list: VecDeque::with_capacity(events), inserted: 0 }
    }

    /// Adds `event`, behind all others of the same time. Returns its insertion number. O(log n), O(1) on average.
    pub fn push(&mut self, at: Nanos, event: T) -> u64 {
        let number = self.inserted;
        self.inserted += 1;
        let scheduled = Scheduled { at, number, event };
        match self.list.back() {
            Some(latest) if at < latest.at => self.heap.push(Reverse(scheduled)),
            _ => self.list.push_back(scheduled),
        }
        number
    }

    /// When the next event happens. O(1).
    pub fn next_time(&self) -> Option<Nanos> {
        self.peek().map(|next| next.at)
    }

    /// The next event. O(1).
    pub fn peek(&self) -> Option<&Scheduled<T>> {
        match (self.list.front(), self.heap.peek()) {
            (Some(listed), Some(Reverse(other))) => Some(listed.min(other)),
            (listed, other) => listed.or(other.map(|Reverse(other)| other)),
        }
    }

    /// Removes the next event and returns it. O(log n).
    pub fn pop(&mut self) -> Option<Scheduled<T>> {
        match (self.list.front(), self.heap.peek()) {
            (Some(listed), Some(Reverse(other))) if other < listed => self.heap.pop().map(|Reverse(next)| next),
            (Some(_), _) => self.list.pop_front(),
            (None, _) => self.heap.pop().map(|Reverse(next)| next),
        }
    }

    /// Removes the next event and returns it, if it happens at or before `now`. O(log n).
    pub fn pop_due(&mut self, now: Nanos) -> Option<Scheduled<T>> {
        if self.next_time()? > now { None } else { self.pop() }
    }

    /// How many events there are. O(1).
    pub fn len(&self) -> usize {
        self.heap.len() + self.list.len()
    }

    /// Whether there is no event. O(1).
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty() && self.list.is_empty()
    }

    /// Drops all events; insertion numbers go on from where they were. O(n).
    pub fn clear(&mut self) {
        self.heap.clear();
        self.list.clear();
    }
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PartialEq for Scheduled<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Scheduled<T> {}

impl<T> PartialOrd for Scheduled<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Scheduled<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_of_one_time_keep_their_order() {
        let mut queue = EventQueue::with_capacity(4);
        for (at, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            queue.push(Nanos(at), event);
        }
        assert_eq!(queue.peek().map(|next| (next.at, next.event)), Some((Nanos(3), 'a')));
        let due: String = std::iter::from_fn(|| queue.pop_due(Nanos(4))).map(|next| next.event).collect();
        let rest: String = std::iter::from_fn(|| queue.pop()).map(|next| next.event).collect();
        assert_eq!((due.as_str(), rest.as_str()), ("ab", "cd"));
    }

    #[test]
    fn insertion_numbers_are_never_used_twice() {
        let mut queue = EventQueue::new();
        assert_eq!((queue.push(Nanos(7), ()), queue.push(Nanos(2), ())), (0, 1));
        assert_eq!(queue.pop().map(|next| next.number), Some(1));
        queue.clear();
        assert!(queue.is_empty());
        assert_eq!((queue.push(Nanos(1), ()), queue.len(), queue.next_time()), (2, 1, Some(Nanos(1))));
    }

    #[test]
    fn a_clone_goes_its_own_way() {
        let mut queue = EventQueue::new();
        queue.push(Nanos(1), 'a');
        queue.push(Nanos(1), 'b');
        let mut copy = queue.clone();
        assert_eq!(copy.pop().map(|next| next.event), Some('a'));
        assert_eq!((copy.len(), queue.len()), (1, 2));
    }

    proptest! {
        #[test]
        fn agrees_with_a_stable_sort(ops in prop::collection::vec(prop::option::of(0u64..20), 1..200)) {
            let mut queue = EventQueue::new();
            let mut model: Vec<(u64, usize)> = Vec::new();
            for (i, op) in ops.into_iter().enumerate() {
                match op {
                    Some(at) => {
                        queue.push(Nanos(at), i);
                        let place = model.partition_point(|&(t, _)| t <= at);
                        model.insert(place, (at, i));
                    }
                    None => {
                        let expected = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(queue.pop().map(|next| (next.at.0, next.event)), expected);
                    }
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
