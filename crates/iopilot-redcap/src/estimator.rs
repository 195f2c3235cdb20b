//! [`Estimator`]: `v0`, `v1` and `v2`, which estimate the cost of the other state from times of the present one (GF 2.3.3).
//!
//! The cache saves time while `T_CHit + T_Wait + T_Prefetched <= T_Disk_CHit` (eq. 2.9), in sums over the last 100 reads.
//! While the cache is active, the left side is measured, and the right side is estimated from the misses. While it is
//! inactive, the right side is measured, and the left side is estimated from the last active period.

use crate::check::ActivationVerdict;
use crate::sums::{RecentSums, Sums, scaled};
use crate::{Interval, RedcapSpec};
use iopilot_block::Nanos;

/// The usual, the shortest and the longest interval between checks, in reads.
const USUAL: u32 = 100;
const SHORTEST: u32 = 50;
const LONGEST: u32 = 200;
/// The number of good checks in a row that doubles the interval.
const GOOD_ROW: u32 = 4;
/// The number of bad checks in a row that turns the cache off.
const BAD_ROW: u32 = 2;

/// A number of blocks, and the disk's time for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rate {
    time: Nanos,
    blocks: u64,
}

impl Rate {
    /// The time for `blocks` at this rate. `None` if the rate is of no blocks.
    fn of(self, blocks: u64) -> Option<Nanos> {
        (self.blocks > 0).then(|| scaled(self.time, blocks, self.blocks))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Estimator {
    window: RecentSums,
    /// Reads since the last check.
    since_check: u32,
    interval: u32,
    adaptive: bool,
    /// Whether eq. 2.5 is used, or 2.6.
    carry: bool,
    good_row: u32,
    bad_row: u32,
    /// The sums of the last active period.
    last_active: Sums,
    /// The misses of the last inactive period, halved at each check.
    last_inactive: Rate,
    /// The latest misses.
    last_misses: Rate,
    /// The cost of copying a block, until one is measured.
    copy_time: Nanos,
}

impl Estimator {
    pub(crate) fn new(spec: &RedcapSpec) -> Self {
        Self {
            window: RecentSums::default(),
            since_check: 0,
            interval: USUAL,
            adaptive: spec.interval_or_default() == Interval::Adaptive,
            carry: spec.carry_or_default(),
            good_row: 0,
            bad_row: 0,
            last_active: Sums::default(),
            last_inactive: Rate::default(),
            last_misses: Rate::default(),
            copy_time: Nanos::from_millis_f64(spec.copy_us_per_kib * 4.0 / 1e3),
        }
    }

    /// Accounts for a read that the present state has handled. Returns the verdict, if a check is due.
    pub(crate) fn add(&mut self, read: Sums, active: bool) -> Option<ActivationVerdict> {
        self.window.add(read);
        self.since_check += 1;
        let due = if active { self.interval } else { USUAL };
        if self.since_check < due {
            return None;
        }
        self.since_check = 0;
        let (with_cache, without_cache, good) = if active { self.check_active() } else { self.check_inactive() };
        let active = if active { self.judge(good) } else { good };
        Some(ActivationVerdict { with_cache, without_cache, good, active })
    }

    /// Both sides of eq. 2.9, and whether it holds.
    fn check_active(&mut self) -> (Nanos, Nanos, bool) {
        let sums = self.window.total();
        let with = sums.hit_time + sums.wait_time + sums.prefetch_time; // 2.2
        let carried = if self.carry { self.last_inactive } else { Rate::default() };
        let misses = Rate { time: sums.miss_time + carried.time, blocks: sums.miss_blocks + carried.blocks };
        let estimate = misses.of(sums.hit_blocks); // 2.5; without carry, 2.6
        let without = estimate.or_else(|| self.last_misses.of(sums.hit_blocks)).unwrap_or_default();
        let nothing_read = estimate.is_none() && sums.prefetch_blocks == 0;
        let good = nothing_read || with <= without; // 2.9
        if sums.miss_blocks > 0 {
            self.last_misses = Rate { time: sums.miss_time, blocks: sums.miss_blocks };
        }
        self.last_inactive.time.0 /= 2;
        self.last_inactive.blocks /= 2;
        (with, without, good)
    }

    /// Both sides of eq. 2.9, and whether it holds.
    fn check_inactive(&self) -> (Nanos, Nanos, bool) {
        let (sums, last) = (self.window.total(), &self.last_active);
        let of_hits = |time, blocks| Rate { time, blocks }.of(sums.hit_blocks);
        let hit = of_hits(last.hit_time, last.hit_blocks).unwrap_or(self.copy_time * sums.hit_blocks); // 2.10
        let wait = of_hits(last.wait_time, last.hit_blocks).unwrap_or_default(); // 2.11
        let prefetch = [
            Rate { time: last.prefetch_time, blocks: last.prefetch_blocks }, // 2.12
            Rate { time: sums.miss_time, blocks: sums.miss_blocks },
            Rate { time: sums.disk_hit_time, blocks: sums.hit_blocks },
        ];
        let prefetch = prefetch.iter().find_map(|rate| rate.of(sums.prefetch_blocks)).unwrap_or_default();
        let (with, without) = (hit + wait + prefetch, sums.disk_hit_time);
        (with, without, with <= without) // 2.9
    }

    /// Sets the next interval. Returns whether the cache stays active.
    fn judge(&mut self, good: bool) -> bool {
        if good {
            self.bad_row = 0;
            self.good_row += 1;
            if self.good_row == GOOD_ROW {
                self.good_row = 0;
                self.set_interval(self.interval * 2);
            }
            return true;
        }
        self.good_row = 0;
        self.bad_row += 1;
        if self.bad_row == 1 {
            self.set_interval(self.interval / 2);
        }
        self.bad_row < BAD_ROW
    }

    fn set_interval(&mut self, reads: u32) {
        if self.adaptive {
            self.interval = reads.clamp(SHORTEST, LONGEST);
        }
    }

    /// The cache was turned on or off.
    pub(crate) fn switched(&mut self, active: bool) {
        if !self.window.is_empty() {
            let sums = *self.window.total();
            if active {
                self.last_inactive = Rate { time: sums.miss_time, blocks: sums.miss_blocks };
            } else {
                self.last_active = sums;
            }
        }
        self.window.clear();
        (self.since_check, self.interval, self.good_row, self.bad_row) = (0, USUAL, 0, 0);
    }
}

#[cfg(test)]
mod tests;
