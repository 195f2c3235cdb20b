//! [`Starts`]: finds the interval that holds a number.

/// The sorted first numbers of adjacent intervals, with a table of guesses: a search is O(1) on average and O(log
/// intervals) at worst.
#[derive(Clone, Debug)]
pub(super) struct Starts {
    /// The first number of each interval, and the end.
    firsts: Box<[u64]>,
    /// By number shifted right: the interval that holds the first number of the bucket.
    guesses: Box<[u32]>,
    shift: u32,
}

/// Buckets per interval: more buckets make the first guess right more often, fewer stay in the processor's cache.
const FINE: usize = 4;
/// The number of intervals from which the cache matters more.
const MANY: usize = 2048;

impl Starts {
    /// `firsts` rise from 0; the numbers end before `end`, which is at most 2^62.
    pub(super) fn new(mut firsts: Vec<u64>, end: u64) -> Self {
        let fineness = if firsts.len() < MANY { FINE } else { 1 };
        let wanted = (firsts.len() * fineness).next_power_of_two() as u64;
        let shift = (end / wanted).max(1).ilog2();
        let buckets = (end >> shift) as usize + 2;
        let mut guesses = Vec::with_capacity(buckets);
        let mut i = 0;
        for bucket in 0..buckets as u64 {
            while i + 1 < firsts.len() && firsts[i + 1] <= bucket << shift {
                i += 1;
            }
            guesses.push(i as u32);
        }
        firsts.push(end);
        Self { firsts: firsts.into(), guesses: guesses.into(), shift }
    }

    /// The interval that holds `x`, which is below the end.
    #[inline]
    pub(super) fn find(&self, x: u64) -> usize {
        let bucket = (x >> self.shift) as usize;
        let (low, high) = (self.guesses[bucket] as usize, self.guesses[bucket + 1] as usize);
        match high - low {
            0 => low,
            1 => low + usize::from(self.firsts[high] <= x),
            _ => low + self.firsts[low + 1..=high].partition_point(|&first| first <= x),
        }
    }

    /// The first number of interval `i`.
    #[inline]
    pub(super) fn first(&self, i: usize) -> u64 {
        self.firsts[i]
    }

    /// The end of interval `i`.
    #[inline]
    pub(super) fn end(&self, i: usize) -> u64 {
        self.firsts[i + 1]
    }

    /// The number of intervals.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.firsts.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn find_agrees_with_a_linear_search(lengths in prop::collection::vec(1u64..2000, 1..200), scale in 0u32..40) {
            let mut firsts = vec![0];
            for length in lengths {
                firsts.push(firsts[firsts.len() - 1] + (length << scale));
            }
            let end = firsts.pop().unwrap();
            let starts = Starts::new(firsts.clone(), end);
            prop_assert_eq!((starts.len(), starts.end(firsts.len() - 1)), (firsts.len(), end));
            for i in 0..1000 {
                let x = (u128::from(end - 1) * i / 999) as u64;
                prop_assert_eq!(starts.find(x), firsts.partition_point(|&f| f <= x) - 1);
            }
            for &first in &firsts {
                prop_assert_eq!(firsts[starts.find(first)], first);
                prop_assert!(starts.end(starts.find(first)) > first);
            }
        }
    }
}
