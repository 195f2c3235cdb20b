//! Sequential and overlapping requests: those that merge with the chosen one, and those that complete with it.

use super::request::{IoPick, RequestLocation};
use super::view::{LastPick, MayStart, PolicyView, follows};
use super::{IoQueue, OverlapScheme};
use iopilot_block::{Nanos, Op, RequestId, Sectors};

impl IoQueue {
    /// Removes `id` from sub-queue `index`, with the neighbours that merge with it.
    pub(super) fn start(&mut self, index: usize, id: RequestId, now: Nanos, may_start: Option<MayStart<'_>>) -> IoPick {
        let streams = &self.config.streams;
        let joins = match self.entries[id.index()].request.op {
            Op::Read => streams.concatenate_reads,
            Op::Write => streams.concatenate_writes,
            Op::Flush | Op::Discard => false,
        };
        let (mut first, mut last) = (id, id);
        if joins && self.config.max_concat.0 > 0 {
            let joinable = |id: RequestId| {
                let request = &self.entries[id.index()].request;
                request.joinable && may_start.is_none_or(|may| may(request))
            };
            let sub_queue = &self.sub_queues[index];
            let fits = |first: RequestId, last: RequestId| {
                let (a, b) = (&self.entries[first.index()].request, &self.entries[last.index()].request);
                b.end().0 - a.lba.0 <= u64::from(self.config.max_concat.0)
            };
            let meet = |first: RequestId, second: RequestId| {
                let (a, b) = (&self.entries[first.index()].request, &self.entries[second.index()].request);
                a.op == b.op && follows(a, b, self.config.stream_gap)
            };
            if joinable(id) {
                // The predecessors come first, so that the medium is read in order.
                while let Some(before) = sub_queue.predecessor(&self.links, &self.entries, first) {
                    if !meet(before, first) || !joinable(before) || !fits(before, last) {
                        break;
                    }
                    first = before;
                }
                while let Some(after) = sub_queue.successor(&self.links, &self.entries, last) {
                    if !meet(last, after) || !joinable(after) || !fits(first, after) {
                        break;
                    }
                    last = after;
                }
            }
        }
        self.take(index, first, last, now)
    }

    /// Removes the neighbours from `first` to `last` as one pick, and stores it as the last pick.
    fn take(&mut self, index: usize, first: RequestId, last: RequestId, now: Nanos) -> IoPick {
        let mut part = first;
        loop {
            let next = match part == last {
                true => None,
                false => self.sub_queues[index].successor(&self.links, &self.entries, part),
            };
            self.sub_queues[index].remove(&mut self.links, &mut self.entries, part);
            let entry = &mut self.entries[part.index()];
            (entry.location, entry.started, entry.next_part) = (RequestLocation::Picked, now, next);
            self.waiting -= 1;
            self.picked += 1;
            match next {
                Some(next) => part = next,
                None => break,
            }
        }
        let (head, tail) = (&self.entries[first.index()].request, &self.entries[last.index()].request);
        let sectors = Sectors((tail.end().0 - head.lba.0) as u32);
        self.last = LastPick {
            first: head.lba,
            block: iopilot_block::Lba(tail.end().0.saturating_sub(1)),
            end: tail.end(),
            cylinder: tail.cylinder,
            ..self.last
        };
        IoPick { id: head.id, op: head.op, lba: head.lba, sectors }
    }

    /// Completes the waiting requests for exactly the blocks of `done`. O(n).
    pub(super) fn finish_overlapping(&mut self, done: RequestId, also: &mut Vec<RequestId>) {
        let done = self.entries[done.index()];
        let start = also.len();
        for sub_queue in &self.sub_queues {
            also.extend(sub_queue.by_age.iter(&self.links).filter(|id| {
                let entry = &self.entries[id.index()];
                let same = entry.request.lba == done.request.lba && entry.request.sectors == done.request.sectors;
                let satisfied = done.request.op != Op::Read || entry.request.op == Op::Read;
                let early = self.config.overlap == OverlapScheme::AtCompletion || entry.arrived <= done.started;
                same && satisfied && early
            }));
        }
        for &id in &also[start..] {
            self.take_out(id);
            self.entries[id.index()].location = RequestLocation::Nowhere;
            self.waiting -= 1;
        }
    }
}

impl PolicyView<'_> {
    /// The oldest candidate that belongs to no batch or to a complete one.
    pub(super) fn oldest_of_whole_batches(&self, open: Option<u32>) -> Option<RequestId> {
        let whole = |id: RequestId| self.entry(id).request.batch.is_none_or(|batch| Some(batch) != open);
        self.sub_queue.by_age.iter(self.links).find(|&id| whole(id) && self.is_candidate(id))
    }
}
