//! A cache above the block layer: changing it, and carrying out its actions.

use super::{Delayed, SimulationEngine};
use crate::cpu_timing::CpuTiming;
use crate::learning_disk::LearningDisk;
use crate::redcap_layer::RedcapLayer;
use iopilot_block::{InputError, Nanos};
use iopilot_device::Device;
use iopilot_redcap::{CacheGeometry, RedcapAction};
use iopilot_workload::{Source, SourceHandle};
use std::ops::Range;

impl<S: Source, D: Device, C: CpuTiming, V: LearningDisk> SimulationEngine<S, D, C, V> {
    /// Adds a cache above the block layer.
    pub(crate) fn with_redcap(self, redcap: RedcapLayer<V>) -> Self {
        Self { redcap: Some(Box::new(redcap)), ..self }
    }

    /// Whether there is a cache above the block layer, and it is active.
    pub(crate) fn is_redcap_active(&self) -> bool {
        self.redcap.as_ref().is_some_and(|layer| layer.is_active())
    }

    /// Turns the cache on or off, if there is one.
    pub(crate) fn set_redcap_active(&mut self, active: bool, now: Nanos) {
        if let Some((layer, now)) = self.cache_at(now) {
            layer.set_active(active, now);
            self.follow_cache();
        }
    }

    /// Turns the cache, if there is one, off for these ranges of sectors, and on for all others.
    pub(crate) fn set_redcap_off_regions(&mut self, sectors: &[Range<u64>], now: Nanos) {
        if let Some((layer, now)) = self.cache_at(now) {
            layer.set_off_regions(sectors, now);
            self.follow_cache();
        }
    }

    /// Changes the geometry of the cache, if there is one.
    pub(crate) fn set_redcap_geometry(&mut self, geometry: CacheGeometry, now: Nanos) -> Result<(), InputError> {
        if let Some((layer, now)) = self.cache_at(now) {
            layer.set_geometry(geometry, now)?;
            self.follow_cache();
        }
        Ok(())
    }

    /// The cache, if there is one, and the present time, which is at least `now`.
    fn cache_at(&mut self, now: Nanos) -> Option<(&mut RedcapLayer<V>, Nanos)> {
        self.now = self.now.max(now);
        let now = self.now;
        Some((self.redcap_mut()?, now))
    }

    /// Carries out the cache's actions after a change.
    fn follow_cache(&mut self) {
        self.serve_cache();
        self.apply_effects();
    }

    /// The cache above the block layer, if there is one.
    pub(crate) fn redcap_mut(&mut self) -> Option<&mut RedcapLayer<V>> {
        self.redcap.as_deref_mut()
    }

    /// Carries out the cache's actions, within a batch that the caller ends. Returns whether a request was sent.
    pub(super) fn carry_out(&mut self) -> bool {
        let now = self.now;
        let mut sent = false;
        while let Some(layer) = self.redcap.as_mut().filter(|layer| !layer.actions.is_empty()) {
            let mut actions = std::mem::take(&mut layer.actions);
            for action in actions.drain(..) {
                let Some(layer) = &mut self.redcap else { break };
                match action {
                    RedcapAction::Send(part) if part.is_optional() && !self.block.takes_at_once(&part) => {
                        layer.put_off(&part, now);
                    }
                    RedcapAction::Send(part) => {
                        let arrival = layer.arrival_of(&part);
                        self.block.submit(&arrival, now);
                        sent = true;
                    }
                    RedcapAction::Raise { part } => self.block.raise(RedcapLayer::<V>::handle_of(part), now),
                    RedcapAction::Copy { copy, io, sectors, .. } => {
                        let takes = layer.copy(io, sectors.0, now);
                        self.delays.push(now + takes, Delayed::Copied(copy));
                    }
                    RedcapAction::Done { io, .. } => {
                        let done = layer.done(io, now);
                        self.source.served(done.handle, done.cache_hit);
                        match done.slept {
                            true => self.completed(done.handle, done.process),
                            false => self.source.completed(done.handle, now),
                        }
                    }
                }
            }
            if let Some(layer) = &mut self.redcap {
                // Actions that were added meanwhile come after these.
                actions.append(&mut layer.actions);
                layer.actions = actions;
            }
        }
        sent
    }

    /// A process now waits for the workload's request `handle`.
    pub(super) fn waits(&mut self, handle: SourceHandle) {
        let now = self.now;
        if let Some(layer) = &mut self.redcap {
            layer.waits(handle);
            self.carry_out();
        } else {
            self.block.raise(handle, now);
        }
        self.block.unplug(now, &mut self.device, &mut self.cpus);
    }

    /// Carries out the cache's actions outside of a batch of the workload.
    pub(super) fn serve_cache(&mut self) {
        if self.carry_out() {
            self.block.end_batch(None, self.now, &mut self.device, &mut self.cpus);
        }
    }
}
