//! [`Pace`]: `rate`, `rate_iops` and `rate_process`.

use super::job::FioJob;
use iopilot_block::Nanos;
use rand::Rng;

/// When each direction may issue next, counted from the start of the job.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Bytes a second; 0 for no limit.
    bytes_per_s: [u64; 3],
    min_block: [u64; 3],
    poisson: bool,
    issued: [u64; 3],
    next: [Nanos; 3],
    /// The last arrival of the Poisson process.
    arrival: [Nanos; 3],
}

impl Pace {
    /// `None` where the job has no rate. A rate in requests counts in the smallest block, as in fio.
    pub(super) fn new(job: &FioJob) -> Option<Self> {
        let min_block = [0, 1, 2].map(|d| job.blocks[d].min());
        let bytes_per_s = [0, 1, 2].map(|d| match job.rate_iops[d] {
            0 => job.rate[d],
            iops => iops.saturating_mul(min_block[d]),
        });
        let limited = job.pattern.directions().any(|d| bytes_per_s[d] > 0);
        let zero = [Nanos::ZERO; 3];
        limited.then_some(Self {
            bytes_per_s,
            min_block,
            poisson: job.poisson,
            issued: [0; 3],
            next: zero,
            arrival: zero,
        })
    }

    /// When direction `d` may issue.
    pub(super) fn next(&self, d: usize) -> Nanos {
        self.next[d]
    }

    /// Direction `d` has issued `bytes`.
    pub(super) fn issued(&mut self, d: usize, bytes: u64, random: &mut impl Rng) {
        let rate = self.bytes_per_s[d];
        if rate == 0 {
            return;
        }
        self.issued[d] += bytes;
        self.next[d] = if self.poisson {
            let mean_s = self.min_block[d] as f64 / rate as f64;
            // 1 - u is never 0, which has no logarithm.
            let gap = Nanos::from_secs_f64(-(1.0 - random.random::<f64>()).ln() * mean_s);
            self.arrival[d] = self.arrival[d].saturating_add(gap);
            self.arrival[d]
        } else {
            time_of(self.issued[d], rate)
        };
    }

    /// With `rate_ignore_thinktime`, the job does not catch up after it thought for `time`. What it would have issued meanwhile
    /// counts as issued, except the block that is due when it resumes.
    pub(super) fn forgive(&mut self, d: usize, time: Nanos) {
        let rate = self.bytes_per_s[d];
        if rate == 0 {
            return;
        }
        let missed = (u128::from(rate) * u128::from(time.0) / 1_000_000_000) as u64;
        let due = if time_of(self.min_block[d], rate) <= time { self.min_block[d] } else { 0 };
        self.issued[d] += missed.saturating_sub(due);
        self.arrival[d] = self.arrival[d].saturating_add(time);
    }
}

fn time_of(bytes: u64, rate: u64) -> Nanos {
    Nanos((u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64)
}
