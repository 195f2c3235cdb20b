//! Which line a request waits in, and when it moves to another.

use super::request::{IoRequest, Place};
use super::{IoQueue, TimeoutScheme};
use iopilot_block::{Nanos, RequestId};

/// The lines in the order in which they are served.
pub(super) const SERVED: [(Place, usize); 3] = [(Place::Priority, 0), (Place::Timeout, 1), (Place::Base, 2)];

impl IoQueue {
    /// Where a request belongs when it comes.
    pub(super) fn place_for(&self, request: &IoRequest) -> Place {
        if self.config.priorities && request.is_urgent() { Place::Priority } else { Place::Base }
    }

    /// Puts `id` into the line of `place`.
    pub(super) fn put(&mut self, id: RequestId, place: Place) {
        self.entries[id.index()].place = place;
        if let Some((_, index)) = SERVED.iter().find(|(at, _)| *at == place) {
            self.lines[*index].insert(&mut self.links, &mut self.entries, id);
        }
    }

    /// Takes `id` out of its line.
    pub(super) fn take_out(&mut self, id: RequestId) {
        let place = self.entries[id.index()].place;
        if let Some((_, index)) = SERVED.iter().find(|(at, _)| *at == place) {
            self.lines[*index].remove(&mut self.links, &mut self.entries, id);
        }
    }

    /// Moves what has waited too long. O(what is moved).
    pub(super) fn time_out(&mut self, now: Nanos) {
        let (half, full) = match self.config.timeout_scheme {
            TimeoutScheme::Off => return,
            TimeoutScheme::Full if self.config.priorities => (None, Some(Place::Priority)),
            TimeoutScheme::Full => (None, Some(Place::Timeout)),
            TimeoutScheme::HalfAndFull => (Some(Place::Timeout), Some(Place::Priority)),
        };
        let timeout = self.config.timeout;
        let moves = [(full, timeout, 1), (full, timeout, 2), (half, Nanos(timeout.0 / 2), 2)];
        for (place, age, from) in moves {
            let Some(place) = place else { continue };
            if SERVED[from].0 == place {
                continue;
            }
            while let Some(id) = self.lines[from].by_age.front() {
                if now.since(self.entries[id.index()].arrived) <= age {
                    break;
                }
                self.take_out(id);
                self.put(id, place);
            }
        }
    }
}
