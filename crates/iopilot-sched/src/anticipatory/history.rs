//! The history of each process, from which the anticipatory scheduler predicts its next request.

use crate::decay::{DecayingMean, DecayingShare};
use iopilot_block::{Lba, Nanos, Request};

/// Longer think times count as this one (`MAX_THINKTIME`).
const LONGEST_THINK: Nanos = Nanos::from_millis(19);

/// The history of one process (`struct as_io_context`).
#[derive(Clone, Debug, Default)]
pub(super) struct AsIoContext {
    /// Requests queued.
    pub(super) queued: u32,
    /// Requests that have left the queues but are not at the device yet.
    pub(super) ready: u32,
    /// Whether it has submitted a synchronous request.
    started: bool,
    /// When its last synchronous request was complete.
    last_end: Option<Nanos>,
    /// The end of its last request.
    position: Lba,
    think: DecayingMean,
    seek: DecayingMean,
}

impl AsIoContext {
    /// The process submits `rq`. Also called with a nearby request of another process that replaces its own.
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

    /// A synchronous request of the process is complete.
    pub(super) fn ended(&mut self, now: Nanos) {
        self.last_end = Some(now);
    }
}

/// The prediction for a process that is too new to have a history.
#[derive(Clone, Debug, Default)]
pub(super) struct NewProcessStats {
    /// The share of awaited processes that exited instead of issuing another request.
    exits: DecayingShare,
    /// The share of exited processes whose work no other process continued.
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

    /// The expected distance of the next request of `process`.
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

    /// A nearby request of another process came instead of one of `process`.
    pub(super) fn cooperated(&mut self, process: &AsIoContext, running: bool) {
        if !running {
            if process.think.is_empty() {
                self.exits.add(true);
            }
            self.exits_alone.add(false);
        }
    }

    /// Whether `process` is unlikely to issue a request within `antic_expire`.
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
