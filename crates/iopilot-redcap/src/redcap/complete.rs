//! The ends of parts and copies.

use super::Redcap;
use super::read::COPY_BITS;
use crate::records::{Handling, NONE, PartRecord};
use crate::sums::scaled;
use crate::{CopyId, PartId, PartTimes, RedcapAction, ReferenceDisk, Role};
use iopilot_block::{Nanos, Op};

/// How a part ended.
#[derive(Clone, Copy)]
enum End<'a> {
    Served(&'a PartTimes),
    Failed(&'a PartTimes),
    GivenUp(Nanos),
}

impl End<'_> {
    const fn at(&self) -> Nanos {
        match self {
            Self::Served(served) | Self::Failed(served) => served.completed,
            Self::GivenUp(now) => *now,
        }
    }

    const fn times(&self) -> Option<&PartTimes> {
        match self {
            Self::Served(served) | Self::Failed(served) => Some(served),
            Self::GivenUp(_) => None,
        }
    }

    const fn is_good(&self) -> bool {
        matches!(self, Self::Served(_))
    }
}

impl<V: ReferenceDisk> Redcap<V> {
    /// The disk has served a part; its data for the frames are there.
    pub fn served(&mut self, part: PartId, served: PartTimes, out: &mut Vec<RedcapAction>) {
        self.end(part, End::Served(&served), out);
        self.settle(served.completed, out);
    }

    /// The disk has failed at a part. A prefetch that fails leaves holes, and its original does not fail. The requested blocks
    /// of a combined read are read again, alone.
    pub fn failed(&mut self, part: PartId, served: PartTimes, out: &mut Vec<RedcapAction>) {
        self.end(part, End::Failed(&served), out);
        self.settle(served.completed, out);
    }

    /// A part that the disk has not served will not be sent. A prefetch leaves holes; any other part counts as failed.
    pub(crate) fn dropped(&mut self, part: PartId, now: Nanos, out: &mut Vec<RedcapAction>) {
        self.end(part, End::GivenUp(now), out);
    }

    /// A copy has ended.
    pub fn copied(&mut self, copy: CopyId, now: Nanos, out: &mut Vec<RedcapAction>) {
        let id = copy.0 >> COPY_BITS;
        let partial = &mut self.partials[id];
        partial.copies -= 1;
        if partial.copies == 0 {
            self.originals[partial.original].sums.hit_time += now.since(partial.since);
            let slot = partial.slot;
            self.cache.unpin(slot);
            self.partial_ended(id, now, out);
            self.settle(now, out);
        }
    }

    fn end(&mut self, part: PartId, end: End<'_>, out: &mut Vec<RedcapAction>) {
        let removed = self.parts.remove(part.0);
        removed.in_flight = false;
        let record = *removed;
        let now = end.at();
        if let Some(served) = end.times() {
            self.block_time.add(served, (record.to - record.from).div_ceil(8));
        }
        match record.role {
            Role::Prefetch => {
                self.prefetch_ended(&record, end);
                self.arrived(&record, end, out);
                self.fetch_ended(record.fetch, now, out);
            }
            Role::Combined => self.combined_ended(&record, end, out),
            Role::Whole if record.partial == NONE => self.whole_ended(&record, end, out),
            Role::Whole | Role::Missed | Role::Hole => {
                self.requested_ended(&record, end);
                self.originals[record.original].failed |= !end.is_good();
                self.partials[record.partial].reads -= 1;
                self.partial_ended(record.partial, now, out);
                if record.fetch != NONE {
                    self.fetch_ended(record.fetch, now, out);
                }
            }
        }
    }

    /// Ends an original that was sent unmodified.
    fn whole_ended(&mut self, record: &PartRecord, end: End<'_>, out: &mut Vec<RedcapAction>) {
        let original = &mut self.originals[record.original];
        original.failed |= !end.is_good();
        if let (Handling::Inactive, Some(served)) = (original.handling, end.times()) {
            let sums = &mut original.sums;
            let blocks = (sums.hit_blocks + sums.miss_blocks).max(1);
            let time = served.time_of(blocks);
            sums.disk_hit_time = scaled(time, sums.hit_blocks, blocks);
            sums.miss_time = if sums.miss_blocks > 0 { time - sums.disk_hit_time } else { Nanos::ZERO };
            self.add_model_time(record, served, true);
        }
        if matches!(self.originals[record.original].io.op, Op::Write | Op::Discard) {
            // A prefetch that overtook the write may hold the old data.
            self.invalidate((record.from, record.to), end.at(), out);
        }
        self.answered(record.original, end.at(), out);
    }

    fn combined_ended(&mut self, record: &PartRecord, end: End<'_>, out: &mut Vec<RedcapAction>) {
        let now = end.at();
        if end.is_good() {
            self.requested_ended(record, end);
            self.prefetch_ended_times(record, end);
        } else if let Some(served) = end.times() {
            self.fetches[record.fetch].times.prefetched(served, record.stored.len());
            self.add_model_time(record, served, true);
        }
        self.arrived(record, end, out);
        if end.is_good() {
            self.partials[record.partial].reads -= 1;
            self.partial_ended(record.partial, now, out);
        } else {
            let partial = &self.partials[record.partial];
            let alone = PartRecord::new(Role::Missed, record.original, (partial.from, partial.to));
            self.send(PartRecord { partial: record.partial, asked: record.asked, ..alone }, out);
        }
        self.fetch_ended(record.fetch, now, out);
    }

    /// Accounts for the time of a part with requested blocks.
    fn requested_ended(&mut self, record: &PartRecord, end: End<'_>) {
        let Some(served) = end.times() else { return };
        if record.fetch == NONE {
            self.originals[record.original].sums.miss_time += served.time_of(record.asked);
        } else {
            self.fetches[record.fetch].times.requested(served, record.asked);
        }
        self.add_model_time(record, served, true);
    }

    fn prefetch_ended(&mut self, record: &PartRecord, end: End<'_>) {
        self.prefetch_ended_times(record, end);
        if let Some(served) = end.times() {
            self.add_model_time(record, served, false);
        }
    }

    fn prefetch_ended_times(&mut self, record: &PartRecord, end: End<'_>) {
        if let Some(served) = end.times() {
            let blocks = record.stored.len();
            self.fetches[record.fetch].times.prefetched(served, blocks);
            self.originals[record.original].sums.prefetch_blocks += blocks;
        }
    }

    fn add_model_time(&mut self, record: &PartRecord, served: &PartTimes, waited: bool) {
        if let Some(comparison) = self.ada.comparison() {
            let extent = crate::geometry::extent((record.from, record.to));
            self.originals[record.original].model_time += comparison.real_time(extent, served, waited);
        }
    }

    /// The blocks of a part have arrived in the frames, or will not arrive.
    fn arrived(&mut self, record: &PartRecord, end: End<'_>, out: &mut Vec<RedcapAction>) {
        let segment = self.cache.get_mut(record.slot);
        let came = segment.coming & record.stored;
        match end {
            End::Served(_) => segment.valid = segment.valid | came,
            End::Failed(_) => self.counters.failed_blocks += record.stored.len(),
            End::GivenUp(_) => self.counters.dropped_blocks += record.stored.len(),
        }
        segment.coming = segment.coming - record.stored;
        segment.doomed = segment.doomed - record.stored;
        if !came.is_empty() {
            let dispatched = end.times().map_or(end.at(), |served| served.dispatched);
            self.wake(record.slot, came, (dispatched, end.at()), out);
        }
        self.cache.unpin(record.slot);
    }

    /// A part of a fetch has ended. Ends the fetch if that was the last part.
    fn fetch_ended(&mut self, id: u32, now: Nanos, out: &mut Vec<RedcapAction>) {
        let fetch = &mut self.fetches[id];
        fetch.left -= 1;
        if fetch.left > 0 {
            return;
        }
        let (reader, prefetch) = fetch.times.divided(self.block_time.least());
        let original = fetch.original;
        self.fetches.remove(id);
        let sums = &mut self.originals[original].sums;
        sums.miss_time += reader;
        sums.prefetch_time += prefetch;
        self.ended(original, now, out);
    }

    /// A part or copy that a partial read waited for has ended. Answers the partial read if that was the last one.
    fn partial_ended(&mut self, id: u32, now: Nanos, out: &mut Vec<RedcapAction>) {
        if self.partials[id].is_answered() {
            let original = self.partials.remove(id).original;
            self.answered(original, now, out);
        }
    }

    fn answered(&mut self, id: u32, now: Nanos, out: &mut Vec<RedcapAction>) {
        let original = &mut self.originals[id];
        original.unanswered -= 1;
        if original.unanswered == 0 {
            out.push(RedcapAction::Done { io: original.io.handle, failed: original.failed });
        }
        self.ended(id, now, out);
    }
}
