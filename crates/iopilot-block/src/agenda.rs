//! [`Agenda`]: a priority queue of the next event of each task.

use crate::{EventQueue, Nanos};

/// At most one event for each task. Events of equal times are served in the order in which they were set.
///
/// Replaced events stay in the queue until they come to its front. The front is always valid. So peeking is O(1), and
/// setting an event is O(log n).
#[derive(Clone, Debug)]
pub struct Agenda {
    queue: EventQueue<usize>,
    /// The insertion number of the valid event of each task, if it has one.
    valid: Vec<Option<u64>>,
}

impl Agenda {
    /// No events, for `tasks` tasks.
    pub fn new(tasks: usize) -> Self {
        Self { queue: EventQueue::with_capacity(4 * tasks), valid: vec![None; tasks] }
    }

    /// Replaces the event of `task`, which may be a new task.
    pub fn set(&mut self, task: usize, at: Option<Nanos>) {
        if task >= self.valid.len() {
            self.valid.resize(task + 1, None);
        }
        self.valid[task] = at.map(|at| self.queue.push(at, task));
        self.settle();
    }

    /// The time of the earliest event.
    pub fn next(&self) -> Option<Nanos> {
        self.queue.next_time()
    }

    /// Removes the event of the next task that is due at or before `now`, and returns the task.
    pub fn take(&mut self, now: Nanos) -> Option<usize> {
        let task = self.queue.pop_due(now)?.event;
        self.set(task, None);
        Some(task)
    }

    fn settle(&mut self) {
        while self.queue.peek().is_some_and(|next| self.valid[next.event] != Some(next.number)) {
            self.queue.pop();
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
