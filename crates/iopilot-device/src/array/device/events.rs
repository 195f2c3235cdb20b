//! [`Events`]: what the controller does later.

use iopilot_block::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something the controller does at a certain time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The command of an operation has been processed, and what it writes has arrived.
    Start(u32),
    /// What an operation reads has been sent: it is complete.
    Finish(u32),
    /// A member fails.
    Fail(u32),
    /// The host has been idle for long, if nothing came since.
    Idle(u64),
    /// The rebuild goes on.
    Rebuild,
}

/// In order of time, then of insertion.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    inserted: u64,
}

impl Events {
    pub(super) fn add(&mut self, at: Nanos, event: Event) {
        self.heap.push(Reverse((at, self.inserted, event)));
        self.inserted += 1;
    }

    /// When the next is; [`Nanos::MAX`] for none.
    pub(super) fn earliest(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at)
    }

    pub(super) fn next(&mut self) -> Option<(Nanos, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
