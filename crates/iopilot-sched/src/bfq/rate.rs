//! The estimate of the device's peak rate, on which budgets and weight-raising times depend.

use iopilot_block::Nanos;

/// Rates are in sectors a microsecond, shifted left by this many bits.
const SHIFT: u32 = 16;
const MIN_SAMPLES: u32 = 32;
const MIN_INTERVAL: u64 = 300_000_000;
const REFERENCE_INTERVAL: u64 = 1_000_000_000;
/// Shorter think times count as zero.
pub(super) const IMMEDIATE: u64 = 2_000_000;

/// Estimates the peak rate of the device from the times of dispatches, over intervals of a second.
#[derive(Clone, Debug)]
pub(super) struct PeakRate {
    /// In sectors a microsecond, shifted left by 16.
    pub(super) rate: u32,
    samples: u32,
    sequential: u32,
    sectors: u64,
    largest: u32,
    first_dispatch: Nanos,
    last_dispatch: Nanos,
    interval: u64,
    last_completion: Option<Nanos>,
}

impl PeakRate {
    /// An estimate that starts from `rate`.
    pub(super) fn new(rate: u32) -> Self {
        Self {
            rate,
            samples: 0,
            sequential: 0,
            sectors: 0,
            largest: 0,
            first_dispatch: Nanos::ZERO,
            last_dispatch: Nanos::ZERO,
            interval: 0,
            last_completion: None,
        }
    }

    /// Nanoseconds since the last completion. Wraps to a huge number if the caller's clock is behind the completion's,
    /// as in the kernel.
    pub(super) fn since_completion(&self, now: Nanos) -> u64 {
        self.last_completion.map_or(u64::MAX, |at| now.0.wrapping_sub(at.0))
    }

    /// The sectors that the device transfers in `ms` milliseconds at this rate.
    pub(super) fn sectors_in(&self, ms: u64) -> i64 {
        ((u64::from(self.rate) * 1000 * ms) >> SHIFT) as i64
    }

    /// Notes the dispatch of a request of `sectors`, with `in_driver` others at the device. True if the rate changed.
    pub(super) fn dispatched(&mut self, sectors: u32, seeky: bool, in_driver: u32, now: Nanos) -> bool {
        let mut changed = false;
        if self.samples == 0 {
            self.restart(sectors, now);
        } else if now.0.wrapping_sub(self.last_dispatch.0) > 100_000_000 && in_driver == 0 {
            changed = self.close();
            self.restart(sectors, now);
        } else {
            self.samples += 1;
            if (in_driver > 0 || self.since_completion(now) < IMMEDIATE) && !seeky {
                self.sequential += 1;
            }
            self.sectors += u64::from(sectors);
            self.largest = if self.samples % 32 == 0 { sectors } else { self.largest.max(sectors) };
            self.interval = now.0.wrapping_sub(self.first_dispatch.0);
            if self.interval >= REFERENCE_INTERVAL {
                changed = self.close();
                self.restart(sectors, now);
            }
        }
        self.last_dispatch = now;
        changed
    }

    /// Notes a completion. True if the rate changed.
    pub(super) fn completed(&mut self, now: Nanos) -> bool {
        let us = (self.since_completion(now) / 1000).min(u64::from(u32::MAX));
        // The device is so slow that the interval says nothing about its peak rate. It ends at the last event.
        let slow = us > IMMEDIATE / 1000 && (u64::from(self.largest) << SHIFT) / us < 1 << (SHIFT - 10);
        let changed = slow && self.close();
        if slow {
            self.samples = 0;
        }
        self.last_completion = Some(now);
        changed
    }

    fn restart(&mut self, sectors: u32, now: Nanos) {
        (self.first_dispatch, self.last_dispatch) = (now, now);
        (self.samples, self.sequential) = (1, 0);
        (self.sectors, self.largest) = (u64::from(sectors), sectors);
    }

    /// Updates the rate from the interval, if that is long and busy enough.
    fn close(&mut self) -> bool {
        if self.samples < MIN_SAMPLES || self.interval < MIN_INTERVAL {
            return false;
        }
        let to_completion = self.last_completion.map_or(0, |at| at.since(self.first_dispatch).0);
        self.interval = self.interval.max(to_completion);
        let measured = (self.sectors << SHIFT) / (self.interval / 1000);
        if (self.sequential < (3 * self.samples) >> 2 && measured <= u64::from(self.rate)) || measured > 20 << SHIFT {
            return false;
        }
        // From 0 to 8: a longer and more sequential interval counts more.
        let weight = u64::from(9 * self.sequential / self.samples);
        let weight = (weight.wrapping_mul(self.interval) / REFERENCE_INTERVAL).min(8);
        let divisor = 10 - weight as u32;
        self.rate = (self.rate * (divisor - 1) / divisor + measured as u32 / divisor).max(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converges_on_a_sequential_stream() {
        let mut r = PeakRate::new(9333);
        let mut now = Nanos::ZERO;
        // 256 sectors each millisecond: 0.256 sectors a microsecond.
        for _ in 0..20_000 {
            r.dispatched(256, false, 1, now);
            now += Nanos::from_millis(1);
            r.completed(now);
        }
        let expected = 0.256 * 65536.0;
        assert!((f64::from(r.rate) / expected - 1.0).abs() < 0.02, "{} {expected}", r.rate);
        assert!((r.sectors_in(124) - 31_744).abs() < 700);
    }

    #[test]
    fn a_slow_random_stream_does_not_lower_it() {
        let mut r = PeakRate::new(9333);
        let mut now = Nanos::ZERO;
        for _ in 0..1_000 {
            assert!(!r.dispatched(8, true, 0, now));
            now += Nanos::from_millis(8);
            assert!(!r.completed(now));
        }
        assert_eq!(r.rate, 9333);
    }
}
