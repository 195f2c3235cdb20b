//! [`RandomMap`]: which blocks a random job has visited, so that it visits each once (fio's random map).

/// A bit a block, and over every 64 bits one that says that they are all set, and so on up.
///
/// The memory is zeroed by the operating system page by page as it is touched: a map of a large device of which little
/// is visited stays small.
#[derive(Clone, Debug)]
pub(super) struct RandomMap {
    /// `levels[0]` has a bit for each block; `levels[n + 1]` one for each word of `levels[n]`. The last is one word.
    levels: Vec<Vec<u64>>,
    blocks: u64,
}

impl RandomMap {
    pub(super) fn new(blocks: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(64).max(1);
            let mut level = vec![0; words as usize];
            seal(&mut level, bits);
            levels.push(level);
            if words == 1 {
                return Self { levels, blocks };
            }
            bits = words;
        }
    }

    /// Forgets all visits. O(blocks / 64).
    pub(super) fn clear(&mut self) {
        let mut bits = self.blocks;
        for level in &mut self.levels {
            level.fill(0);
            seal(level, bits);
            bits = level.len() as u64;
        }
    }

    /// The first unvisited block at or after `from`, else from the start. O(log64 blocks).
    pub(super) fn next_free(&self, from: u64) -> Option<u64> {
        self.search(0, from).or_else(|| self.search(0, 0))
    }

    fn search(&self, level: usize, from: u64) -> Option<u64> {
        let words = &self.levels[level];
        let word = from / 64;
        let free = !words.get(word as usize)? & (u64::MAX << (from % 64));
        if free != 0 {
            return Some(word * 64 + u64::from(free.trailing_zeros()));
        }
        if level + 1 == self.levels.len() {
            return None;
        }
        let word = self.search(level + 1, word + 1)?;
        Some(word * 64 + u64::from((!words[word as usize]).trailing_zeros()))
    }

    /// Visits `block` and what follows it, `most` blocks or up to the first visited one; how many that were.
    pub(super) fn visit(&mut self, block: u64, most: u64) -> u64 {
        let mut n = 0;
        while n < most && block + n < self.blocks && self.set(block + n) {
            n += 1;
        }
        n
    }

    /// Sets a bit; false where it was set.
    fn set(&mut self, block: u64) -> bool {
        let mut index = block;
        for (height, level) in self.levels.iter_mut().enumerate() {
            let word = &mut level[(index / 64) as usize];
            let bit = 1 << (index % 64);
            if height == 0 && *word & bit != 0 {
                return false;
            }
            *word |= bit;
            if *word != u64::MAX {
                break;
            }
            index /= 64;
        }
        true
    }
}

/// Sets the bits of the last word that stand for nothing.
fn seal(level: &mut [u64], bits: u64) {
    if let Some(last) = level.last_mut() {
        *last = match bits % 64 {
            0 if bits > 0 => 0,
            used => u64::MAX << used,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(blocks in 1u64..9000, visits in proptest::collection::vec((0u64..9000, 1u64..9), 0..400)) {
            let mut map = RandomMap::new(blocks);
            let mut plain = vec![false; blocks as usize];
            for (from, most) in visits {
                let from = from % blocks;
                let expected = (from..blocks).chain(0..from).find(|&b| !plain[b as usize]);
                prop_assert_eq!(map.next_free(from), expected);
                let Some(block) = expected else { break };
                let run = (block..blocks).take(most as usize).take_while(|&b| !plain[b as usize]).count() as u64;
                prop_assert_eq!(map.visit(block, most), run);
                plain[block as usize..(block + run) as usize].fill(true);
            }
            map.clear();
            prop_assert_eq!(map.next_free(blocks - 1), Some(blocks - 1));
        }
    }

    #[test]
    fn is_full_after_every_block_and_not_before() {
        for blocks in [1, 63, 64, 65, 4096, 4097, 300_000] {
            let mut map = RandomMap::new(blocks);
            for block in 0..blocks {
                assert_eq!(map.next_free(block), Some(block));
                assert_eq!(map.visit(block, 1), 1);
            }
            assert_eq!((map.next_free(0), map.visit(0, 1)), (None, 0));
        }
    }
}
