//! [`FeistelPermutation`]: all numbers below n, each once, in pseudo-random order, without storing them.

/// A bijection of `0..n`: a Feistel network over the next even power of two, walked until it lands below n (at most
/// four steps on average).
#[derive(Clone, Debug)]
pub(super) struct FeistelPermutation {
    n: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl FeistelPermutation {
    pub(super) fn new(n: u64, seed: u64) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let keys = [1, 2, 3, 4].map(|round| mix(seed.wrapping_add(mix(round))));
        Self { n, half_bits: bits.div_ceil(2).max(1), keys }
    }

    /// Where `i`, below n, goes.
    pub(super) fn apply(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        let mask = (1u64 << self.half_bits) - 1;
        let mut x = i;
        loop {
            let (mut left, mut right) = (x >> self.half_bits, x & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mix(right.wrapping_add(key)) & mask));
            }
            x = left << self.half_bits | right;
            if x < self.n {
                return x;
            }
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every input bit moves every output bit.
pub(super) fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_every_number_once_in_no_simple_order() {
        for n in [1, 2, 3, 5, 64, 1000, 4097] {
            let p = FeistelPermutation::new(n, 7);
            let mut seen: Vec<u64> = (0..n).map(|i| p.apply(i)).collect();
            if n >= 64 {
                let rising = seen.windows(2).filter(|w| w[0] < w[1]).count() as f64 / n as f64;
                assert!((0.35..0.65).contains(&rising), "{rising}");
            }
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..n), "{n}");
        }
        assert_ne!(FeistelPermutation::new(1000, 1).apply(0), FeistelPermutation::new(1000, 2).apply(0));
    }
}
