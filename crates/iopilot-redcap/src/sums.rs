//! [`Sums`]: the measured blocks and times of reads (GF 2.3.3), and [`RecentSums`]: the sums over the last 100 reads.

use iopilot_block::Nanos;

/// Blocks and times of one read, or of several. Times are I/O times: from dispatch to completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// `B_CHit`: blocks copied from the cache.
    pub(crate) hit_blocks: u64,
    /// `T_CHit`: time to copy them.
    pub(crate) hit_time: Nanos,
    /// `T_Wait`: time waited for blocks that were in flight.
    pub(crate) wait_time: Nanos,
    /// `B_CMiss`: requested blocks read from the disk.
    pub(crate) miss_blocks: u64,
    /// `T_CMiss`: time to read them.
    pub(crate) miss_time: Nanos,
    /// `B_Prefetched`: blocks prefetched.
    pub(crate) prefetch_blocks: u64,
    /// `T_Prefetched`: time to read them.
    pub(crate) prefetch_time: Nanos,
    /// `T_Disk_CHit`, measured while inactive: the disk's time for blocks that would have been hits.
    pub(crate) disk_hit_time: Nanos,
}

impl Sums {
    fn combine(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) {
        let time = |mine: &mut Nanos, other: Nanos| mine.0 = with(mine.0, other.0);
        self.hit_blocks = with(self.hit_blocks, other.hit_blocks);
        self.miss_blocks = with(self.miss_blocks, other.miss_blocks);
        self.prefetch_blocks = with(self.prefetch_blocks, other.prefetch_blocks);
        time(&mut self.hit_time, other.hit_time);
        time(&mut self.wait_time, other.wait_time);
        time(&mut self.miss_time, other.miss_time);
        time(&mut self.prefetch_time, other.prefetch_time);
        time(&mut self.disk_hit_time, other.disk_hit_time);
    }
}

/// The number of reads in [`RecentSums`].
const WINDOW: usize = 100;

/// The sums over the last 100 reads. O(1) for each read.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentSums {
    ring: Vec<Sums>,
    /// The index of the oldest read, once there are 100.
    oldest: usize,
    total: Sums,
}

impl RecentSums {
    pub(crate) fn add(&mut self, read: Sums) {
        self.total.combine(&read, |a, b| a + b);
        if self.ring.len() < WINDOW {
            self.ring.push(read);
            return;
        }
        let gone = std::mem::replace(&mut self.ring[self.oldest], read);
        self.total.combine(&gone, |a, b| a - b);
        self.oldest = (self.oldest + 1) % WINDOW;
    }

    pub(crate) const fn total(&self) -> &Sums {
        &self.total
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.ring.clear();
        (self.oldest, self.total) = (0, Sums::default());
    }
}

/// `time * n / of`, rounded down.
pub(crate) fn scaled(time: Nanos, n: u64, of: u64) -> Nanos {
    Nanos((u128::from(time.0) * u128::from(n) / u128::from(of)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_of_the_last_hundred() {
        let mut window = RecentSums::default();
        let read = |n: u64| Sums { hit_blocks: n, miss_time: Nanos(10 * n), ..Sums::default() };
        for n in 1..=250 {
            window.add(read(n));
        }
        // 151 + … + 250
        assert_eq!(*window.total(), Sums { hit_blocks: 20_050, miss_time: Nanos(200_500), ..Sums::default() });
        window.clear();
        assert!(window.is_empty());
        window.add(read(3));
        assert_eq!(window.total().hit_blocks, 3);
    }

    #[test]
    fn scaling_does_not_overflow() {
        assert_eq!(scaled(Nanos::MAX, 3_000_000_000, 3_000_000_000), Nanos::MAX);
        assert_eq!(scaled(Nanos(10), 2, 3), Nanos(6));
    }
}
