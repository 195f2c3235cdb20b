//! Requests that are served before their turn: reads of blocks in the buffer ("Allow sneaky intermediate read hits"),
//! and writes for which there is room ("Allow write prebuffering").

use super::Drive;
use super::choice::{SegmentFit, SegmentHit};
use super::segment::Victims;
use super::slot::Media;
use iopilot_block::Op;

/// How a waiting request is served before its turn: the segment that it uses, and how.
#[derive(Clone, Copy, Debug)]
enum OutOfTurn {
    Read(usize, SegmentHit),
    Write(usize, SegmentFit),
}

impl Drive {
    /// Serves the oldest request that may be served out of turn.
    pub(super) fn serve_out_of_turn(&mut self, t: f64) {
        let (reads, writes) = (self.model.read.sneaky_intermediate, self.model.write.prebuffering);
        if self.pending.is_empty() || !(reads || writes) {
            return;
        }
        let found = self.unseen_out_of_turn(t);
        match found {
            Some((i, OutOfTurn::Read(s, hit))) => {
                self.unpark(i);
                self.slots[i].segment = Some(s);
                self.segments.used(s, false);
                if hit == SegmentHit::Full {
                    self.slots[i].media = Media::Begun;
                    self.slots[i].service.cache_hit = true;
                    self.unwait(i);
                }
            }
            Some((i, OutOfTurn::Write(s, fit))) => self.take_for_write(i, s, fit, t),
            None => {}
        }
    }

    /// The oldest parked request that may be served out of turn, among those whose situation can have changed.
    fn unseen_out_of_turn(&mut self, t: f64) -> Option<(usize, OutOfTurn)> {
        let changes = self.segments.take_changes();
        if changes.too_many {
            self.parked.all_changed(true);
        } else {
            changes.iter().for_each(|blocks| self.parked.changed(blocks));
        }
        self.segments.reuse(changes);
        if self.parked.writes() > 0 && self.segments.may_dirty() {
            // Any segment that became free may suit a write.
            self.parked.all_changed(false);
        }
        let victims = self.victims();
        // [`Drive::out_of_turn`] does not count parked requests.
        let mut parked = std::mem::take(&mut self.parked);
        let found = parked.find(|i| self.slots[i].number, |i| self.out_of_turn(i, victims, t));
        self.parked = parked;
        debug_assert_eq!(
            found.map(|(i, _)| i),
            self.pending.iter().copied().find(|&i| self.out_of_turn(i, victims, t).is_some()),
            "a search near changes agrees with a search of all"
        );
        found
    }

    /// How request `i` may be served out of turn.
    fn out_of_turn(&self, i: usize, victims: Victims, t: f64) -> Option<OutOfTurn> {
        let slot = &self.slots[i];
        if !slot.parked {
            return None;
        }
        if slot.is_read() && self.model.read.sneaky_intermediate {
            let enough = self.high_water(slot).clamp(1, slot.count() - slot.moved);
            let there = |s: usize| self.segments.of(s).end.saturating_sub(slot.unmoved());
            let (s, hit) = self.choose_read(slot, victims, t)?;
            (hit != SegmentHit::Miss && there(s) >= enough).then_some(OutOfTurn::Read(s, hit))
        } else if slot.request.op == Op::Write && self.model.write.prebuffering {
            self.choose_write(slot, victims, t).map(|(s, fit)| OutOfTurn::Write(s, fit))
        } else {
            None
        }
    }
}
