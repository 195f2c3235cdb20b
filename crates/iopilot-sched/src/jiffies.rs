//! The kernel's coarse clock, which its schedulers use for long times.

use iopilot_block::Nanos;

/// `CONFIG_HZ` of Debian, Ubuntu and most other distributions. It is visible: bfq's `timeout_sync`, an eighth of a
/// second, reads as 124 ms.
pub(crate) const HZ: i64 = 250;

/// A tick, in nanoseconds.
const TICK_NS: u64 = 1_000_000_000 / HZ as u64;

/// Ticks since the start, rounded down. Signed, to represent times long before the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Jiffies(pub(crate) i64);

impl Jiffies {
    /// Before every recorded time. Adding an interval does not overflow.
    pub(crate) const LONG_AGO: Self = Self(i64::MIN / 4);

    /// The tick that `now` falls in.
    pub(crate) const fn at(now: Nanos) -> Self {
        Self((now.0 / TICK_NS) as i64)
    }

    /// This time plus `ms` milliseconds, rounded up to ticks as in `msecs_to_jiffies`.
    pub(crate) const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0 + ms_to_ticks(ms))
    }
}

/// Milliseconds in ticks, rounded up.
pub(crate) const fn ms_to_ticks(ms: u64) -> i64 {
    (ms * HZ as u64).div_ceil(1000) as i64
}

/// When the kernel runs a queue again if its scheduler had requests at `now` but dispatched none. The delay is
/// `BLK_MQ_BUDGET_DELAY`, 3 ms. The timer wheel rounds it up to the second tick from `now`.
pub const fn retry_at(now: Nanos) -> Nanos {
    Nanos((Jiffies::at(now).0 as u64 + 2) * TICK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_rounds_down_and_an_interval_up() {
        assert_eq!(Jiffies::at(Nanos::from_micros(7_999)), Jiffies(1));
        assert_eq!(ms_to_ticks(125), 32);
        assert_eq!(Jiffies(2).plus_ms(500), Jiffies(127));
        assert_eq!(retry_at(Nanos::from_millis(12)), Nanos::from_millis(20));
        assert_eq!(retry_at(Nanos::from_micros(15_999)), Nanos::from_millis(20));
        assert!(Jiffies::LONG_AGO.plus_ms(10_000) < Jiffies::at(Nanos::ZERO));
    }
}
