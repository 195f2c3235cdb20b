//! The choice of the next request of a queue.

use super::{Cfq, CfqQueueId};
use crate::back_seek::BackSeek;
use iopilot_block::{Flags, Nanos, RequestId, Requests};

impl Cfq {
    /// The better of two requests: synchronous first, then metadata, then by position.
    pub(super) fn better(&self, rqs: &Requests, a: Option<RequestId>, b: Option<RequestId>) -> Option<RequestId> {
        let (Some(x), Some(y)) = (a, b) else { return a.or(b) };
        let rank = |id: RequestId| (rqs[id].is_sync(), rqs[id].flags.contains(Flags::META));
        if rank(x) != rank(y) {
            return Some(if rank(x) > rank(y) { x } else { y });
        }
        // 1 KiB is 2 sectors.
        let rule = BackSeek { max: self.tunables.back_seek_max * 2, penalty: self.tunables.back_seek_penalty };
        Some(if rule.prefers(self.position, rqs[x].lba, rqs[y].lba) { x } else { y })
    }

    /// The request of `queue` after `id` in the order of the elevator.
    pub(super) fn after(&self, rqs: &Requests, queue: CfqQueueId, id: RequestId) -> Option<RequestId> {
        let (lba, sorted) = (rqs[id].lba, &self.queues[queue.0 as usize].sorted);
        let next = sorted.next(lba, id).or_else(|| sorted.first().filter(|&first| first != id));
        self.better(rqs, next, sorted.prev(lba, id))
    }

    /// The oldest request of `queue`, if it has expired. Checks only once in a slice.
    pub(super) fn look_for_expired(&mut self, queue: CfqQueueId) -> Option<RequestId> {
        let q = self.queue(queue);
        if q.age_checked {
            return None;
        }
        q.age_checked = true;
        let (oldest, is_sync) = (q.fifo.front()?, q.is_sync);
        let expire = if is_sync { self.tunables.fifo_expire_sync } else { self.tunables.fifo_expire_async };
        (self.now >= self.entry(oldest).started + Nanos::from_millis(expire)).then_some(oldest)
    }

    /// Adds `id` to the dispatch queue: a one-way elevator from the device's position, in which no request passes one
    /// of the other direction.
    pub(super) fn make_ready(&mut self, rqs: &Requests, id: RequestId) {
        let (rq, boundary) = (&rqs[id], self.position);
        let mut at = self.ready.len();
        while at > 0 {
            let other = &rqs[self.ready[at - 1]];
            if rq.is_write() != other.is_write() {
                break;
            }
            // Requests below the boundary are served after the turn.
            if (other.lba < boundary, other.lba) <= (rq.lba < boundary, rq.lba) {
                break;
            }
            at -= 1;
        }
        self.ready.insert(at, id);
    }
}
