//! [`Divisor`]: a divisor that is used often.

/// Divides by multiplying, which takes a fraction of the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    by: u64,
    /// 2^64 / `by`, rounded up; 0 if that is not exact enough.
    magic: u64,
}

impl Divisor {
    /// A divisor for numbers up to `largest`. `by` is not 0.
    ///
    /// The magic number is too large by less than 1, so a quotient is too large by less than `n / 2^64`. While `n *
    /// by < 2^64`, the error does not reach the next whole number.
    pub(super) fn new(by: u64, largest: u64) -> Self {
        let exact = by > 1 && u128::from(by) * u128::from(largest) < 1 << 64;
        Self { by, magic: if exact { u64::MAX / by + 1 } else { 0 } }
    }

    /// The quotient and the remainder of `n`.
    #[inline]
    pub(super) fn divide(self, n: u64) -> (u64, u64) {
        if self.magic == 0 {
            return (n / self.by, n % self.by);
        }
        let quotient = ((u128::from(self.magic) * u128::from(n)) >> 64) as u64;
        (quotient, n - quotient * self.by)
    }

    /// The divisor.
    #[inline]
    pub(super) fn get(self) -> u64 {
        self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn divides_as_division_does(by in 1u64..1 << 40, bits in 0u32..64, n: u64) {
            let largest = u64::MAX >> bits;
            let (n, divisor) = (n & largest, Divisor::new(by, largest));
            for n in [n, largest, n / by * by, (n / by * by).saturating_sub(1)] {
                prop_assert_eq!(divisor.divide(n), (n / by, n % by));
            }
        }
    }
}
