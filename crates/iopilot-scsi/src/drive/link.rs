//! The conversation between a drive and its controller.

use super::Drive;
use super::model::Preseek;
use super::slot::{BusStage, CommandSlot, Media};
use crate::{MessageKind, Signal};
use iopilot_block::{Nanos, Op};

impl Drive {
    /// When the next bus action of request `i` is due; `None` if it waits for something else.
    pub(super) fn due(&self, i: usize) -> Option<f64> {
        match self.slots[i].stage {
            BusStage::Command { until } | BusStage::Overhead { until, .. } => Some(until),
            BusStage::Burst { from, step, blocks } => Some(from + blocks as f64 * step),
            BusStage::Stalled => self.resumes(i),
            BusStage::Sent(_) | BusStage::Off | BusStage::Gone => None,
        }
    }

    pub(super) fn fire_if_due(&mut self, i: usize, t: f64, out: &mut Vec<Signal>) {
        if self.due(i).is_some_and(|due| due <= t) {
            self.fire(i, t, out);
        }
    }

    /// Does what [`Drive::due`] announced.
    pub(super) fn fire(&mut self, i: usize, t: f64, out: &mut Vec<Signal>) {
        match self.slots[i].stage {
            BusStage::Command { .. } => self.arrive(i, t, out),
            BusStage::Overhead { kind, .. } => {
                let slot = &mut self.slots[i];
                slot.stage = BusStage::Sent(kind);
                out.push(slot.message(kind));
                if kind == MessageKind::Complete {
                    self.last = if slot.is_read() { Op::Read } else { Op::Write };
                    self.last_end = slot.first() + slot.count();
                    if self.model.preseek == Preseek::Sent && self.holder == Some(i) {
                        self.holder = None;
                    }
                }
            }
            BusStage::Burst { blocks, .. } => {
                let slot = &mut self.slots[i];
                slot.moved += blocks;
                if let Some(s) = slot.segment.filter(|_| !slot.is_read()) {
                    self.segments.touch(s);
                }
                self.continue_transfer(i, t);
                self.sync(t);
                self.fire_if_due(i, t, out);
            }
            BusStage::Stalled => {
                self.continue_transfer(i, t);
                self.fire_if_due(i, t, out);
            }
            BusStage::Sent(_) | BusStage::Off | BusStage::Gone => {}
        }
    }

    /// The controller has acknowledged a message of request `i`.
    pub(super) fn on_acknowledged(&mut self, i: usize, kind: MessageKind, t: f64, out: &mut Vec<Signal>) {
        match kind {
            MessageKind::Ready | MessageKind::Reconnect => {
                self.slots[i].data_from = t;
                self.continue_transfer(i, t);
                self.fire_if_due(i, t, out);
            }
            MessageKind::Disconnect => {
                self.slots[i].stage = BusStage::Off;
                if let Some(extra) = self.model.write.extra_disconnect {
                    if self.slots[i].extra && self.slots[i].reselected == 0 {
                        self.slots[i].bus_from = t + extra.away;
                    }
                }
                self.park(i);
                self.off_bus(i, out);
            }
            MessageKind::Complete => {
                let waits = self.slots[i].media == Media::Waiting && self.pending.contains(&i);
                if waits && self.slots[i].request.op == Op::Write {
                    self.slots[i].stage = BusStage::Gone;
                } else {
                    // A read may have been sent before its turn.
                    self.unwait(i);
                    self.leave(i, t);
                }
                self.off_bus(i, out);
            }
        }
    }

    fn off_bus(&mut self, i: usize, out: &mut Vec<Signal>) {
        self.on_bus -= 1;
        if self.link == Some(i) {
            self.link = None;
        }
        out.push(Signal::Release);
    }

    /// Asks for the bus if a request needs it and the drive does not own it.
    pub(super) fn arbitrate(&mut self, t: f64, out: &mut Vec<Signal>) {
        if self.on_bus > 0 || self.asked {
            return;
        }
        self.serve_out_of_turn(t);
        if self.next_for_bus(t).is_some() {
            self.asked = true;
            out.push(Signal::Arbitrate);
        }
    }

    /// The request that uses the bus next. Bus priority: finished requests, then the arm's owner, then FIFO.
    fn next_for_bus(&self, t: f64) -> Option<usize> {
        let wanting = self.live.iter().copied().filter(|&i| self.wants_bus(i).is_some_and(|at| at <= t));
        wanting.min_by_key(|&i| (!self.is_finished(i), self.holder != Some(i), self.slots[i].number))
    }

    /// The drive has been granted the bus.
    pub(super) fn reselect(&mut self, t: f64, out: &mut Vec<Signal>) {
        let Some(i) = self.next_for_bus(t) else { return out.push(Signal::Release) };
        self.on_bus += 1;
        self.link = Some(i);
        let overheads = &self.model.overheads;
        let again = self.slots[i].extra && self.slots[i].reselected > 0;
        let mut until = t + if again { overheads.other_reselect } else { overheads.first_reselect };
        if !self.is_finished(i) {
            until += overheads.data_preparation;
        }
        self.slots[i].reselected += 1;
        self.slots[i].prepare(MessageKind::Reconnect, t, until);
        self.fire_if_due(i, t, out);
    }

    /// Whether only the completion message is left.
    pub(super) fn is_finished(&self, i: usize) -> bool {
        let slot = &self.slots[i];
        match slot.request.op {
            Op::Read => slot.all_moved(),
            Op::Write => slot.all_moved() && (slot.fast || self.is_written(slot)),
            Op::Flush | Op::Discard => slot.media == Media::Begun,
        }
    }

    fn is_written(&self, slot: &CommandSlot) -> bool {
        slot.count() == 0 || slot.segment.is_some_and(|s| self.segments.of(s).written >= slot.end())
    }

    /// From when on a disconnected request needs the bus; `None` if that is not known yet.
    pub(super) fn wants_bus(&self, i: usize) -> Option<f64> {
        let slot = &self.slots[i];
        if slot.stage != BusStage::Off {
            return None;
        }
        if self.is_finished(i) {
            return Some(slot.bus_from);
        }
        let s = slot.segment?;
        let segment = self.segments.of(s);
        let stream = self.stream.as_ref().filter(|stream| stream.segment == s);
        if slot.is_read() {
            let needed = self.high_water(slot).clamp(1, slot.count() - slot.moved);
            let last = slot.unmoved() + needed - 1;
            if last < segment.end { Some(0.0) } else { stream.and_then(|stream| stream.time_of(last)) }
        } else if slot.all_moved() {
            stream.and_then(|stream| stream.time_of(slot.end() - 1))
        } else {
            let dirty = self.received_dirty(s);
            let most = self.low_water(slot).min(self.segments.size - 1);
            // The medium may be waiting for more data.
            let starved = slot.moved == 0 || stream.is_some_and(|stream| stream.run_start() == f64::INFINITY);
            if dirty <= most || (starved && dirty < self.segments.size) {
                return Some(slot.bus_from);
            }
            let excess = dirty - most;
            stream.and_then(|stream| stream.time_of(segment.written + excess - 1)).map(|at| at.max(slot.bus_from))
        }
    }

    /// From when on a stalled request can continue; `None` if that is not known yet.
    fn resumes(&self, i: usize) -> Option<f64> {
        let slot = &self.slots[i];
        if self.is_finished(i) {
            return Some(0.0);
        }
        let s = slot.segment?;
        let segment = self.segments.of(s);
        let stream = self.stream.as_ref().filter(|stream| stream.segment == s);
        if slot.is_read() {
            let next = slot.unmoved();
            if next < segment.end { Some(0.0) } else { stream.and_then(|stream| stream.time_of(next)) }
        } else if slot.all_moved() {
            stream.and_then(|stream| stream.time_of(slot.end() - 1))
        } else if self.received_dirty(s) < self.segments.size {
            Some(0.0)
        } else {
            stream.and_then(|stream| stream.time_of(segment.written))
        }
    }

    /// Continues a request that is on the bus: with the next burst, the completion, or a disconnection.
    fn continue_transfer(&mut self, i: usize, t: f64) {
        if self.is_finished(i) {
            return self.complete(i, t);
        }
        let slot = self.slots[i];
        if !slot.all_moved() {
            let burst = if slot.is_read() { self.read_burst(&slot, t) } else { self.write_burst(&slot, t) };
            if let Some((from, step, blocks)) = burst {
                self.slots[i].stage = BusStage::Burst { from, step, blocks };
                // The medium may have waited for this burst.
                return self.sync(t);
            }
        }
        if self.may_stall(&slot) {
            self.slots[i].stage = BusStage::Stalled;
            return;
        }
        if let Some(s) = slot.segment.filter(|_| slot.is_read() && slot.media == Media::Waiting) {
            // It is not this read's turn: other requests may use the segment meanwhile.
            self.slots[i].segment = None;
            self.release_segment(s, &slot);
        }
        let overheads = &self.model.overheads;
        let overhead = match (slot.is_read(), self.model.write.extra_disconnect) {
            (true, _) => overheads.read_disconnect.of(self.last),
            (false, Some(extra)) if slot.extra => extra.second_disconnect,
            (false, _) => overheads.write_disconnect,
        };
        self.slots[i].prepare(MessageKind::Disconnect, t, t + overhead);
    }

    /// Whether a request may keep the bus while it waits for the medium. The parameters must allow it, and the medium
    /// must not be waiting for another request.
    fn may_stall(&self, slot: &CommandSlot) -> bool {
        let bus = &self.model.bus;
        let hold = if slot.is_read() { bus.hold_read } else { bus.hold_write && !slot.all_moved() };
        let inside =
            || self.parked.len() + self.live.iter().filter(|&&i| self.slots[i].stage != BusStage::Gone).count();
        let its_turn = slot.media == Media::Begun && slot.segment.is_some_and(|s| self.segments.of(s).users == 1);
        (hold || bus.never_disconnect) && (its_turn || inside() == 1)
    }

    /// The next burst of a read: its start, the time of a block, and the number of blocks. It sends all that is in
    /// the buffer and what arrives in the meantime. A read that holds the bus also sends blocks that it has to wait
    /// for.
    fn read_burst(&self, slot: &CommandSlot, t: f64) -> Option<(f64, f64, u64)> {
        let s = slot.segment?;
        let (next, end, step) = (slot.unmoved(), slot.end(), self.block.read);
        let there = self.segments.of(s).end.min(end).saturating_sub(next);
        let coming = self.stream.as_ref().filter(|stream| stream.segment == s);
        let coming = coming.and_then(|stream| stream.gapless_from(next + there));
        let left = end - next - there;
        if there > 0 {
            let more = coming.map_or(0, |(known, at, width)| {
                let ahead = t + there as f64 * step - at;
                let in_time = match ahead {
                    ahead if ahead < 0.0 => 0,
                    _ if step >= width => known,
                    ahead => (ahead / (width - step)) as u64 + 1,
                };
                in_time.min(known).min(left)
            });
            return Some((t, step, there + more));
        }
        if !self.may_stall(slot) {
            return None;
        }
        coming.map(|(known, at, width)| {
            let from = if width > step { at + step - width } else { at };
            (from, width.max(step), known.min(left))
        })
    }

    /// The next burst of a write: as many blocks as the segment has room for.
    fn write_burst(&self, slot: &CommandSlot, t: f64) -> Option<(f64, f64, u64)> {
        let s = slot.segment?;
        let room = self.segments.size.saturating_sub(self.received_dirty(s));
        let blocks = room.min(slot.count() - slot.moved);
        (blocks > 0).then_some((t, self.block.write, blocks))
    }

    /// Prepares the completion message of request `i`, whose data and medium are done.
    pub(super) fn complete(&mut self, i: usize, t: f64) {
        let overheads = &self.model.overheads;
        let slot = &mut self.slots[i];
        let overhead = if slot.is_read() { overheads.read_completion } else { overheads.write_completion };
        slot.service.transfer = Nanos((t - slot.data_from).max(0.0) as u64);
        slot.prepare(MessageKind::Complete, t, t + overhead);
    }

    /// The time of the drive's next event.
    pub(super) fn next_time(&self, t: f64) -> f64 {
        let mut next = f64::INFINITY;
        let mut watch = !self.pending.is_empty();
        for &i in &self.live {
            let at = match self.slots[i].stage {
                BusStage::Off if self.on_bus > 0 || self.asked => continue,
                BusStage::Off => self.wants_bus(i),
                BusStage::Sent(_) | BusStage::Gone => continue,
                _ => self.due(i),
            };
            match at {
                Some(at) => next = next.min(at.max(t)),
                None => watch = true,
            }
        }
        if let Some(stream) = self.stream.as_ref().filter(|_| watch) {
            next = next.min(stream.next_time());
            if !self.pending.is_empty() && !stream.write {
                let last = self.hold_to.min(stream.limit).saturating_sub(1);
                let enough = stream.time_of(last).unwrap_or(f64::INFINITY);
                let rest = if t < stream.settled { stream.settled } else { stream.boundary(t) };
                next = [enough, rest].into_iter().filter(|&at| at > t + 1.0).fold(next, f64::min);
            }
        }
        next.max(t)
    }
}
