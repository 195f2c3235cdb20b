//! [`Cpu`]: one thing at a time, and what was interrupted goes on afterwards.

use crate::totals::CpuUse;
use iopilot_block::Nanos;

/// Work of the kernel on a CPU, above what its process computes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelWork {
    /// What is left of it.
    pub(crate) left: Nanos,
    pub(crate) what: KernelWorkKind,
    /// What it counts as.
    pub(crate) counts: CpuUse,
}

/// What a piece of the kernel's work does when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelWorkKind {
    /// The interrupt of a request that is complete: wakes who waits.
    Completion(usize),
    /// Another interrupt of a request.
    Interrupt,
    /// An interrupt of this external source.
    External(usize),
    /// The process has been put to sleep: another is chosen.
    Leave,
    /// The next process is in place.
    Enter,
}

/// A CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpu {
    /// Whose computation is counted down, or would be without the work above it.
    pub(crate) process: Option<usize>,
    /// The last is counted down.
    pub(crate) work: Vec<KernelWork>,
    /// Since when what is on top is counted down, and when that ends; `None` where the CPU is idle.
    pub(crate) since: Nanos,
    pub(crate) ends: Option<Nanos>,
    /// When its process has computed long enough for now, if others want to.
    pub(crate) quantum: Nanos,
    /// Whether its process is to make room as soon as it may.
    pub(crate) resched: bool,
    /// The process that ran last.
    pub(crate) last: Option<usize>,
}

impl Cpu {
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.process.is_none() && self.work.is_empty()
    }

    /// Whether a process computes on it.
    #[inline]
    pub(crate) fn computes(&self) -> bool {
        self.process.is_some() && self.work.is_empty()
    }
}

/// How much longer everything takes, as the clock interrupts it: `share` of the time is the clock's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// The clock's time for each nanosecond of work, in 2^-32 ns.
    ticks: u64,
}

impl Stretch {
    pub(crate) fn new(share: f64) -> Self {
        Self { ticks: (share / (1.0 - share) * 2f64.powi(32)).round() as u64 }
    }

    /// How long so much work takes.
    #[inline]
    pub(crate) fn wall(self, work: Nanos) -> Nanos {
        if self.ticks == 0 {
            return work;
        }
        let ticks = (u128::from(work.0) * u128::from(self.ticks)) >> 32;
        work.saturating_add(Nanos(u64::try_from(ticks).unwrap_or(u64::MAX)))
    }

    /// How much work is done in so long a time.
    #[inline]
    pub(crate) fn work(self, wall: Nanos) -> Nanos {
        if self.ticks == 0 {
            return wall;
        }
        Nanos(((u128::from(wall.0) << 32) / ((1u128 << 32) + u128::from(self.ticks))) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_takes_its_share() {
        let stretch = Stretch::new(0.0275);
        let second = Nanos::from_secs(1);
        assert_eq!(stretch.wall(second).0, 1_028_277_634);
        assert!(stretch.work(stretch.wall(second)).0.abs_diff(second.0) <= 1);
        assert_eq!(Stretch::new(0.0).wall(second), second);
    }
}
