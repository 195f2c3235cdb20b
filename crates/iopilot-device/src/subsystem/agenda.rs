//! [`Agenda`]: what happens when, ordered by time and then by order of insertion.

use iopilot_block::Nanos;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Events to come. Of those at one time, the first inserted comes first.
#[derive(Clone, Debug)]
pub(super) struct Agenda<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    insertions: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: Nanos,
    number: u64,
    event: E,
}

impl<E> Agenda<E> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), insertions: 0 }
    }

    /// O(log n).
    pub(super) fn insert(&mut self, at: Nanos, event: E) {
        self.insertions += 1;
        self.heap.push(Reverse(Entry { at, number: self.insertions, event }));
    }

    /// O(1).
    pub(super) fn next(&self) -> Option<(Nanos, &E)> {
        self.heap.peek().map(|Reverse(entry)| (entry.at, &entry.event))
    }

    /// The next event where it is due by `now`. O(log n).
    pub(super) fn pop(&mut self, now: Nanos) -> Option<(Nanos, E)> {
        match self.heap.peek() {
            Some(Reverse(entry)) if entry.at <= now => self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event)),
            _ => None,
        }
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_their_order() {
        let mut agenda = Agenda::new();
        for (at, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            agenda.insert(Nanos(at), event);
        }
        assert_eq!(agenda.next(), Some((Nanos(3), &'a')));
        let order: String = std::iter::from_fn(|| agenda.pop(Nanos(4)).map(|(_, e)| e)).collect();
        assert_eq!(order, "ab");
        let rest: String = std::iter::from_fn(|| agenda.pop(Nanos(9)).map(|(_, e)| e)).collect();
        assert_eq!(rest, "cd");
    }
}
