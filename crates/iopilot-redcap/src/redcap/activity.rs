//! Turning the cache on and off (GF 2.3.3: intermediate states).

use super::Redcap;
use crate::check::ActivationVerdict;
use crate::records::Handling;
use crate::{ActivationCheck, CacheState, RedcapAction, ReferenceDisk};
use iopilot_block::Nanos;

impl<V: ReferenceDisk> Redcap<V> {
    /// Turns the cache on or off, for the algorithm `adaptive`, or for the user. Any other algorithm continues from there.
    pub fn set_active(&mut self, active: bool, now: Nanos, out: &mut Vec<RedcapAction>) {
        self.choose(active, now, out);
        self.settle(now, out);
    }

    /// Turns the cache on or off, or notes that for the end of a change of geometry.
    pub(super) fn choose(&mut self, active: bool, now: Nanos, out: &mut Vec<RedcapAction>) {
        match &mut self.rebuild {
            Some(rebuild) => rebuild.active = active,
            None if active != self.state.is_active() => self.change(active, now, out),
            None => {}
        }
    }

    /// Acts on a verdict of the algorithm.
    pub(super) fn follow(&mut self, verdict: Option<ActivationVerdict>, now: Nanos, out: &mut Vec<RedcapAction>) {
        let Some(ActivationVerdict { with_cache, without_cache, good, active }) = verdict else { return };
        let before = self.state;
        self.choose(active, now, out);
        let (reads, after) = (self.ended_reads, self.state);
        self.checks.add(ActivationCheck { at: now, reads, with_cache, without_cache, good, before, after });
    }

    /// A part of an original has ended. Ends the original if that was the last part.
    pub(super) fn ended(&mut self, id: u32, now: Nanos, out: &mut Vec<RedcapAction>) {
        let original = &mut self.originals[id];
        original.unended -= 1;
        if original.unended > 0 {
            return;
        }
        let original = *self.originals.remove(id);
        let is_read = original.handling != Handling::Plain;
        self.ended_reads += u64::from(is_read);
        self.cached -= usize::from(original.handling == Handling::Cached);
        if original.epoch == self.epoch {
            if is_read {
                let verdict = self.ada.finished(&original, self.state);
                self.follow(verdict, now, out);
            }
        } else if self.state.is_pending() {
            self.awaited -= 1;
            if self.awaited == 0 {
                self.state = CacheState::main(self.state.is_active());
            }
        }
        self.rebuild_if_unused(now, out);
    }

    /// Changes the state. A pending state that returns to the state before ends at once. Any other change is pending until the
    /// requests in flight have ended.
    ///
    /// When the cache is turned off, it drops its data, and the simulated directory takes over its segments. Data of before
    /// an inactive period are never served.
    pub(super) fn change(&mut self, active: bool, now: Nanos, out: &mut Vec<RedcapAction>) {
        let undone = self.state.is_pending();
        self.epoch = self.epoch.wrapping_add(1);
        self.awaited = self.originals.len();
        self.state = if undone || self.awaited == 0 { CacheState::main(active) } else { CacheState::pending(active) };
        self.ada.switched(active);
        if active {
            self.counters.activations += 1;
            self.simulated.clear();
        } else {
            self.counters.deactivations += 1;
            if self.ada.simulates() {
                self.simulated.imitate(&self.cache);
            }
            self.forget(0..=u64::MAX, now, out);
        }
    }
}
