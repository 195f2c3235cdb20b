//! [`Permutation`]: a pseudo-random one-to-one map of `0..n` onto itself. It is computed in either direction and not
//! stored.

/// Four Feistel rounds on the next even number of bits; a result outside the range goes through them again (cycle
/// walking).
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    n: u32,
    half: u32,
    keys: [u32; 4],
}

impl Permutation {
    pub(super) fn new(n: u32, seed: u64) -> Self {
        let bits = (u32::BITS - n.saturating_sub(1).leading_zeros()).max(2);
        let mut state = seed;
        let keys = [0; 4].map(|_: u32| {
            // Splitmix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) as u32
        });
        Self { n, half: bits.div_ceil(2), keys }
    }

    fn mix(&self, half: u32, key: u32) -> u32 {
        let x = (half ^ key).wrapping_mul(0x9e37_79b1);
        (x ^ (x >> 15)).wrapping_mul(0x85eb_ca77) >> (32 - self.half)
    }

    pub(super) fn apply(&self, x: u32) -> u32 {
        let mask = (1u32 << self.half) - 1;
        let mut x = x;
        loop {
            let (mut left, mut right) = (x >> self.half, x & mask);
            for key in self.keys {
                (left, right) = (right, left ^ self.mix(right, key));
            }
            x = left << self.half | right;
            if x < self.n {
                return x;
            }
        }
    }

    pub(super) fn invert(&self, y: u32) -> u32 {
        let mask = (1u32 << self.half) - 1;
        let mut y = y;
        loop {
            let (mut left, mut right) = (y >> self.half, y & mask);
            for key in self.keys.iter().rev() {
                (left, right) = (right ^ self.mix(left, *key), left);
            }
            y = left << self.half | right;
            if y < self.n {
                return y;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_met_once_and_the_inverse_undoes_it() {
        for n in [1, 2, 3, 100, 4096, 5000] {
            let p = Permutation::new(n, 7);
            let mut seen = vec![false; n as usize];
            for x in 0..n {
                let y = p.apply(x);
                assert!(!std::mem::replace(&mut seen[y as usize], true), "{n}: {y} twice");
                assert_eq!(p.invert(y), x);
            }
        }
    }

    #[test]
    fn it_scatters() {
        let p = Permutation::new(1 << 16, 1);
        let near = (0..1u32 << 16).filter(|&x| p.apply(x).abs_diff(x) < 656).count();
        // A hundredth of the range on either side: some 2 % of a random order.
        assert!((800..1900).contains(&near), "{near}");
    }
}
