//! The sub-queue in which a request waits, and its moves to another.

use super::request::{IoRequest, RequestLocation};
use super::{IoQueue, TimeoutScheme};
use iopilot_block::{Nanos, RequestId};

/// The sub-queues in the order in which they are served.
pub(super) const SERVED: [(RequestLocation, usize); 3] =
    [(RequestLocation::Priority, 0), (RequestLocation::Timeout, 1), (RequestLocation::Base, 2)];

impl IoQueue {
    /// The sub-queue of a request that arrives.
    pub(super) fn location_for(&self, request: &IoRequest) -> RequestLocation {
        if self.config.priorities && request.is_urgent() { RequestLocation::Priority } else { RequestLocation::Base }
    }

    /// Inserts `id` into the sub-queue of `location`.
    pub(super) fn put(&mut self, id: RequestId, location: RequestLocation) {
        self.entries[id.index()].location = location;
        if let Some((_, index)) = SERVED.iter().find(|(at, _)| *at == location) {
            self.sub_queues[*index].insert(&mut self.links, &mut self.entries, id);
        }
    }

    /// Removes `id` from its sub-queue.
    pub(super) fn take_out(&mut self, id: RequestId) {
        let location = self.entries[id.index()].location;
        if let Some((_, index)) = SERVED.iter().find(|(at, _)| *at == location) {
            self.sub_queues[*index].remove(&mut self.links, &mut self.entries, id);
        }
    }

    /// Moves the requests that have waited too long. O(requests moved).
    pub(super) fn time_out(&mut self, now: Nanos) {
        let (half, full) = match self.config.timeout_scheme {
            TimeoutScheme::Off => return,
            TimeoutScheme::Full if self.config.priorities => (None, Some(RequestLocation::Priority)),
            TimeoutScheme::Full => (None, Some(RequestLocation::Timeout)),
            TimeoutScheme::HalfAndFull => (Some(RequestLocation::Timeout), Some(RequestLocation::Priority)),
        };
        let timeout = self.config.timeout;
        let moves = [(full, timeout, 1), (full, timeout, 2), (half, Nanos(timeout.0 / 2), 2)];
        for (location, age, from) in moves {
            let Some(location) = location else { continue };
            if SERVED[from].0 == location {
                continue;
            }
            while let Some(id) = self.sub_queues[from].by_age.front() {
                if now.since(self.entries[id.index()].arrived) <= age {
                    break;
                }
                self.take_out(id);
                self.put(id, location);
            }
        }
    }
}
