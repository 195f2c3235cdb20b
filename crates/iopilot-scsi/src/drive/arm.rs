//! The accesses of the arm, and the requests they serve.

use super::Drive;
use super::choice::{SegmentFit, SegmentHit};
use super::gate::Gate;
use super::model::Preseek;
use super::slot::{BusStage, Media};
use super::stream::{MediaAccess, MediaStream, SectorOrder, Stay};
use iopilot_block::Nanos;
use iopilot_device::Arm;

impl Drive {
    /// What limits the flow of blocks between the medium and segment `s`.
    fn gate(&self, s: usize, write: bool, next: u64) -> Gate {
        let mut gate = Gate::OPEN;
        for &i in &self.live {
            let slot = &self.slots[i];
            // A read that is sent before its turn does not hold up the medium.
            let early = !write && slot.media == Media::Waiting;
            if slot.segment != Some(s) || slot.is_read() == write || slot.all_moved() || early {
                continue;
            }
            // A write needs its data; a read must not overwrite blocks that are not sent yet.
            let open_to = if write { slot.unmoved() } else { slot.unmoved() + self.segments.size };
            if open_to < gate.open_to {
                gate = Gate { open_to, known_to: open_to, ..gate };
                if let BusStage::Burst { from, step, blocks } = slot.stage {
                    (gate.from, gate.step, gate.known_to) = (from, step, open_to + blocks);
                }
            }
            if let Some(extra) = self.model.write.extra_disconnect.filter(|_| write && slot.first() == next) {
                let first = extra.buffered_first[usize::from(slot.count() >= 45)];
                let needed = slot.count().min(u64::from(first)).min(self.segments.size);
                gate.first_needs = Some((next, next + needed.max(1) - 1));
            }
        }
        gate
    }

    fn present_gate(&self) -> Gate {
        self.stream.as_ref().map_or(Gate::OPEN, |stream| self.gate(stream.segment, stream.write, stream.next))
    }

    /// Brings the access in progress up to time `t`.
    pub(super) fn sync(&mut self, t: f64) {
        self.finish_round(t);
        let gate = self.present_gate();
        let Some(stream) = &mut self.stream else { return };
        stream.sync(&self.model.mechanics, &gate, t);
        self.note_progress();
    }

    /// Updates the segment with the progress of its stream.
    fn note_progress(&mut self) {
        let Some(stream) = &self.stream else { return };
        let size = self.segments.size;
        self.segments.edit(stream.segment, |segment| {
            if stream.write {
                segment.written = segment.written.max(stream.next.min(segment.end));
                return;
            }
            if segment.is_empty() && stream.next < segment.start {
                // Blocks before the first requested one.
                (segment.start, segment.end, segment.written) = (stream.next, stream.next, stream.next);
            }
            if stream.next > segment.end {
                segment.filled(stream.next, size);
            }
        });
        if !stream.finished() {
            return;
        }
        (self.arm, self.arm_free) = (stream.arm(), stream.at());
        let s = stream.segment;
        if stream.write {
            self.wrote = (self.arm_free, stream.next);
            let (keeps, caching) = (self.model.read.hits_on_written, self.model.buffer.caching);
            self.segments.edit(s, |segment| {
                segment.start = segment.start.max(segment.end.saturating_sub(size));
                if !keeps || (segment.users == 0 && !caching) {
                    segment.clear(segment.end);
                }
            });
            self.segments.touch(s);
            self.stream = None;
        } else {
            self.stream = None;
            self.begin_round(s, self.arm_free);
        }
    }

    /// Whether the access in progress uses segment `s`.
    pub(super) fn is_streaming(&self, s: usize) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.segment == s)
    }

    /// Whether the arm is idle, or does read-ahead that no request waits for and that has reached its minimum.
    pub(super) fn can_stop(&self, t: f64) -> bool {
        self.stream.as_ref().is_none_or(|stream| {
            self.is_read_ahead()
                && stream.next >= self.hold_to.min(stream.limit)
                && !(self.model.write.waits_for_prefetch && stream.busy(t))
        })
    }

    /// Whether the access in progress is pure read-ahead: a read with no requested blocks left.
    pub(super) fn is_read_ahead(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| {
            let wanted = |i: &usize| {
                let slot = &self.slots[*i];
                slot.segment == Some(stream.segment) && slot.media == Media::Begun && slot.end() > stream.next
            };
            !stream.write && !self.live.iter().any(wanted)
        })
    }

    /// Whether request `i` could get the arm.
    pub(super) fn arm_for(&self, i: usize, t: f64) -> bool {
        let held = self.model.preseek != Preseek::Media && self.holder.is_some_and(|h| h != i);
        !held && self.can_stop(t)
    }

    /// Whether read `i`, which would use segment `s`, may have its turn at the medium.
    pub(super) fn turn_of_read(&self, i: usize, s: usize, hit: SegmentHit, t: f64) -> bool {
        let joins = hit != SegmentHit::Miss && self.is_streaming(s) && self.is_read_ahead();
        joins || self.arm_for(i, t)
    }

    /// Like [`Drive::turn_of_read`], for a write.
    pub(super) fn turn_of_write(&self, i: usize, s: usize, fit: SegmentFit, t: f64) -> bool {
        let streaming_write = self.is_streaming(s) && self.stream.as_ref().is_some_and(|stream| stream.write);
        if streaming_write { self.may_join(&self.slots[i], s, fit) } else { self.arm_for(i, t) }
    }

    /// Breaks off the read-ahead in progress.
    pub(super) fn stop(&mut self, t: f64) {
        let gate = self.present_gate();
        let Some(stream) = &mut self.stream else { return };
        let free = stream.stop(&self.model.mechanics, &gate, t, self.model.read.stop_in_sector);
        self.note_progress();
        if let Some(stream) = self.stream.take() {
            (self.arm, self.arm_free) = (stream.arm(), free);
        }
    }

    /// Starts the arm for request `i`, at `t` or as soon as it can move.
    fn start(&mut self, i: usize, s: usize, write: bool, first: u64, limit: u64, t: f64) {
        let slot = &self.slots[i];
        // Breaking off the previous access adds to command processing.
        let begin = slot.arm_from.max(t) + (self.arm_free - t).max(0.0);
        let (read, policy) = (&self.model.read, &self.model.write);
        let order = match write {
            true => SectorOrder { immediate: policy.immediate, free: false, keep: false },
            false => {
                let keep = read.free_blocks && self.segments.of(s).is_empty();
                SectorOrder { immediate: read.immediate, free: read.free_blocks, keep }
            }
        };
        let asked = if write { limit } else { slot.end() };
        let stay = if write { Stay::Anywhere } else { self.stay() };
        // A write that continues the one that has just ended does not move the arm.
        let continues = self.wrote == (begin, first);
        let least = if write && !continues { policy.min_seek_delay } else { 0.0 };
        self.round = None;
        let gate = self.gate(s, write, first);
        let access =
            MediaAccess { segment: s, write, first, limit, asked, stay, order, direct: self.model.buffer.direct };
        let m = &self.model.mechanics;
        let stream = MediaStream::start(m, &gate, access, self.arm, begin, least);
        let service = &mut self.slots[i].service;
        service.seek = Nanos((stream.settled - begin) as u64);
        service.cylinders = self.arm.cylinder.abs_diff(stream.arm().cylinder);
        // While data are still to come, the start of a write is not known yet. Take the moment at which its first
        // sector passes.
        let passes = || stream.settled + m.latency(stream.settled, m.geometry.track_of(first).angle_of(first));
        let begun = if stream.run_start() < f64::INFINITY { stream.run_start() } else { passes() };
        service.rotation = Nanos((begun - stream.settled).max(0.0) as u64);
        self.stream = Some(stream);
        // Reads of blocks that this access will read can wait for it.
        self.segments.touch(s);
        self.note_progress();
    }

    /// Starts the turn of a read that uses segment `s`.
    pub(super) fn begin_read(&mut self, i: usize, s: usize, hit: SegmentHit, t: f64) {
        if self.slots[i].segment.is_none() {
            self.slots[i].segment = Some(s);
            self.segments.used(s, false);
        }
        self.slots[i].media = Media::Begun;
        self.holder = Some(i);
        let joined = self.is_streaming(s) && hit != SegmentHit::Miss;
        self.slots[i].service.cache_hit = hit == SegmentHit::Full || joined;
        if hit == SegmentHit::Miss {
            self.stop(t);
            let first = self.slots[i].unmoved();
            self.segments.edit(s, |segment| segment.clear(first));
        }
        let slot = self.slots[i];
        let limit = self.read_limit(&slot, s).max(self.segments.of(s).limit);
        self.segments.edit(s, |segment| segment.limit = limit);
        self.hold_to = slot.end() + u64::from(self.model.read.min_ahead);
        if joined {
            let gate = self.present_gate();
            if let Some(stream) = &mut self.stream {
                stream.asked = stream.asked.max(slot.end());
                stream.extend(&self.model.mechanics, &gate, limit, t);
            }
            return;
        }
        self.stop(t);
        let segment = *self.segments.of(s);
        if segment.is_dirty() || limit <= segment.end {
            return;
        }
        if hit == SegmentHit::Full {
            let track = self.model.mechanics.geometry.track_of(segment.end);
            let there = Arm { cylinder: track.cylinder, head: track.head };
            if !self.model.read.ahead_on_hit || !self.stay().allows(self.arm, there) {
                return;
            }
        }
        self.start(i, s, false, segment.end, limit, t);
    }

    /// Starts the turn of a write that uses, or will use, segment `s`.
    pub(super) fn begin_write(&mut self, i: usize, s: usize, fit: SegmentFit, t: f64) {
        if self.slots[i].segment.is_none() {
            self.take_for_write(i, s, fit, t);
        }
        self.slots[i].media = Media::Begun;
        self.holder = Some(i);
        let segment = *self.segments.of(s);
        let gate = self.present_gate();
        match &mut self.stream {
            Some(stream) if stream.write => {
                self.slots[i].service.cache_hit = true;
                stream.extend(&self.model.mechanics, &gate, segment.end, t);
            }
            _ => {
                self.stop(t);
                if segment.is_dirty() {
                    self.start(i, s, true, segment.written, segment.end, t);
                }
            }
        }
    }
}
