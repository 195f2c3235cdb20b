//! [`RandomMap`]: which blocks a random job has visited, so that it visits each once (fio's random map).

use iopilot_block::NumberMap;

/// A bit for each block. Above every 64 bits is a bit that is set when all of them are, and so on up.
///
/// The map of a large device stays small while little is visited: only words with a visit are stored, until they are an eighth
/// of all.
#[derive(Clone, Debug)]
pub(super) struct RandomMap {
    /// A bit for each block.
    visited: BitWords,
    /// `levels[0]` has a bit for each word of `visited`; `levels[n + 1]` one for each word of `levels[n]`. The last is
    /// one word.
    levels: Vec<Vec<u64>>,
    blocks: u64,
}

impl RandomMap {
    pub(super) fn new(blocks: u64) -> Self {
        let visited = BitWords::new(blocks);
        let mut levels = Vec::new();
        let mut bits = visited.count;
        loop {
            let words = bits.div_ceil(64);
            let mut level = vec![0; words as usize];
            if let Some(last) = level.last_mut() {
                *last = padding(bits);
            }
            levels.push(level);
            if words == 1 {
                return Self { visited, levels, blocks };
            }
            bits = words;
        }
    }

    /// Forgets all visits. O(blocks / 64).
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.blocks);
    }

    /// The first unvisited block at or after `from`, else from the start. O(log64 blocks).
    pub(super) fn next_free(&self, from: u64) -> Option<u64> {
        self.search(from).or_else(|| self.search(0))
    }

    fn search(&self, from: u64) -> Option<u64> {
        let word = from / 64;
        let free = !self.visited.get(word) & (u64::MAX << (from % 64));
        if free != 0 {
            return Some(word * 64 + u64::from(free.trailing_zeros()));
        }
        let word = self.free_bit(0, word + 1)?;
        Some(word * 64 + u64::from((!self.visited.get(word)).trailing_zeros()))
    }

    /// The first bit of a level at or after `from` that is not set.
    fn free_bit(&self, level: usize, from: u64) -> Option<u64> {
        let words = self.levels.get(level)?;
        let word = from / 64;
        let free = !words.get(word as usize)? & (u64::MAX << (from % 64));
        if free != 0 {
            return Some(word * 64 + u64::from(free.trailing_zeros()));
        }
        let word = self.free_bit(level + 1, word + 1)?;
        Some(word * 64 + u64::from((!words[word as usize]).trailing_zeros()))
    }

    /// Visits `block` and those after it: at most `most` blocks, up to the first visited one. Returns how many.
    pub(super) fn visit(&mut self, block: u64, most: u64) -> u64 {
        let mut n = 0;
        while n < most && block + n < self.blocks && self.set(block + n) {
            n += 1;
        }
        n
    }

    /// Sets a bit; false where it was set.
    fn set(&mut self, block: u64) -> bool {
        let mut index = block / 64;
        let bit = 1 << (block % 64);
        let before = self.visited.get(index);
        if before & bit != 0 {
            return false;
        }
        self.visited.set(index, before | bit);
        let mut full = before | bit == u64::MAX;
        for level in &mut self.levels {
            if !full {
                break;
            }
            let word = &mut level[(index / 64) as usize];
            *word |= 1 << (index % 64);
            full = *word == u64::MAX;
            index /= 64;
        }
        true
    }
}

/// The last word for `bits` bits: its bits that stand for no block are set.
fn padding(bits: u64) -> u64 {
    match bits % 64 {
        0 if bits > 0 => 0,
        used => u64::MAX << used,
    }
}

/// Maps of fewer words are stored whole from the start: 512 KiB.
const SMALL: u64 = 1 << 16;

/// The bits of the lowest level, in words of 64. A word without a visit need not be stored.
#[derive(Clone, Debug)]
struct BitWords {
    count: u64,
    /// The unused bits of the last word, always set.
    padding: u64,
    store: WordStore,
}

#[derive(Clone, Debug)]
enum WordStore {
    /// Every word.
    Dense(Vec<u64>),
    /// The words that have a visit.
    Sparse(NumberMap<u64, u64>),
}

impl BitWords {
    fn new(bits: u64) -> Self {
        let count = bits.div_ceil(64).max(1);
        let store = if count < SMALL {
            WordStore::Dense(vec![0; count as usize])
        } else {
            WordStore::Sparse(NumberMap::default())
        };
        Self { count, padding: padding(bits), store }
    }

    fn get(&self, index: u64) -> u64 {
        let word = match &self.store {
            WordStore::Dense(words) => words[index as usize],
            WordStore::Sparse(words) => words.get(&index).copied().unwrap_or(0),
        };
        if index + 1 == self.count { word | self.padding } else { word }
    }

    fn set(&mut self, index: u64, word: u64) {
        match &mut self.store {
            WordStore::Dense(words) => words[index as usize] = word,
            WordStore::Sparse(visited) => {
                visited.insert(index, word);
                // An entry of the table takes up to four words.
                if visited.len() as u64 > self.count / 8 {
                    let mut words = vec![0; self.count as usize];
                    for (&index, &word) in visited.iter() {
                        words[index as usize] = word;
                    }
                    self.store = WordStore::Dense(words);
                }
            }
        }
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
    fn a_large_map_stays_small_until_much_is_visited() {
        let blocks = 64 * SMALL * 16 + 5;
        let mut map = RandomMap::new(blocks);
        assert_eq!(map.next_free(blocks - 1), Some(blocks - 1));
        assert_eq!(map.visit(blocks - 2, 9), 2);
        assert_eq!(map.next_free(blocks - 2), Some(0));
        // A word each, up to an eighth of all.
        let visits = map.visited.count / 8 - 1;
        for word in 0..visits {
            assert_eq!((map.visit(word * 64 + 3, 1), map.next_free(word * 64 + 3)), (1, Some(word * 64 + 4)));
        }
        assert!(matches!(&map.visited.store, WordStore::Sparse(words) if words.len() as u64 == visits + 1));
        assert_eq!(map.visit(visits * 64 + 3, 1), 1);
        assert!(matches!(&map.visited.store, WordStore::Dense(_)));
        for word in (0..=visits).chain([map.visited.count - 1]) {
            assert_eq!(map.visit(word * 64 + 3, 1), 0);
        }
        map.clear();
        assert!(matches!(&map.visited.store, WordStore::Sparse(words) if words.is_empty()));
    }

    #[test]
    fn is_full_after_every_block_and_not_before() {
        for blocks in [1, 63, 64, 65, 4096, 4097, 300_000, 64 * SMALL + 1] {
            let mut map = RandomMap::new(blocks);
            for block in 0..blocks {
                assert_eq!(map.next_free(block), Some(block));
                assert_eq!(map.visit(block, 1), 1);
            }
            assert_eq!((map.next_free(0), map.visit(0, 1)), (None, 0));
        }
    }
}
