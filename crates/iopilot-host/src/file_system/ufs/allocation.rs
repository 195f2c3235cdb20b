//! Where [`Ufs`] puts inodes and blocks.

use super::{
    DIRECT, Directory, Extents, FileError, FileId, FileKind, GROUP_BLOCK, Inode, Metadata, MetadataUpdate, POINTERS,
    Ufs,
};
use rand::Rng;

/// The mean distance in blocks to the next free block, where the block behind the last is not free.
const GAP_BLOCKS: f64 = 32.0;

impl Ufs {
    pub(super) fn group_start(&self, group: u64) -> u64 {
        group * self.settings.group_blocks
    }

    fn group_of(&self, block: u64) -> u64 {
        block / self.settings.group_blocks
    }

    /// Makes an inode and returns its group. A directory goes to a group with few directories and many free inodes. A file goes
    /// to its directory's group, or the next one with room.
    pub(super) fn add_inode(
        &mut self,
        file: FileId,
        parent: FileId,
        kind: FileKind,
        slot: u64,
    ) -> Result<u64, FileError> {
        let wanted = match kind {
            FileKind::Directory => self.group_for_directory(),
            FileKind::Regular => self.get(parent)?.group,
        };
        let found = self.groups_from(wanted).find_map(|group| {
            let number = self.groups[group as usize].allocate_inode()?;
            Some((group, number))
        });
        let (group, number) = found.ok_or(FileError::Full)?;
        self.groups[group as usize].directories += u64::from(kind == FileKind::Directory);
        let inode = Inode {
            group,
            number,
            parent,
            slot,
            bytes: 0,
            extents: Extents::default(),
            indirect: Vec::new(),
            doubly_indirect: None,
            directory: (kind == FileKind::Directory).then(Directory::default),
        };
        self.files.insert(file, inode);
        Ok(group)
    }

    fn group_for_directory(&self) -> u64 {
        let free: u64 = self.groups.iter().map(|group| group.free_inodes).sum();
        let enough = free / self.group_count;
        let all = self.groups.iter().enumerate().filter(|(_, group)| group.free_inodes >= enough);
        all.min_by_key(|(_, group)| group.directories).map_or(0, |(group, _)| group as u64)
    }

    /// All groups, from `first` on.
    fn groups_from(&self, first: u64) -> impl Iterator<Item = u64> + use<> {
        let count = self.group_count;
        (0..count).map(move |n| (first + n) % count)
    }

    /// Adds a page at the end of a file. Puts the changed metadata into `out`: the descriptor block of the group, and the
    /// indirect block.
    pub(super) fn allocate_page(&mut self, file: FileId, out: &mut Vec<Metadata>) -> Result<u64, FileError> {
        let page = self.get(file)?.extents.pages();
        let indirect = Self::indirect_of(page);
        if let Some(at) = indirect.filter(|&at| at >= self.files[&file].indirect.len()) {
            if at == 1 {
                let block = self.allocate_block(self.goal(file, page), out)?;
                self.get_mut(file)?.doubly_indirect = Some(block);
                out.push(Metadata::new(block, MetadataUpdate::Locked));
            }
            let block = self.allocate_block(self.goal(file, page), out)?;
            self.get_mut(file)?.indirect.push(block);
            out.push(Metadata::new(block, MetadataUpdate::Locked));
            let above = self.files[&file].doubly_indirect;
            out.extend(above.map(|block| Metadata::changed(block, MetadataUpdate::Delayed)));
        }
        let block = self.allocate_block(self.goal(file, page), out)?;
        let inode = self.get_mut(file)?;
        inode.extents.push(block);
        if let Some(&block) = indirect.and_then(|at| inode.indirect.get(at)) {
            out.push(Metadata::changed(block, MetadataUpdate::Delayed));
        }
        Ok(block)
    }

    /// The preferred block of the next page: in the inode's group for the first page, then right behind the last page. After
    /// `blocks_in_group` pages it is in another group, with at least the average of free blocks.
    fn goal(&self, file: FileId, page: u64) -> u64 {
        let inode = &self.files[&file];
        let first_of_indirect = page >= DIRECT && (page - DIRECT) % POINTERS % self.settings.blocks_in_group == 0;
        match inode.extents.last_block() {
            None => self.group_start(inode.group),
            Some(last) if first_of_indirect => {
                let free: u64 = self.groups.iter().map(|group| group.free).sum();
                let enough = free / self.group_count;
                let mut next = self.groups_from(self.group_of(last) + 1);
                let group = next.find(|&group| self.groups[group as usize].free >= enough);
                self.group_start(group.unwrap_or(inode.group))
            }
            Some(last) => last + 1,
        }
    }

    /// Takes the first free block from `goal` on.
    fn allocate_block(&mut self, goal: u64, out: &mut Vec<Metadata>) -> Result<u64, FileError> {
        let (wanted, mut within) = (self.group_of(goal) % self.group_count, goal % self.settings.group_blocks);
        if self.scatter > 0.0 && self.random.random_bool(self.scatter) {
            // On a nearly full disk the next free block is further on: the search goes forward (McKusick 1984, 3.3.1).
            let gap = -GAP_BLOCKS * (1.0 - self.random.random::<f64>()).ln();
            within = (within + 1 + gap as u64) % self.settings.group_blocks;
        }
        for group in self.groups_from(wanted) {
            let from = if group == wanted { within } else { 0 };
            if let Some(block) = self.groups[group as usize].allocate(from) {
                out.push(Metadata::changed(self.group_start(group) + GROUP_BLOCK, MetadataUpdate::Delayed));
                return Ok(self.group_start(group) + block);
            }
        }
        Err(FileError::Full)
    }

    /// Frees all blocks of a file. Puts the changed group descriptors into `out`.
    pub(super) fn release(&mut self, file: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError> {
        let inode = self.get_mut(file)?;
        inode.bytes = 0;
        let extents = std::mem::take(&mut inode.extents);
        let mut others = std::mem::take(&mut inode.indirect);
        others.extend(inode.doubly_indirect.take());
        let mut last_group = None;
        for block in extents.blocks().chain(others) {
            let group = self.group_of(block);
            self.groups[group as usize].release(block % self.settings.group_blocks);
            if last_group.replace(group) != Some(group) {
                out.push(Metadata::changed(self.group_start(group) + GROUP_BLOCK, MetadataUpdate::Delayed));
            }
        }
        Ok(())
    }
}
