//! The response to a new command: the drive transfers data at once, or it disconnects.

use super::Drive;
use super::choice::SegmentHit;
use super::slot::CommandSlot;
use crate::{MessageKind, Signal};
use iopilot_block::Op;

impl Drive {
    /// The drive has decoded the command of request `i`.
    pub(super) fn arrive(&mut self, i: usize, t: f64, out: &mut Vec<Signal>) {
        let slot = self.slots[i];
        match slot.request.op {
            Op::Read if slot.count() > 0 => self.arrive_read(i, slot, t),
            Op::Write if slot.count() > 0 => self.arrive_write(i, slot, t),
            Op::Flush => self.arrive_flush(i, t),
            // Magnetic media have nothing to discard.
            Op::Discard | Op::Read | Op::Write => self.complete(i, t),
        }
        self.fire_if_due(i, t, out);
    }

    fn arrive_read(&mut self, i: usize, mut slot: CommandSlot, t: f64) {
        let overheads = &self.model.overheads;
        let miss = overheads.read_miss.of(self.last);
        slot.arm_from = t + miss;
        self.slots[i] = slot;
        let choice = self.choose_read(&slot, self.victims(), t);
        let turn = self.pending.is_empty() && choice.is_some_and(|(s, hit)| self.turn_of_read(i, s, hit, t));
        let read = &self.model.read;
        let hit = choice.map_or(SegmentHit::Miss, |(_, hit)| hit);
        let there = choice.map_or(0, |(s, _)| self.segments.of(s).end.saturating_sub(slot.first()));
        let (ready, sneaky) = match hit {
            SegmentHit::Full => (true, read.sneaky_full),
            SegmentHit::Partial => (read.partial_at_once || there >= self.high_water(&slot), read.sneaky_partial),
            SegmentHit::Miss => (false, false),
        };
        let allowed = (sneaky && there > 0) || (turn && !self.asked);
        let stay = self.link.is_none() && (self.model.bus.never_disconnect || (ready && allowed));
        let overheads = &self.model.overheads;
        if stay {
            self.link = Some(i);
            let first = if hit == SegmentHit::Miss { miss } else { overheads.read_hit.of(self.last) };
            self.slots[i].prepare(MessageKind::Ready, t, t + first + overheads.data_preparation);
        } else {
            let until = t + miss + overheads.read_disconnect.of(self.last);
            self.slots[i].prepare(MessageKind::Disconnect, t, until);
        }
        match choice {
            Some((s, hit)) if turn => {
                self.pass_queue(i, t);
                self.begin_read(i, s, hit, t);
            }
            Some((s, hit)) if stay && hit != SegmentHit::Miss => {
                self.slots[i].segment = Some(s);
                self.segments.used(s, false);
                self.wait(i, t);
            }
            _ => self.wait(i, t),
        }
    }

    fn arrive_write(&mut self, i: usize, mut slot: CommandSlot, t: f64) {
        let overheads = &self.model.overheads;
        let first = if slot.fast {
            let new_place = self.model.write.sequential_overhead && self.last_end != slot.first();
            overheads.write_hit.of(if new_place { Op::Read } else { self.last })
        } else {
            overheads.write_miss.of(self.last)
        };
        slot.arm_from = t + first;
        let choice = self.choose_write(&slot, self.victims(), t);
        let turn = self.pending.is_empty() && choice.is_some_and(|(s, fit)| self.turn_of_write(i, s, fit, t));
        let stay = self.link.is_none()
            && (self.model.bus.never_disconnect
                || (choice.is_some() && (self.model.write.prebuffering || (turn && !self.asked))));
        let leaves = self.model.write.extra_disconnect.filter(|_| {
            stay && !self.model.bus.never_disconnect
                && choice.is_some_and(|(s, _)| {
                    let segment = self.segments.of(s);
                    self.segments.is_latest(s) && segment.by_write && segment.end != slot.first()
                })
        });
        if let Some(extra) = leaves {
            slot.extra = true;
            slot.arm_from = t + extra.command + extra.seek_delta;
            let until = t + extra.command + extra.disconnect;
            slot.prepare(MessageKind::Disconnect, t, until);
        } else if stay {
            self.link = Some(i);
            let until = t + first + overheads.data_preparation;
            slot.prepare(MessageKind::Ready, t, until);
        } else {
            let until = t + first + overheads.write_disconnect;
            slot.prepare(MessageKind::Disconnect, t, until);
        }
        self.slots[i] = slot;
        match choice {
            Some((s, fit)) if turn => {
                self.pass_queue(i, t);
                self.begin_write(i, s, fit, t);
            }
            Some((s, fit)) if stay && leaves.is_none() => {
                self.take_for_write(i, s, fit, t);
                self.wait(i, t);
            }
            _ => self.wait(i, t),
        }
    }

    fn arrive_flush(&mut self, i: usize, t: f64) {
        let overheads = &self.model.overheads;
        let until = t + overheads.write_hit.of(self.last) + overheads.write_disconnect;
        if !self.segments.any_dirty() {
            return self.complete(i, t);
        }
        self.slots[i].prepare(MessageKind::Disconnect, t, until);
        self.wait(i, t);
    }

    /// How many blocks must be ready before a disconnected read reconnects.
    pub(super) fn high_water(&self, slot: &CommandSlot) -> u64 {
        self.water(slot, self.model.buffer.high_water)
    }

    /// How many blocks at most may be left to write before a disconnected write reconnects.
    pub(super) fn low_water(&self, slot: &CommandSlot) -> u64 {
        self.water(slot, self.model.buffer.low_water)
    }

    fn water(&self, slot: &CommandSlot, mark: f64) -> u64 {
        let size = self.segments.size;
        if self.model.buffer.water_by_request {
            ((size.min(slot.count()) as f64 * mark) as u64).max(1)
        } else {
            (size as f64 * mark).ceil() as u64
        }
    }
}
