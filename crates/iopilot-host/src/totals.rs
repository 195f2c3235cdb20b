//! [`CpuTotals`]: how the CPUs spent their time, to the nanosecond.

use iopilot_block::{HostTimes, Nanos};
use std::ops::{AddAssign, Sub};

/// What CPU time is booked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuUse {
    /// Computation of a process.
    Process,
    /// Kernel work of no process: interrupts, context switches.
    Kernel,
    /// Kernel work that exists because a process blocked for a request.
    FalseComputation,
}

/// Sums over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTotals {
    pub(crate) process: Nanos,
    pub(crate) kernel: Nanos,
    pub(crate) false_computation: Nanos,
    pub(crate) false_idle: Nanos,
    pub(crate) idle: Nanos,
}

impl CpuTotals {
    pub(crate) fn add(&mut self, what: CpuUse, time: Nanos) {
        match what {
            CpuUse::Process => self.process += time,
            CpuUse::Kernel => self.kernel += time,
            CpuUse::FalseComputation => self.false_computation += time,
        }
    }

    /// The sum of all times.
    pub(crate) fn sum(&self) -> Nanos {
        Nanos(self.process.0 + self.kernel.0 + self.false_computation.0 + self.false_idle.0 + self.idle.0)
    }

    /// The times in seconds. `own` is the task's part of the processes' time.
    pub(crate) fn times(&self, own: Nanos) -> HostTimes {
        HostTimes {
            computation_s: own.as_secs_f64(),
            other_s: (self.kernel.0 + self.process.since(own).0) as f64 / 1e9,
            false_computation_s: self.false_computation.as_secs_f64(),
            false_idle_s: self.false_idle.as_secs_f64(),
            idle_s: self.idle.as_secs_f64(),
        }
    }
}

impl AddAssign for CpuTotals {
    fn add_assign(&mut self, other: Self) {
        self.process += other.process;
        self.kernel += other.kernel;
        self.false_computation += other.false_computation;
        self.false_idle += other.false_idle;
        self.idle += other.idle;
    }
}

impl Sub for CpuTotals {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            process: self.process.since(earlier.process),
            kernel: self.kernel.since(earlier.kernel),
            false_computation: self.false_computation.since(earlier.false_computation),
            false_idle: self.false_idle.since(earlier.false_idle),
            idle: self.idle.since(earlier.idle),
        }
    }
}
