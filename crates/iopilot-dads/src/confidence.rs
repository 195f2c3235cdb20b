//! [`confidence`]: whether a difference is more than noise.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The number of blocks that a window is cut into. Neighbouring requests depend on each other, blocks much less.
const BLOCKS: usize = 24;
/// The number of resampled windows.
const SAMPLES: u32 = 1_000;

/// How sure it is, from 0 to 1, that requests like these cost less in `new` than `share` of their cost in `old`. Both
/// hold the same requests in the same order. This is a block bootstrap: blocks of neighbours are drawn with
/// replacement, and the result is the share of draws in which the difference holds. `None` for fewer than two requests
/// a block. O(n + draws).
pub(crate) fn confidence(old: &[f64], new: &[f64], share: f64) -> Option<f64> {
    let n = old.len().min(new.len());
    if n < 2 * BLOCKS {
        return None;
    }
    let gains: Vec<f64> = (0..BLOCKS)
        .map(|b| {
            let block = b * n / BLOCKS..(b + 1) * n / BLOCKS;
            share * old[block.clone()].iter().sum::<f64>() - new[block].iter().sum::<f64>()
        })
        .collect();
    let mut random = Pcg64Mcg::seed_from_u64(n as u64);
    let holds =
        (0..SAMPLES).filter(|_| (0..BLOCKS).map(|_| gains[random.random_range(0..BLOCKS)]).sum::<f64>() > 0.0).count();
    Some(holds as f64 / f64::from(SAMPLES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(mean: f64, seed: u64) -> Vec<f64> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        (0..600).map(|_| 2.0 * mean * random.random::<f64>()).collect()
    }

    #[test]
    fn a_real_difference_is_sure_and_noise_is_not() {
        assert!(confidence(&noisy(10.0, 1), &noisy(8.0, 2), 1.0).unwrap() > 0.99);
        assert!(confidence(&noisy(8.0, 1), &noisy(10.0, 2), 1.0).unwrap() < 0.01);
        // Of equal runs, either direction is as likely.
        let sure =
            (0..200).filter(|&s| confidence(&noisy(10.0, s), &noisy(10.0, s + 1000), 1.0).unwrap() > 0.95).count();
        assert!((2..=30).contains(&sure), "5 % of 200 are expected: {sure}");
    }

    #[test]
    fn a_few_slow_requests_prove_nothing() {
        let (mut old, new) = (vec![1.0; 600], vec![1.0; 600]);
        old[300] = 200.0;
        let sure = confidence(&old, &new, 1.0).unwrap();
        assert!(sure < 0.7, "all of the gain is one request: {sure}");
        assert_eq!(confidence(&old[..40], &new[..40], 1.0), None);
    }
}
