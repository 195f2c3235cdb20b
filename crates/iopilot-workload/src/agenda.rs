//! [`Agenda`]: which task does something next.

use iopilot_block::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One appointment at most for each of a fixed number of tasks. Equal times are served in the order they were made.
///
/// Replaced appointments stay in the heap until they come to its top, and the top is always a valid one, so that
/// looking is O(1) and making one O(log n).
#[derive(Clone, Debug)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    /// The number of the valid appointment of each task; 0 where it has none.
    valid: Vec<u64>,
    made: u64,
}

impl Agenda {
    /// No appointments, for so many tasks.
    pub fn new(tasks: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(4 * tasks), valid: vec![0; tasks], made: 0 }
    }

    /// Replaces the appointment of `task`.
    pub fn set(&mut self, task: usize, at: Option<Nanos>) {
        self.valid[task] = 0;
        if let Some(at) = at {
            self.made += 1;
            self.valid[task] = self.made;
            self.heap.push(Reverse((at, self.made, task)));
        }
        self.settle();
    }

    /// When the next task does something.
    pub fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes out the next task that is due at or before `now`.
    pub fn take(&mut self, now: Nanos) -> Option<usize> {
        let &Reverse((at, _, task)) = self.heap.peek()?;
        if at > now {
            return None;
        }
        self.set(task, None);
        Some(task)
    }

    fn settle(&mut self) {
        while let Some(&Reverse((_, number, task))) = self.heap.peek() {
            if self.valid[task] == number {
                break;
            }
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serves_by_time_then_by_order_and_forgets_what_was_replaced() {
        let mut agenda = Agenda::new(3);
        agenda.set(0, Some(Nanos(9)));
        agenda.set(1, Some(Nanos(5)));
        agenda.set(2, Some(Nanos(5)));
        agenda.set(0, Some(Nanos(5)));
        assert_eq!(agenda.take(Nanos(4)), None);
        agenda.set(2, None);
        assert_eq!((agenda.take(Nanos(5)), agenda.take(Nanos(5)), agenda.next()), (Some(1), Some(0), None));
    }
}
