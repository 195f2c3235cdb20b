//! [`ReorderBuffer`]: puts numbered items in order.

use std::collections::VecDeque;

/// A number this far ahead of the awaited one is invalid.
const FURTHEST: u64 = 1 << 22;

/// The state of a number.
#[derive(Debug)]
enum Place<T> {
    /// Nothing yet.
    Awaited,
    /// No item has this number.
    Void,
    Here(T),
}

/// Holds items until those with lower numbers have come. Numbers count from 0, and each comes once.
#[derive(Debug)]
pub(super) struct ReorderBuffer<T> {
    /// The number of the front item.
    first: u64,
    waiting: VecDeque<Place<T>>,
    skipped: u64,
}

impl<T> Default for ReorderBuffer<T> {
    fn default() -> Self {
        Self { first: 0, waiting: VecDeque::new(), skipped: 0 }
    }
}

impl<T> ReorderBuffer<T> {
    /// Takes the item with this number; `None` says that no item has it. Returns false if the number is late, repeated
    /// or invalid.
    pub(super) fn put(&mut self, number: u64, what: Option<T>) -> bool {
        let Some(at) = number.checked_sub(self.first).filter(|&at| at < FURTHEST) else { return false };
        let at = at as usize;
        if at >= self.waiting.len() {
            self.waiting.resize_with(at + 1, || Place::Awaited);
        }
        let free = matches!(self.waiting[at], Place::Awaited);
        if free {
            self.waiting[at] = what.map_or(Place::Void, Place::Here);
        }
        free
    }

    /// The next item in order, if it has come.
    pub(super) fn next(&mut self) -> Option<T> {
        while !matches!(self.waiting.front()?, Place::Awaited) {
            self.first += 1;
            if let Some(Place::Here(what)) = self.waiting.pop_front() {
                return Some(what);
            }
        }
        None
    }

    /// How many numbers there are from the awaited one to the last that came.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Gives up the numbers before the next item that has come, if `enough` holds for that item. Returns whether it
    /// gave up any.
    pub(super) fn skip_where(&mut self, enough: impl Fn(&T) -> bool) -> bool {
        let here = self.waiting.iter().position(|place| match place {
            Place::Here(_) => true,
            Place::Awaited | Place::Void => false,
        });
        let Some(here) = here.filter(|&at| at > 0) else { return false };
        if !matches!(&self.waiting[here], Place::Here(what) if enough(what)) {
            return false;
        }
        let skipped = self.waiting.drain(..here).filter(|place| matches!(place, Place::Awaited)).count();
        self.skipped += skipped as u64;
        self.first += here as u64;
        true
    }

    /// Gives up all numbers below `number`. Items that have come must have been taken before.
    pub(super) fn begin_at(&mut self, number: u64) {
        let below = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let gone = self.waiting.drain(..below.min(self.waiting.len()));
        let void = gone.filter(|place| !matches!(place, Place::Awaited)).count();
        self.skipped += (below - void) as u64;
        self.first += below as u64;
    }

    /// How many numbers were given up.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(sequence: &mut ReorderBuffer<u64>) -> Vec<u64> {
        std::iter::from_fn(|| sequence.next()).collect()
    }

    #[test]
    fn items_that_come_in_any_order_leave_in_order() {
        let mut s = ReorderBuffer::default();
        assert!(s.put(2, Some(20)) && s.put(1, None));
        assert!(all(&mut s).is_empty());
        assert!(s.put(0, Some(0)));
        assert_eq!(all(&mut s), [0, 20]);
        assert!(!s.put(1, Some(10)), "too late");
        assert!(s.put(3, Some(30)) && !s.put(3, Some(31)), "each comes once");
        assert_eq!(all(&mut s), [30]);
    }

    #[test]
    fn one_that_never_comes_does_not_hold_up_the_others_for_ever() {
        let mut s = ReorderBuffer::default();
        s.put(3, Some(30));
        s.put(2, None);
        s.put(6, Some(60));
        assert_eq!(s.waiting(), 7);
        assert!(!s.skip_where(|&n| n < 30), "not long enough");
        assert!(s.skip_where(|&n| n < 60));
        assert_eq!((all(&mut s), s.skipped()), (vec![30], 2));
        assert!(!s.skip_where(|&n| n < 60));
        assert!(s.put(4, Some(40)));
        assert_eq!(all(&mut s), [40]);
        assert!(s.skip_where(|_| true));
        assert_eq!((all(&mut s), s.skipped()), (vec![60], 3));
    }

    #[test]
    fn numbers_that_are_given_up_hold_nothing_up() {
        let mut s = ReorderBuffer::default();
        s.put(1, Some(10));
        s.put(2, None);
        s.begin_at(5);
        assert_eq!((all(&mut s), s.skipped()), (vec![], 3), "10 was not taken");
        assert!(!s.put(4, Some(40)) && s.put(5, Some(50)));
        s.begin_at(3);
        assert_eq!((all(&mut s), s.skipped()), (vec![50], 3));
    }

    #[test]
    fn an_invalid_number_takes_no_memory() {
        let mut s = ReorderBuffer::default();
        assert!(!s.put(u64::MAX, Some(0)) && !s.put(FURTHEST, Some(0)));
        assert_eq!(s.waiting.len(), 0);
    }

    proptest! {
        #[test]
        fn all_come_once_and_in_order(order in Just((0u64..300).collect::<Vec<_>>()).prop_shuffle()) {
            let (mut s, mut out) = (ReorderBuffer::default(), Vec::new());
            for number in order {
                prop_assert!(s.put(number, (number % 7 != 0).then_some(number)));
                out.extend(all(&mut s));
            }
            prop_assert_eq!(out, (0..300).filter(|n| n % 7 != 0).collect::<Vec<_>>());
            prop_assert_eq!(s.waiting.len(), 0);
        }
    }
}
