//! [`Space`]: the free blocks of one instance's part of the disk.

use super::Extent;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// The free blocks. Finding some near a goal takes O(log n), and a step for each hole that is skipped.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Length of each free run by its first block; runs never touch.
    free: BTreeMap<u64, u64>,
    left: u64,
}

impl Space {
    /// Blocks `first..first + blocks` are free.
    pub(super) fn new(first: u64, blocks: u64) -> Self {
        Self { free: BTreeMap::from([(first, blocks)]), left: blocks }
    }

    /// Free blocks.
    #[cfg(test)]
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Takes `blocks` in one piece from the first run at or after `goal` that is long enough, wrapping around the end.
    /// If no run is, takes them in pieces. `None` if there are too few free blocks.
    pub(super) fn take_whole(&mut self, goal: u64, blocks: u64) -> Option<Vec<Extent>> {
        let from = self.start(goal);
        let long_enough = |(_, length): &(&u64, &u64)| **length >= blocks;
        let found = self.free.range(from..).chain(self.free.range(..from)).find(long_enough).map(|(&first, _)| first);
        match found {
            Some(first) => {
                // Begins at the goal inside its own run, if enough follows.
                let length = self.free[&first];
                let at = if first < goal && goal + blocks <= first + length { goal } else { first };
                Some(vec![self.cut(first, at, blocks)])
            }
            None => self.take_pieces(goal, blocks),
        }
    }

    /// Takes `blocks` from the runs at and after `goal`, however short, wrapping around the end. `None` if there are
    /// too few.
    pub(super) fn take_pieces(&mut self, goal: u64, blocks: u64) -> Option<Vec<Extent>> {
        if self.left < blocks {
            return None;
        }
        let (mut pieces, mut missing, mut at) = (Vec::new(), blocks, goal);
        while missing > 0 {
            let run =
                self.containing(at).or_else(|| self.free.range(at..).next().map(|(&first, &length)| (first, length)));
            let (first, length) = run.or_else(|| self.free.iter().next().map(|(&first, &length)| (first, length)))?;
            let from = if first < at && at < first + length { at } else { first };
            let extent = self.cut(first, from, missing.min(first + length - from));
            missing -= extent.blocks;
            at = extent.first + extent.blocks;
            pieces.push(extent);
        }
        Some(pieces)
    }

    /// Frees an extent.
    pub(super) fn give_back(&mut self, extent: Extent) {
        let (mut first, mut blocks) = (extent.first, extent.blocks);
        self.left += blocks;
        if let Some((&before, &length)) = self.free.range(..first).next_back() {
            debug_assert!(before + length <= first, "freed twice");
            if before + length == first {
                self.free.remove(&before);
                first = before;
                blocks += length;
            }
        }
        if let Some((&after, &length)) = self.free.range((Excluded(first), Unbounded)).next() {
            debug_assert!(first + blocks <= after, "freed twice");
            if after == first + blocks {
                self.free.remove(&after);
                blocks += length;
            }
        }
        self.free.insert(first, blocks);
    }

    /// The first block of the run that contains `goal`, or else `goal`.
    fn start(&self, goal: u64) -> u64 {
        self.containing(goal).map_or(goal, |(first, _)| first)
    }

    fn containing(&self, block: u64) -> Option<(u64, u64)> {
        let (&first, &length) = self.free.range(..=block).next_back()?;
        (block < first + length).then_some((first, length))
    }

    /// Takes `blocks` blocks, from block `at` on, out of the run that begins at `first`.
    fn cut(&mut self, first: u64, at: u64, blocks: u64) -> Extent {
        let length = self.free.remove(&first).unwrap_or(0);
        debug_assert!(blocks > 0 && first <= at && at + blocks <= first + length);
        if at > first {
            self.free.insert(first, at - first);
        }
        let (end, after) = (first + length, at + blocks);
        if after < end {
            self.free.insert(after, end - after);
        }
        self.left -= blocks;
        Extent { first: at, blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    #[test]
    fn whole_pieces_are_looked_for_past_short_holes() {
        let mut space = Space::new(100, 100);
        let a = space.take_whole(100, 10).unwrap();
        let b = space.take_whole(100, 20).unwrap();
        assert_eq!((a[0].first, b[0].first), (100, 110));
        space.give_back(a[0]);
        assert_eq!(space.take_whole(100, 11).unwrap(), [Extent { first: 130, blocks: 11 }]);
        assert_eq!(
            space.take_pieces(100, 12).unwrap(),
            [Extent { first: 100, blocks: 10 }, Extent { first: 141, blocks: 2 }]
        );
        // Wraps around the end. Fails if there are too few.
        assert_eq!(space.take_whole(195, 20).unwrap(), [Extent { first: 143, blocks: 20 }]);
        assert_eq!(space.take_whole(100, 1000), None);
    }

    #[test]
    fn no_block_is_lost_or_taken_twice() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut space = Space::new(1000, 5000);
        let mut owner = vec![false; 5000];
        let mut held: Vec<Extent> = Vec::new();
        for _ in 0..20_000 {
            if random.random_bool(0.5) {
                let (goal, blocks) = (1000 + random.random_range(0..5000), random.random_range(1..200));
                let whole = random.random_bool(0.5);
                let pieces = if whole { space.take_whole(goal, blocks) } else { space.take_pieces(goal, blocks) };
                let Some(pieces) = pieces else { continue };
                assert_eq!(pieces.iter().map(|e| e.blocks).sum::<u64>(), blocks);
                for e in &pieces {
                    for block in e.first..e.first + e.blocks {
                        assert!(!std::mem::replace(&mut owner[(block - 1000) as usize], true));
                    }
                }
                held.extend(pieces);
            } else if !held.is_empty() {
                let e = held.swap_remove(random.random_range(0..held.len()));
                owner[(e.first - 1000) as usize..(e.first + e.blocks - 1000) as usize].fill(false);
                space.give_back(e);
            }
            assert_eq!(space.left() as usize, owner.iter().filter(|&&o| !o).count());
        }
        held.drain(..).for_each(|e| space.give_back(e));
        assert_eq!(space.free.len(), 1);
    }
}
