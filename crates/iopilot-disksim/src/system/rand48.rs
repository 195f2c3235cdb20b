//! [`Rand48`]: the 48-bit linear congruential generator of the C library, for the same streams as DiskSim's.

/// `x' = (0x5DEECE66D x + 0xB) mod 2^48`, as in `drand48(3)`. One instance serves a whole run, because the order of
/// draws determines the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rand48 {
    state: u64,
}

const MASK: u64 = (1 << 48) - 1;

impl Rand48 {
    /// The stream of `srand48(seed)`.
    pub(crate) fn new(seed: u32) -> Self {
        Self { state: u64::from(seed) << 16 | 0x330E }
    }

    /// The next number, uniform in `[0, 1)`.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & MASK;
        self.state as f64 / (MASK + 1) as f64
    }

    /// Minus the logarithm of a uniform number: exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    /// A whole number below `n`, which is at least 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_stream_of_drand48() {
        // Computed from the recurrence with exact integers.
        let mut r = Rand48::new(42);
        let first: Vec<f64> = (0..3).map(|_| r.uniform()).collect();
        assert!((first[0] - 0.744_525).abs() < 1e-6, "{first:?}");
        assert!((first[1] - 0.342_701).abs() < 1e-6, "{first:?}");
        assert!((first[2] - 0.111_085).abs() < 1e-6, "{first:?}");
    }

    #[test]
    fn stays_in_its_range() {
        let mut r = Rand48::new(1);
        assert!((0..10_000).all(|_| (0.0..1.0).contains(&r.uniform())));
        assert!((0..1_000).all(|_| r.below(3) < 3));
        let mean = (0..100_000).map(|_| r.exponential()).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
