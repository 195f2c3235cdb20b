//! [`Agenda`]: what happens when, within a drive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A request's command is processed.
    Command(u32),
    /// A request's data are in the drive.
    Received(u32),
    /// A lane has read into its page register.
    Read(u32),
    /// A die has programmed or erased, or read what it moves.
    Array(u32),
    /// A channel is through with a transfer.
    Channel(u32),
    /// The controller can place the next row.
    Place,
    /// A request is complete.
    Complete(u32),
}

/// A heap by time, then by order of insertion.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    inserted: u64,
}

impl Agenda {
    pub(super) fn push(&mut self, at: u64, event: Event) {
        self.heap.push(Reverse((at, self.inserted, event)));
        self.inserted += 1;
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
