//! [`BfqServiceTree`]: the queues of one priority class.

use super::queue::QueueId;
use super::tree::ActiveTree;

/// The queues of one priority class.
#[derive(Clone, Debug, Default)]
pub(super) struct BfqServiceTree {
    /// Backlogged queues that are not in service.
    pub(super) active: ActiveTree,
    /// Queues that are not backlogged but ahead of virtual time, by finish time. Their past service still counts.
    idle: Vec<(u64, QueueId)>,
    pub(super) vtime: u64,
    pub(super) weights: u64,
}

impl BfqServiceTree {
    /// Adds an idle queue. Of equal finish times, the older comes first.
    pub(super) fn insert_idle(&mut self, finish: u64, q: QueueId) {
        let at = self.idle.partition_point(|&(f, _)| f <= finish);
        self.idle.insert(at, (finish, q));
    }

    /// Removes an idle queue, which must be in the tree with this finish time.
    pub(super) fn remove_idle(&mut self, finish: u64, q: QueueId) {
        let from = self.idle.partition_point(|&(f, _)| f < finish);
        let at = self.idle[from..].iter().position(|&(_, x)| x == q).expect("the queue is marked as idle");
        self.idle.remove(from + at);
    }

    /// The idle queue with the earliest finish time.
    pub(super) fn first_idle(&self) -> Option<(u64, QueueId)> {
        self.idle.first().copied()
    }

    /// The idle queue with the latest finish time.
    pub(super) fn last_idle(&self) -> Option<(u64, QueueId)> {
        self.idle.last().copied()
    }
}
