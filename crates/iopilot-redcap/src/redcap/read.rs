//! Reads through the cache (GF 2.3.2).

use super::Redcap;
use crate::blocks::SegmentBlocks;
use crate::miss_times::MissTimes;
use crate::records::{Fetch, Handling, NONE, PartRecord, Partial};
use crate::{CopyId, Miss, RedcapAction, ReferenceDisk, Role};
use iopilot_block::{Arrival, Nanos};

/// The bits of a [`CopyId`] that number the copies of one partial read: at most every other block of 64 starts one.
pub(super) const COPY_BITS: u32 = 5;

impl<V: ReferenceDisk> Redcap<V> {
    /// Serves a read of sectors that exist: one partial read for each segment, in order.
    pub(super) fn read(&mut self, io: &Arrival, extent: (u64, u64), now: Nanos, out: &mut Vec<RedcapAction>) {
        let verdict = self.ada.overdue(self.state);
        self.follow(verdict, now, out);
        let batch = self.ada.admit();
        self.counters.reads += 1;
        if !self.state.is_active() {
            return self.read_inactive(io, extent, batch, now, out);
        }
        let (first, last) = (self.layout.number(extent.0), self.layout.number(extent.1 - 1));
        if let Some(comparison) = self.ada.comparison() {
            let blocks = (extent.1 - 1) / 8 - extent.0 / 8 + 1;
            comparison.mirror(io, batch, blocks, now);
        }
        if self.regions.are_off(first, last) {
            let blocks = (extent.1 - 1) / 8 - extent.0 / 8 + 1;
            let original = self.original(io, Handling::Cached, 1);
            self.originals[original].batch = batch;
            self.counters.pass_bys += last - first + 1;
            self.counters.requested_blocks += blocks;
            return self.pass(original, extent, blocks, out);
        }
        let original = self.original(io, Handling::Cached, (last - first + 1) as u32);
        self.originals[original].batch = batch;
        for number in first..=last {
            let part = self.layout.within(number, extent.0, extent.1);
            self.read_segment(original, number, part, now, out);
        }
    }

    fn read_segment(&mut self, original: u32, number: u64, part: (u64, u64), now: Nanos, out: &mut Vec<RedcapAction>) {
        let asked = self.layout.blocks(number, part.0, part.1);
        self.counters.requested_blocks += asked.len();
        if self.regions.is_off(number) {
            self.counters.pass_bys += 1;
            return self.pass(original, part, asked.len(), out);
        }
        if let Some(slot) = self.cache.find(number) {
            return self.read_present(original, slot, part, asked, now, out);
        }
        let all = self.layout.all(number);
        if asked == all {
            self.counters.whole_segments += 1;
            return self.pass(original, part, asked.len(), out);
        }
        let slot = self.cache.allocate(number);
        self.counters.evictions = self.cache.evictions();
        match slot {
            Some(slot) => self.missed(original, slot, part, (asked, all), now, out),
            None => {
                self.counters.pass_bys += 1;
                self.pass(original, part, asked.len(), out);
            }
        }
    }

    /// Sends sectors to the disk past the cache.
    fn pass(&mut self, original: u32, part: (u64, u64), asked: u64, out: &mut Vec<RedcapAction>) {
        let partial = self.partials.insert(Partial { reads: 1, ..Partial::new(original, NONE, part) });
        let role = if self.originals[original].unended == 1 { Role::Whole } else { Role::Missed };
        self.ask(PartRecord { partial, asked, ..PartRecord::new(role, original, part) }, out);
    }

    /// Sends a part with requested blocks, and counts them.
    pub(super) fn ask(&mut self, record: PartRecord, out: &mut Vec<RedcapAction>) {
        self.counters.missed_blocks += record.asked;
        self.originals[record.original].sums.miss_blocks += record.asked;
        self.send(record, out);
    }

    /// The segment is absent: reads the requested blocks, and prefetches the rest into the frames of `slot`.
    fn missed(
        &mut self,
        original: u32,
        slot: u32,
        part: (u64, u64),
        (asked, all): (SegmentBlocks, SegmentBlocks),
        now: Nanos,
        out: &mut Vec<RedcapAction>,
    ) {
        let rest = all - asked;
        self.counters.misses += 1;
        self.counters.prefetched_blocks += rest.len();
        self.cache.get_mut(slot).coming = rest;
        self.originals[original].unended += 1;
        let partial = self.partials.insert(Partial { reads: 1, ..Partial::new(original, NONE, part) });
        let fetch = self.fetches.insert(Fetch { original, left: 1, times: MissTimes::default() });
        let requested =
            PartRecord { partial, fetch, asked: asked.len(), ..PartRecord::new(Role::Missed, original, part) };
        match self.miss {
            Miss::Combined => {
                let number = self.cache.number(slot);
                let (from, to) = (self.layout.start(number), self.layout.end(number));
                self.cache.pin(slot);
                self.ask(PartRecord { role: Role::Combined, slot, stored: rest, from, to, ..requested }, out);
            }
            Miss::Split => {
                self.ask(requested, out);
                let head = asked.before(rest);
                self.prefetch(fetch, slot, rest - head, now, out);
                self.prefetch(fetch, slot, head, now, out);
            }
        }
    }

    /// Reads blocks into the frames of `slot`.
    pub(super) fn prefetch(
        &mut self,
        fetch: u32,
        slot: u32,
        blocks: SegmentBlocks,
        now: Nanos,
        out: &mut Vec<RedcapAction>,
    ) {
        let number = self.cache.number(slot);
        let original = self.fetches[fetch].original;
        for run in blocks.runs() {
            let (mut from, end) = self.layout.sectors(number, run);
            while from < end {
                let to = end.min(from + self.max_sectors);
                let stored = self.layout.blocks(number, from, to);
                self.cache.pin(slot);
                self.fetches[fetch].left += 1;
                let prefetch =
                    PartRecord { fetch, slot, stored, ..PartRecord::new(Role::Prefetch, original, (from, to)) };
                self.send_or_put_off(prefetch, now, out);
                from = to;
            }
        }
    }

    fn read_present(
        &mut self,
        original: u32,
        slot: u32,
        part: (u64, u64),
        asked: SegmentBlocks,
        now: Nanos,
        out: &mut Vec<RedcapAction>,
    ) {
        let segment = self.cache.get(slot);
        let (held, coming) = (asked & (segment.valid | segment.coming), asked & segment.coming);
        let counter = match () {
            () if held.is_empty() => &mut self.counters.hole_misses,
            () if held != asked => &mut self.counters.partial_misses,
            () if coming.is_empty() => &mut self.counters.hits,
            () => &mut self.counters.waits,
        };
        *counter += 1;
        let partial = self.partials.insert(Partial { todo: asked, ..Partial::new(original, slot, part) });
        self.serve(partial, now, out);
    }

    /// Serves the rest of a partial read from a segment: reads holes, waits for blocks in flight, and then copies.
    pub(super) fn serve(&mut self, partial: u32, now: Nanos, out: &mut Vec<RedcapAction>) {
        let Partial { todo, slot, original, pinned, from, to, .. } = self.partials[partial];
        let segment = self.cache.get(slot);
        let holes = (todo - segment.valid - segment.coming).with_gaps_filled(todo);
        let todo = todo - holes;
        let waits = !(todo & segment.coming).is_empty();
        let number = self.cache.number(slot);
        self.partials[partial].todo = todo;
        for run in holes.runs() {
            let (first, end) = self.layout.sectors(number, run);
            let hole = PartRecord::new(Role::Hole, original, (first.max(from), end.min(to)));
            self.partials[partial].reads += 1;
            self.ask(PartRecord { partial, asked: u64::from(run.1 - run.0 + 1), ..hole }, out);
        }
        match (pinned, todo.is_empty()) {
            (false, false) => self.cache.pin(slot),
            (true, true) => self.cache.unpin(slot),
            _ => {}
        }
        let record = &mut self.partials[partial];
        record.pinned = !todo.is_empty();
        record.since = now;
        record.waiting = waits;
        if waits {
            self.cache.get_mut(slot).waiters.push_back(&mut self.waiters, partial);
            self.hurry(original, slot, todo, out);
        } else if !todo.is_empty() {
            self.copy(partial, number, todo, out);
        }
    }

    /// Copies valid blocks to the reader.
    fn copy(&mut self, partial: u32, number: u64, blocks: SegmentBlocks, out: &mut Vec<RedcapAction>) {
        let Partial { slot, original, from, to, .. } = self.partials[partial];
        let io = self.originals[original].io.handle;
        let mut copies = 0;
        for run in blocks.runs() {
            let (first, end) = self.layout.sectors(number, run);
            let (lba, sectors) = crate::geometry::extent((first.max(from), end.min(to)));
            out.push(RedcapAction::Copy { copy: CopyId(partial << COPY_BITS | copies), io, slot, lba, sectors });
            copies += 1;
        }
        self.partials[partial].copies = copies;
        self.originals[original].sums.hit_blocks += blocks.len();
        self.counters.hit_blocks += blocks.len();
        let segment = self.cache.get_mut(slot);
        self.counters.used_blocks += (blocks - segment.used).len();
        segment.used = segment.used | blocks;
        if self.strict {
            segment.valid = segment.valid - self.layout.whole_blocks(number, from, to);
        }
    }
}
