//! [`CfqServiceTree`]: the queues with requests, in their order of service.

use super::queue::{CfqQueue, CfqQueueId, ServicePosition};
use iopilot_block::PriorityClass;

/// The busy queues. A sorted array is enough: there are only as many queues as processes that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct CfqServiceTree {
    entries: Vec<(ServicePosition, CfqQueueId)>,
    arrivals: u64,
    /// How many queues have requests.
    pub(super) busy: u32,
}

impl CfqServiceTree {
    /// The next queue to serve.
    pub(super) fn first(&self) -> Option<CfqQueueId> {
        self.entries.first().map(|&(_, queue)| queue)
    }

    /// Inserts or moves `queue` to the time of service `key`, in nanoseconds.
    pub(super) fn place(&mut self, queue: &mut CfqQueue, id: CfqQueueId, key: i64) {
        if queue.place.is_some_and(|(_, old, _)| old == key) {
            return;
        }
        self.remove(queue, id);
        let class = match queue.class() {
            PriorityClass::RealTime => 0,
            PriorityClass::None | PriorityClass::BestEffort => 1,
            PriorityClass::Idle => 2,
        };
        self.arrivals += 1;
        let place = (class, key, self.arrivals);
        let at = self.entries.partition_point(|&(p, _)| p < place);
        self.entries.insert(at, (place, id));
        queue.place = Some(place);
    }

    /// Removes `queue` if it is in the tree.
    pub(super) fn remove(&mut self, queue: &mut CfqQueue, id: CfqQueueId) {
        if let Some(place) = queue.place.take() {
            let at = self.entries.partition_point(|&(p, _)| p < place);
            debug_assert_eq!(self.entries[at].1, id);
            self.entries.remove(at);
        }
    }
}
