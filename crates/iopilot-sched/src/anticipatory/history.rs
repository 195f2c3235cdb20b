//! What the anticipatory scheduler remembers of processes, and expects of new ones.

use crate::decay::{DecayingMean, DecayingShare};
use iopilot_block::{Lba, Nanos, Request};

/// Think times count up to this: longer ones say no more (`MAX_THINKTIME`).
const LONGEST_THINK: Nanos = Nanos::from_millis(19);

/// The memory of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct AsIoContext {
    /// Requests queued.
    pub(super) queued: u32,
    /// Requests that left the queues but are not with the device yet.
    pub(super) ready: u32,
    /// Whether it has submitted a synchronous request.
    started: bool,
    /// When its last synchronous request was complete.
    last_end: Option<Nanos>,
    /// Where its last request ended.
    position: Lba,
    think: DecayingMean,
    seek: DecayingMean,
}

impl AsIoContext {
    /// It submits `rq`. Also called with requests of others that happen to come in its stead.
    pub(super) fn arrived(&mut self, rq: &Request, now: Nanos, newcomers: &mut NewProcessStats) {
        if !rq.is_sync() {
            return;
        }
        if self.started || self.last_end.is_some() {
            let think = match self.last_end {
                Some(end) if self.queued + self.ready == 0 => now.since(end).min(LONGEST_THINK),
                _ => Nanos::ZERO,
            };
            let seek = self.position.distance(rq.lba);
            if self.think.is_empty() {
                newcomers.first_think(think);
            }
            if self.seek.is_empty() {
                newcomers.first_seek(seek);
            }
            self.think.add(think.0);
            self.seek.add_seek(seek);
        }
        self.position = rq.end();
        self.started = true;
    }

    /// A synchronous request of its is complete.
    pub(super) fn ended(&mut self, now: Nanos) {
        self.last_end = Some(now);
    }
}

/// What to expect of a process that is too new to have a history.
#[derive(Clone, Debug, Default)]
pub(super) struct NewProcessStats {
    /// How often one that was waited for exited instead of coming back.
    exits: DecayingShare,
    /// How often no other process took up the work of one that exited.
    exits_alone: DecayingShare,
    think: u64,
    seek: u64,
}

impl NewProcessStats {
    fn first_think(&mut self, think: Nanos) {
        self.think = (7 * self.think + 256 * think.0) / 8;
        self.exits.add(false);
    }

    fn first_seek(&mut self, seek: u64) {
        self.seek = (7 * self.seek + 256 * seek) / 8;
    }

    /// The distance at which the next request of `process` is expected.
    pub(super) fn expected_seek(&self, process: &AsIoContext) -> u64 {
        if process.seek.is_empty() { self.seek / 256 } else { process.seek.mean() }
    }

    /// The wait for `process` was in vain.
    pub(super) fn gave_up(&mut self, process: &AsIoContext, running: bool) {
        if process.think.is_empty() {
            self.exits.add(true);
        }
        if !running {
            self.exits_alone.add(true);
        }
    }

    /// Another process came in the stead of `process`.
    pub(super) fn cooperated(&mut self, process: &AsIoContext, running: bool) {
        if !running {
            if process.think.is_empty() {
                self.exits.add(true);
            }
            self.exits_alone.add(false);
        }
    }

    /// Whether `process` will hardly be back within `antic_expire`.
    pub(super) fn is_hopeless(&mut self, process: &AsIoContext, running: bool, antic_expire: Nanos) -> bool {
        if !running {
            if process.think.is_empty() {
                self.exits.add(true);
            }
            if self.exits_alone.of_256() > 128 {
                return true;
            }
        }
        if process.think.is_empty() {
            self.think / 256 > antic_expire.0 || self.exits.of_256() * self.exits_alone.of_256() > 128 * 256
        } else {
            process.think.mean() > antic_expire.0
        }
    }
}
