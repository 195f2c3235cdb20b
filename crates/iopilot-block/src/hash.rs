//! [`NumberMap`]: a hash map with a fast hash, for numbers that no attacker chooses.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A `V` for each number, or newtype of one.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Hashes a number, such as a process' or a block's, by one multiplication. The hash is the same in every run, so that
/// iterating over a map is deterministic.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_numbers_get_different_buckets() {
        let hash = |n: u64| {
            let mut hasher = NumberHasher::default();
            hasher.write_u64(n);
            hasher.finish()
        };
        // A hash table looks at the lowest bits and at the highest seven.
        for (shift, mask) in [(0, 1023), (57, 127)] {
            let mut seen = vec![0; mask as usize + 1];
            for n in 0..8192 {
                seen[(hash(n) >> shift & mask) as usize] += 1;
            }
            let (least, most) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
            assert!(*least > 0 && *most < 3 * 8192 / seen.len(), "{least} to {most}");
        }
    }
}
