//! [`BlockSet`]: a bit for each block of every line.

use std::ops::Range;

/// Bits of `line` blocks for each of many lines.
#[derive(Clone, Debug)]
pub(crate) struct BlockSet {
    words: Vec<u64>,
    per_line: usize,
}

impl BlockSet {
    pub(crate) fn new(lines: usize, line: usize) -> Self {
        let per_line = line.div_ceil(64);
        Self { words: vec![0; lines * per_line], per_line }
    }

    pub(crate) fn get(&self, line: usize, block: usize) -> bool {
        self.words[line * self.per_line + block / 64] >> (block % 64) & 1 == 1
    }

    pub(crate) fn set(&mut self, line: usize, blocks: Range<usize>, value: bool) {
        for block in blocks {
            let word = &mut self.words[line * self.per_line + block / 64];
            if value {
                *word |= 1 << (block % 64);
            } else {
                *word &= !(1 << (block % 64));
            }
        }
    }

    pub(crate) fn clear(&mut self, line: usize) {
        self.words[line * self.per_line..(line + 1) * self.per_line].fill(0);
    }

    pub(crate) fn any(&self, line: usize) -> bool {
        self.words[line * self.per_line..(line + 1) * self.per_line].iter().any(|&w| w != 0)
    }

    pub(crate) fn all(&self, line: usize, mut blocks: Range<usize>) -> bool {
        blocks.all(|block| self.get(line, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_touch_each_other() {
        let mut set = BlockSet::new(3, 70);
        set.set(1, 60..70, true);
        assert!(set.all(1, 60..70) && !set.get(1, 59) && set.any(1));
        assert!(!set.any(0) && !set.any(2));
        set.set(1, 65..66, false);
        assert!(!set.all(1, 60..70));
        set.clear(1);
        assert!(!set.any(1));
    }
}
