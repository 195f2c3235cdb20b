//! [`Group`]: the free blocks and inodes of a cylinder group.

/// A bitmap of the blocks; a set bit is a taken block.
#[derive(Clone, Debug)]
pub(super) struct Group {
    taken: Vec<u64>,
    blocks: u64,
    pub(super) free: u64,
    pub(super) free_inodes: u64,
    pub(super) directories: u64,
    /// Inodes below this are taken or have been.
    next_inode: u64,
    returned_inodes: Vec<u32>,
}

impl Group {
    /// A group in which only the first `reserved` blocks are taken.
    pub(super) fn new(blocks: u64, reserved: u64, inodes: u64) -> Self {
        let mut group = Self {
            taken: vec![0; blocks.div_ceil(64) as usize],
            blocks,
            free: blocks,
            free_inodes: inodes,
            directories: 0,
            next_inode: 0,
            returned_inodes: Vec::new(),
        };
        (0..reserved.min(blocks)).for_each(|block| group.take(block));
        group
    }

    fn is_taken(&self, block: u64) -> bool {
        self.taken[(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    fn take(&mut self, block: u64) {
        debug_assert!(!self.is_taken(block), "no block is in two files");
        self.taken[(block / 64) as usize] |= 1 << (block % 64);
        self.free -= 1;
    }

    /// Takes the first free block from `goal` on, else from the start; `None` if all are taken. O(blocks / 64).
    pub(super) fn allocate(&mut self, goal: u64) -> Option<u64> {
        if self.free == 0 {
            return None;
        }
        let goal = if goal < self.blocks { goal } else { 0 };
        let found = self.first_free(goal, self.blocks).or_else(|| self.first_free(0, goal))?;
        self.take(found);
        Some(found)
    }

    fn first_free(&self, from: u64, to: u64) -> Option<u64> {
        let mut at = from;
        while at < to {
            let word = self.taken[(at / 64) as usize] >> (at % 64);
            match word.trailing_ones() as u64 {
                0 => return Some(at),
                ones => at = (at + ones).min((at / 64 + 1) * 64),
            }
        }
        None
    }

    pub(super) fn release(&mut self, block: u64) {
        debug_assert!(self.is_taken(block), "only a taken block is released");
        self.taken[(block / 64) as usize] &= !(1 << (block % 64));
        self.free += 1;
    }

    /// Takes an inode; `None` if all are taken.
    pub(super) fn allocate_inode(&mut self) -> Option<u64> {
        self.free_inodes = self.free_inodes.checked_sub(1)?;
        Some(self.returned_inodes.pop().map_or_else(
            || {
                self.next_inode += 1;
                self.next_inode - 1
            },
            u64::from,
        ))
    }

    pub(super) fn release_inode(&mut self, inode: u64) {
        self.returned_inodes.push(inode as u32);
        self.free_inodes += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_free_block_is_taken() {
        let mut group = Group::new(200, 10, 4);
        assert_eq!(
            [0, 0, 150, 199, 199].map(|goal| group.allocate(goal)),
            [Some(10), Some(11), Some(150), Some(199), Some(12)]
        );
        group.release(11);
        assert_eq!(group.allocate(0), Some(11));
        while group.allocate(70).is_some() {}
        assert_eq!((group.free, group.allocate(0)), (0, None));
        assert_eq!([(); 5].map(|()| group.allocate_inode()), [Some(0), Some(1), Some(2), Some(3), None]);
        group.release_inode(2);
        assert_eq!(group.allocate_inode(), Some(2));
    }
}
