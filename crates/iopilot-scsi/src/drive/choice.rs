//! Which segment of the buffer a request uses.

use super::Drive;
use super::model::FastWrite;
use super::segment::{BufferSegment, Victims};
use super::slot::{BusStage, CommandSlot};

/// How much of a read is in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentHit {
    /// All of it.
    Full,
    /// At least the first block.
    Partial,
    /// None of it.
    Miss,
}

/// How a write fits its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentFit {
    /// Behind blocks that are being written or wait to be.
    Append,
    /// Before blocks that wait to be written.
    Prepend,
    /// In a segment of its own.
    New,
}

impl Drive {
    /// The segment for a read. Best first: one that holds all of it, one that holds its first block, an empty one, a
    /// clean one, one that is only being read ahead into. `None` if the read must wait: it needs blocks that are not
    /// on the medium yet, or all segments are in use.
    pub(super) fn choose_read(&self, slot: &CommandSlot, victims: Victims, t: f64) -> Option<(usize, SegmentHit)> {
        // Part of it may have been sent before its turn.
        let (first, end) = (slot.unmoved(), slot.end());
        if let Some(s) = slot.segment {
            let segment = self.segments.of(s);
            let hit = if first == segment.end { SegmentHit::Partial } else { self.hit(segment, first, end) };
            // The rest has to wait for the other users of the segment.
            return (hit == SegmentHit::Full || segment.users == 1).then_some((s, hit));
        }
        let mut collision = false;
        let candidates = self.segments.near(first, end).chain(self.streamed()).chain(victims.read);
        let best = self.segments.best(candidates, |s, segment| {
            if segment.is_dirty() {
                if !segment.overlaps(first, end) {
                    return None;
                }
                let all_there = self.hit(segment, first, end) == SegmentHit::Full && self.received_all(s);
                if all_there && self.model.read.hits_on_written && self.segments.serves_reads(s) {
                    return Some(if self.is_streaming(s) { 2 } else { 1 });
                }
                collision = true;
                return None;
            }
            if !self.segments.serves_reads(s) {
                return None;
            }
            let streaming = self.is_streaming(s);
            match self.hit(segment, first, end) {
                SegmentHit::Full => Some(if streaming { 3 } else { 4 }),
                SegmentHit::Partial => Some(if streaming { 5 } else { 6 }),
                SegmentHit::Miss if streaming && self.model.read.almost_hits && segment.end == first => Some(5),
                SegmentHit::Miss if segment.users > 0 => None,
                SegmentHit::Miss if streaming => self.can_stop(t).then_some(9),
                SegmentHit::Miss if segment.is_empty() => Some(7),
                SegmentHit::Miss => Some(8),
            }
        });
        let (s, rank) = best?;
        let hit = match rank {
            1..=4 => SegmentHit::Full,
            5 | 6 => SegmentHit::Partial,
            _ => SegmentHit::Miss,
        };
        (!collision || hit == SegmentHit::Full).then_some((s, hit))
    }

    /// The segment for a write. Best first: one it continues, one it overlaps, an empty one, a clean one, one that is
    /// only being read ahead into.
    pub(super) fn choose_write(&self, slot: &CommandSlot, victims: Victims, t: f64) -> Option<(usize, SegmentFit)> {
        let (first, end) = (slot.first(), slot.end());
        let combine = self.model.write.combine;
        let may_dirty = self.segments.may_dirty();
        let mut collision = false;
        let candidates = self.segments.near(first, end).chain(self.streamed()).chain(victims.write);
        let best = self.segments.best(candidates, |s, segment| {
            if segment.is_dirty() {
                let dirty = segment.end - segment.written;
                let streaming = self.is_streaming(s);
                if combine && segment.end == first && dirty < self.segments.size && self.received_all(s) {
                    return Some(if streaming { 1 } else { 2 });
                }
                let room = dirty + slot.count() <= self.segments.size;
                if combine && room && segment.start == end && segment.written == segment.start && !streaming {
                    return Some(3);
                }
                collision |= segment.overlaps(first, end);
                return None;
            }
            if !self.segments.serves_writes(s) || !may_dirty || segment.users > 0 {
                return None;
            }
            match self.is_streaming(s) {
                true => self.can_stop(t).then_some(7),
                false if segment.overlaps(first, end) => Some(4),
                false if segment.is_empty() => Some(5),
                false => Some(6),
            }
        });
        let (s, rank) = best.filter(|_| !collision)?;
        let fit = match rank {
            1 | 2 => SegmentFit::Append,
            3 => SegmentFit::Prepend,
            _ => SegmentFit::New,
        };
        Some((s, fit))
    }

    /// Whether a write may join the write in progress in segment `s`.
    pub(super) fn may_join(&self, slot: &CommandSlot, s: usize, fit: SegmentFit) -> bool {
        let others = || {
            let parked = self.parked.len() - usize::from(slot.parked);
            parked > 0
                || self.live.iter().any(|&i| {
                    let other = &self.slots[i];
                    other.number != slot.number
                        && other.stage != BusStage::Gone
                        && !other.is_streamed_by(self.stream.as_ref())
                })
        };
        let level = match self.model.write.fast {
            FastWrite::Off => false,
            FastWrite::Alone => !others(),
            FastWrite::Always => true,
        };
        // A waiting flush must see the end of the write in progress.
        let flushing = || self.pending.iter().any(|&i| !self.slots[i].request.op.transfers());
        fit == SegmentFit::Append && level && slot.fast && self.is_streaming(s) && !flushing()
    }

    /// Reserves segment `s` for a write.
    pub(super) fn take_for_write(&mut self, i: usize, s: usize, fit: SegmentFit, t: f64) {
        self.unpark(i);
        let (first, end) = (self.slots[i].first(), self.slots[i].end());
        if fit == SegmentFit::New && self.is_streaming(s) {
            self.stop(t);
        }
        self.segments.edit(s, |segment| match fit {
            SegmentFit::Append => segment.end = end,
            SegmentFit::Prepend => (segment.start, segment.written) = (first, first),
            SegmentFit::New => {
                segment.clear(first);
                segment.end = end;
            }
        });
        self.segments.used(s, true);
        self.slots[i].segment = Some(s);
        // Clean copies of these blocks in other segments are out of date.
        let mut others = std::mem::take(&mut self.overlapping);
        others.extend(self.segments.near(first, end));
        for other in others.drain(..) {
            let segment = *self.segments.of(other);
            if other == s || segment.is_dirty() || segment.users > 0 || !segment.overlaps(first, end) {
                continue;
            }
            if self.is_streaming(other) {
                if !self.model.write.stops_prefetch {
                    continue;
                }
                self.stop(t);
            }
            self.segments.edit(other, |segment| segment.clear(end));
        }
        self.overlapping = others;
    }

    /// Releases segment `s` when a request is done with it.
    pub(super) fn release_segment(&mut self, s: usize, slot: &CommandSlot) {
        let (keep, caching) = (self.model.read.keep, self.model.buffer.caching);
        self.segments.edit(s, |segment| {
            segment.users -= 1;
            if segment.users > 0 || segment.is_dirty() {
                return;
            }
            if !caching {
                segment.clear(segment.end);
            } else if slot.is_read() && keep == super::KeepRequested::Drop {
                segment.start = segment.start.max(slot.end()).min(segment.end);
            }
        });
    }

    /// The segment of the access in progress.
    fn streamed(&self) -> Option<usize> {
        self.stream.as_ref().map(|stream| stream.segment)
    }

    /// The segments for requests that miss.
    pub(super) fn victims(&self) -> Victims {
        self.segments.victims(self.streamed())
    }

    /// Blocks of segment `s` that came over the bus and are not on the medium.
    pub(super) fn received_dirty(&self, s: usize) -> u64 {
        let segment = self.segments.of(s);
        let missing: u64 = self.incomplete_writes(s).map(|slot| slot.count() - slot.moved).sum();
        (segment.end - segment.written).saturating_sub(missing)
    }

    /// The writes into segment `s` whose data have not all come.
    pub(super) fn incomplete_writes(&self, s: usize) -> impl Iterator<Item = &CommandSlot> {
        let of = self.live.iter().map(|&i| &self.slots[i]);
        of.filter(move |slot| slot.segment == Some(s) && !slot.is_read() && !slot.all_moved())
    }

    fn received_all(&self, s: usize) -> bool {
        self.incomplete_writes(s).next().is_none()
    }

    fn hit(&self, segment: &BufferSegment, first: u64, end: u64) -> SegmentHit {
        match segment.holds(first) {
            true if end <= segment.end => SegmentHit::Full,
            true => SegmentHit::Partial,
            false => SegmentHit::Miss,
        }
    }
}
