//! The flush machinery (`block/blk-flush.c`, Linux 6.12 to 6.18).
//!
//! A request with [`Flags::PREFLUSH`], or with [`Flags::FUA`] for a device that cannot write past its cache, is served in up
//! to three steps: a flush, its data, a flush. Flushes are merged: each hardware queue has two lists of requests that
//! need one. While the flush for one list is in the device, new requests join the other list. No flush begins while the
//! data of such a request are in flight, unless a request has waited for five seconds.
//!
//! Data after a flush bypass the scheduler, and go to the head of the queue. A write that only needs a flush after it is
//! scheduled as usual.

use super::BlockLayer;
use super::flush_queue::{FlushSequence, FlushSteps};
use iopilot_block::{Flags, Lba, Nanos, Op, Request, RequestId, Sectors};

/// `FLUSH_PENDING_TIMEOUT`.
const PATIENCE: Nanos = Nanos::from_secs(5);

/// How a submitted request is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is handled without the flush machinery.
    Ordinary,
    /// The flush machinery has taken it.
    Taken,
    /// It is complete, because it needs neither flush nor data.
    Nothing,
}

impl BlockLayer {
    /// The flush sequence of `id`, if it has one.
    pub(super) fn sequence(&self, id: RequestId) -> Option<&FlushSequence> {
        self.sequences.get(id.index()).and_then(Option::as_ref)
    }

    /// Takes `id`, which has a tag, into the flush machinery if it needs a flush.
    pub(super) fn begin_sequence(&mut self, id: RequestId, now: Nanos) -> Admission {
        let rq = &self.rqs[id];
        let flags = rq.flags;
        if !self.queue.flush_machinery || rq.op != Op::Flush && !flags.intersects(Flags::PREFLUSH | Flags::FUA) {
            return Admission::Ordinary;
        }
        let cache = self.queue.write_cache;
        let steps = FlushSteps {
            preflush: cache && (rq.op == Op::Flush || flags.contains(Flags::PREFLUSH)),
            data: rq.op != Op::Flush,
            postflush: cache && !self.queue.fua && flags.contains(Flags::FUA),
        };
        if steps == FlushSteps::default() {
            return Admission::Nothing;
        }
        if !steps.preflush && !steps.postflush {
            return Admission::Ordinary;
        }
        let without = if self.queue.fua { Flags::PREFLUSH } else { Flags::PREFLUSH | Flags::FUA };
        self.rqs[id].flags = (flags - without) | Flags::SYNC | Flags::NO_MERGE;
        if id.index() >= self.sequences.len() {
            self.sequences.resize(id.index() + 1, None);
        }
        let scheduled = !steps.preflush;
        self.sequences[id.index()] = Some(FlushSequence { left: steps, flags, scheduled });
        if scheduled {
            let queue = self.queue_of(id);
            self.hardware[queue].flushes.data_in_flight += 1;
            return Admission::Ordinary;
        }
        self.next_step(id, now);
        Admission::Taken
    }

    /// Begins the next step of `id`. False if no step is left.
    fn next_step(&mut self, id: RequestId, now: Nanos) -> bool {
        let Some(Some(sequence)) = self.sequences.get(id.index()) else { return false };
        let left = sequence.left;
        let queue = self.queue_of(id);
        let flushes = &mut self.hardware[queue].flushes;
        if left.preflush || left.postflush && !left.data {
            let list = &mut flushes.lists[flushes.gathering];
            if list.is_empty() {
                flushes.since = now;
            }
            list.push(id);
        } else if left.data {
            flushes.data_in_flight += 1;
            self.rqs[id].inserted = now;
            self.hardware[queue].bypass.push_back(id);
            self.touch(queue);
        }
        self.kick(queue, now);
        left != FlushSteps::default()
    }

    /// Sends a flush for the requests in the gathering list, if no flush is running (`blk_kick_flush`).
    fn kick(&mut self, queue: usize, now: Nanos) {
        let flushes = &self.hardware[queue].flushes;
        let Some(&first) = flushes.lists[flushes.gathering].first() else { return };
        if flushes.running.is_some() || flushes.data_in_flight > 0 && now < flushes.since + PATIENCE {
            return;
        }
        let asking = &self.rqs[first];
        let mut flush = Request::new(Op::Flush, Lba(0), Sectors(0), asking.process);
        (flush.flags, flush.cpu, flush.io) = (Flags::PREFLUSH | Flags::SYNC, asking.cpu, asking.io);
        (flush.arrived, flush.inserted) = (now, now);
        let flush = self.rqs.insert(flush);
        let hardware = &mut self.hardware[queue];
        hardware.flushes.running = Some(flush);
        hardware.flushes.gathering ^= 1;
        hardware.bypass.push_front(flush);
        self.touch(queue);
    }

    /// The device has finished `id`, of hardware queue `queue`. Continues the sequences that waited for it, and appends those
    /// with no step left to `over`. False if `id` belongs to no sequence.
    pub(super) fn step_done(&mut self, queue: usize, id: RequestId, now: Nanos, over: &mut Vec<RequestId>) -> bool {
        let flushes = &mut self.hardware[queue].flushes;
        if flushes.running == Some(id) {
            flushes.running = None;
            let served = flushes.gathering ^ 1;
            let mut list = std::mem::take(&mut flushes.lists[served]);
            let issued = self.rqs[id].issued;
            self.rqs.remove(id);
            for waiting in list.drain(..) {
                if self.rqs[waiting].op == Op::Flush {
                    self.rqs[waiting].issued = issued;
                }
                self.step_over(waiting, false, now, over);
            }
            // The list is empty and kept for its memory; new requests have joined the gathering list.
            let kept = &mut self.hardware[queue].flushes.lists[served];
            list.append(kept);
            *kept = list;
            self.kick(queue, now);
            return true;
        }
        if self.sequence(id).is_none() {
            return false;
        }
        self.hardware[queue].flushes.data_in_flight -= 1;
        self.step_over(id, true, now, over);
        true
    }

    /// The present step of `id` is done: its data, or a flush.
    fn step_over(&mut self, id: RequestId, data: bool, now: Nanos, over: &mut Vec<RequestId>) {
        if let Some(Some(FlushSequence { left, .. })) = self.sequences.get_mut(id.index()) {
            match (data, left.preflush) {
                (true, _) => left.data = false,
                (false, true) => left.preflush = false,
                (false, false) => left.postflush = false,
            }
        }
        if !self.next_step(id, now) {
            if let Some(sequence) = self.sequences[id.index()].take() {
                self.rqs[id].flags = sequence.flags;
            }
            over.push(id);
        }
    }
}
