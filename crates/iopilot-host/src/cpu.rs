//! [`Cpu`]: a process with a stack of kernel work above it.

use crate::totals::CpuUse;
use iopilot_block::Nanos;

/// Kernel work on a CPU, above the computation of its process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelWork {
    /// The time left.
    pub(crate) left: Nanos,
    pub(crate) what: KernelWorkKind,
    /// The account it is booked to.
    pub(crate) counts: CpuUse,
}

/// Kinds of kernel work, by what happens when the work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelWorkKind {
    /// The completion interrupt of a request: wakes the waiters.
    Completion(usize),
    /// Another interrupt of a request.
    Interrupt,
    /// An interrupt of this external source.
    External(usize),
    /// The process has been put to sleep: another one is chosen.
    Leave,
    /// The next process is in place.
    Enter,
}

/// A CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpu {
    /// The process whose computation is counted down once the work above it is done.
    pub(crate) process: Option<usize>,
    /// The last item is counted down.
    pub(crate) work: Vec<KernelWork>,
    /// When the count-down of the top item began, and when it ends; `None` for an idle CPU.
    pub(crate) since: Nanos,
    pub(crate) ends: Option<Nanos>,
    /// When the turn of its process ends, if others wait.
    pub(crate) quantum: Nanos,
    /// Whether its process must yield as soon as it may (the kernel's `need_resched`).
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

/// Stretches work by the clock's interrupts, which take `share` of the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// The clock's time for each nanosecond of work, in 2^-32 ns.
    ticks: u64,
}

impl Stretch {
    pub(crate) fn new(share: f64) -> Self {
        Self { ticks: (share / (1.0 - share) * 2f64.powi(32)).round() as u64 }
    }

    /// The time that `work` takes.
    #[inline]
    pub(crate) fn wall(self, work: Nanos) -> Nanos {
        if self.ticks == 0 {
            return work;
        }
        let ticks = (u128::from(work.0) * u128::from(self.ticks)) >> 32;
        work.saturating_add(Nanos(u64::try_from(ticks).unwrap_or(u64::MAX)))
    }

    /// The work done in a time `wall`.
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
