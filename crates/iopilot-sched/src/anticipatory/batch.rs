//! Batches of synchronous or asynchronous requests: which kind has its turn, and for how long.

use super::{ASYNC, Anticipation, Anticipatory, SYNC};
use iopilot_block::{RequestId, Requests};

impl Anticipatory {
    pub(super) fn pick(&mut self, rqs: &Requests) -> Option<RequestId> {
        let (reads, writes) = (!self.deadlines.is_empty(SYNC), !self.deadlines.is_empty(ASYNC));
        if self.batch == ASYNC && !reads && (self.writes_left == 0 || !writes) {
            self.write_batch_idled = true;
        }
        let waiting = matches!(self.anticipation, Anticipation::WaitRequest | Anticipation::WaitNext(_));
        if !(reads || writes) || waiting || self.changed_batch {
            return None;
        }
        if !(reads && writes && self.batch_has_expired()) {
            let next = self.next[self.batch];
            if self.batch == SYNC && self.tunables.antic_expire > 0.0 {
                if let Some(expired) = self.look_for_expired(SYNC) {
                    return Some(expired);
                }
                let over = self.candidate.is_none() || self.anticipation == Anticipation::Finished;
                if !over && !self.may_break(rqs, next) {
                    self.anticipate();
                    return None;
                }
            }
            if let Some(next) = next {
                if reads && !writes {
                    self.batch_expires = self.now + self.batch_expire(SYNC);
                }
                return self.or_expired(next);
            }
        }
        self.change_batch(reads, writes)
    }

    /// Begins a batch of the other kind, or of the same kind if only that is queued.
    pub(super) fn change_batch(&mut self, reads: bool, writes: bool) -> Option<RequestId> {
        let kind = if reads && !(writes && self.batch == SYNC) { SYNC } else { ASYNC };
        if kind != self.batch {
            self.changed_batch = true;
            self.new_batch = false;
        }
        self.batch = kind;
        if kind == ASYNC {
            self.writes_left = self.write_batch_count;
            self.write_batch_idled = false;
        }
        self.last_look[kind] = self.now;
        let start = if self.tunables.linux_2_6_23 { self.next[kind] } else { self.deadlines.oldest(kind) };
        let id = self.or_expired(start?);
        if self.changed_batch {
            if self.in_flight > 0 {
                return None;
            }
            if kind == ASYNC {
                self.batch_expires = self.now + self.batch_expire(ASYNC);
            } else {
                self.new_batch = true;
            }
            self.changed_batch = false;
        }
        id
    }

    pub(super) fn batch_has_expired(&self) -> bool {
        if self.changed_batch || self.new_batch {
            return false;
        }
        self.now > self.batch_expires || (self.batch == ASYNC && self.writes_left == 0)
    }

    /// The oldest request of `kind`, if it has expired. Checks only once in each expiry interval.
    pub(super) fn look_for_expired(&mut self, kind: usize) -> Option<RequestId> {
        if self.now.since(self.last_look[kind]) < self.fifo_expire(kind) {
            return None;
        }
        self.last_look[kind] = self.now;
        self.deadlines.expired(kind, self.now)
    }

    pub(super) fn or_expired(&mut self, id: RequestId) -> Option<RequestId> {
        self.look_for_expired(self.batch).or(Some(id))
    }

    /// Adapts the number of writes in a batch to the time of the last batch.
    pub(super) fn resize_write_batch(&mut self) {
        let batch = self.batch_expire(ASYNC).0 as i64;
        let took = (self.now.0 as i64 - self.batch_expires.0 as i64 + batch).max(0);
        if took > batch && !self.write_batch_idled {
            self.write_batch_count =
                if took > 3 * batch { self.write_batch_count / 2 } else { self.write_batch_count - 1 };
        } else if took < batch && self.writes_left == 0 {
            self.write_batch_count =
                if batch > 3 * took { self.write_batch_count * 2 } else { self.write_batch_count + 1 };
        }
        // The kernel has no upper bound. No disk reaches this one, and it keeps the doubling in range.
        self.write_batch_count = self.write_batch_count.clamp(1, 1 << 30);
    }
}
