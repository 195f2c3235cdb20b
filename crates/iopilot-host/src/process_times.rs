//! [`ProcessTimes`]: how a process spent its time.

use crate::process::{ProcessState, WaitReason};
use iopilot_block::Nanos;
use std::ops::{AddAssign, Sub};

/// How a process spent its time. All of it is one of four: running, runnable, waiting for the disk, or waiting for something
/// else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessTimes {
    pub(crate) running: Nanos,
    /// Its own computation, counted by its CPU. The rest of `running` is interrupts.
    pub(crate) computed: Nanos,
    pub(crate) runnable: Nanos,
    pub(crate) io_wait: Nanos,
    pub(crate) io_waits: u64,
    /// The part of `io_wait` spent waiting for room in the page cache.
    pub(crate) throttled: Nanos,
    pub(crate) throttles: u64,
    pub(crate) other_wait: Nanos,
    pub(crate) other_waits: u64,
}

impl ProcessTimes {
    /// Adds `time` spent in `state`.
    pub(crate) fn spend(&mut self, state: ProcessState, time: Nanos) {
        match state {
            ProcessState::Runnable => self.runnable += time,
            ProcessState::Blocked(wait) if wait.is_io() => {
                self.io_wait += time;
                if wait == WaitReason::Room {
                    self.throttled += time;
                }
            }
            ProcessState::Blocked(_) => self.other_wait += time,
            ProcessState::Running(_) => self.running += time,
            ProcessState::New | ProcessState::Exited => {}
        }
    }

    /// Counts a wait that begins.
    pub(crate) fn begin(&mut self, wait: WaitReason) {
        self.io_waits += u64::from(wait.is_io());
        self.throttles += u64::from(wait == WaitReason::Room);
        self.other_waits += u64::from(!wait.is_io());
    }

    /// The whole time.
    pub(crate) fn length(&self) -> Nanos {
        Nanos(self.running.0 + self.runnable.0 + self.io_wait.0 + self.other_wait.0)
    }
}

impl AddAssign for ProcessTimes {
    fn add_assign(&mut self, other: Self) {
        self.running += other.running;
        self.computed += other.computed;
        self.runnable += other.runnable;
        self.io_wait += other.io_wait;
        self.io_waits += other.io_waits;
        self.throttled += other.throttled;
        self.throttles += other.throttles;
        self.other_wait += other.other_wait;
        self.other_waits += other.other_waits;
    }
}

impl Sub for ProcessTimes {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            running: self.running.since(earlier.running),
            computed: self.computed.since(earlier.computed),
            runnable: self.runnable.since(earlier.runnable),
            io_wait: self.io_wait.since(earlier.io_wait),
            io_waits: self.io_waits - earlier.io_waits,
            throttled: self.throttled.since(earlier.throttled),
            throttles: self.throttles - earlier.throttles,
            other_wait: self.other_wait.since(earlier.other_wait),
            other_waits: self.other_waits - earlier.other_waits,
        }
    }
}
