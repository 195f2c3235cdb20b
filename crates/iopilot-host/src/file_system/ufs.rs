//! [`Ufs`]: the file system of System V Release 4 and of Berkeley, by cylinder groups (McKusick 1984; Ganger 5.3).

mod allocation;
#[cfg(test)]
mod tests;

use super::extents::Extents;
use super::group::Group;
use super::{BLOCK_BYTES, BLOCK_SECTORS, FileError, FileSystem, Metadata, MetadataUpdate, PageMapping};
use crate::file_call::{FileId, FileKind};
use iopilot_block::{InputError, NumberMap};
use rand::SeedableRng;
use rand_pcg::Pcg64;

/// The layout of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct UfsSettings {
    /// Blocks of a cylinder group. A block has 4 KiB.
    pub group_blocks: u64,
    /// Bytes of the disk for each inode.
    pub bytes_per_inode: u64,
    /// A file continues in another group after this many blocks.
    pub blocks_in_group: u64,
}

impl Default for UfsSettings {
    /// Groups of 8 MiB, like 16 cylinders of a disk of 1995; an inode for each 2 KiB; 1 MiB of a file in a group.
    fn default() -> Self {
        Self { group_blocks: 2048, bytes_per_inode: 2048, blocks_in_group: 256 }
    }
}

/// Inodes in a block, at 128 bytes each.
const INODES: u64 = BLOCK_BYTES / 128;
/// Pages addressed by the inode itself.
const DIRECT: u64 = 12;
/// Pages addressed by an indirect block.
const POINTERS: u64 = BLOCK_BYTES / 4;
/// Names in a directory block, at 32 bytes each.
const NAMES: u64 = BLOCK_BYTES / 32;
/// A group begins with a copy of the superblock, its own descriptor block, and its inodes.
const GROUP_BLOCK: u64 = 1;
const FIRST_INODE_BLOCK: u64 = 2;

#[derive(Clone, Debug)]
struct Inode {
    group: u64,
    /// Its number in the group.
    number: u64,
    parent: FileId,
    /// The slot of its name in its directory.
    slot: u64,
    bytes: u64,
    extents: Extents,
    /// Its indirect blocks, in order, and its doubly indirect block.
    indirect: Vec<u64>,
    doubly_indirect: Option<u64>,
    directory: Option<Directory>,
}

#[derive(Clone, Debug, Default)]
struct Directory {
    names: u64,
    /// Slots of names below this are taken or have been.
    next_slot: u64,
    returned: Vec<u64>,
}

/// Cylinder groups: the files of a directory are in its group, directories are spread over the groups, and a large file moves
/// to another group every MiB.
///
/// Metadata changes that could mislead others after a crash are written at once: a new inode, a removed name and its inode, a
/// new directory. The number of such writes follows from Table 7.2 and the counts of Ganger 5.4: one for a created file, two
/// for a removed one. Only new indirect blocks are locked while they are written: Table 7.2 has few time-limited writes.
#[derive(Clone, Debug)]
pub struct Ufs {
    settings: UfsSettings,
    /// The cylinder groups, by number.
    groups: Vec<Group>,
    group_count: u64,
    files: NumberMap<FileId, Inode>,
    /// The share of allocated blocks that is not placed right behind the previous block.
    scatter: f64,
    random: Pcg64,
}

impl Ufs {
    /// An empty file system on a device of `sectors`.
    ///
    /// # Errors
    /// If the device is too small for a group, or a group for its inodes.
    pub fn new(settings: UfsSettings, sectors: u64) -> Result<Self, InputError> {
        let blocks = sectors / BLOCK_SECTORS;
        let group_count = blocks / settings.group_blocks.max(1);
        let inodes = settings.group_blocks * BLOCK_BYTES / settings.bytes_per_inode.max(1);
        let inode_blocks = inodes.div_ceil(INODES);
        if settings.group_blocks < 64 {
            let mib = (settings.group_blocks * BLOCK_BYTES) as f64 / f64::from(1 << 20);
            return Err(InputError::new("filesystem.group_mib", mib.to_string(), "at least 0.25 MiB"));
        }
        if inode_blocks + FIRST_INODE_BLOCK >= settings.group_blocks {
            let got = settings.bytes_per_inode.to_string();
            return Err(InputError::new("filesystem.bytes_per_inode", got, "enough that a group has room for data"));
        }
        if group_count == 0 {
            let expected = format!("at least {} sectors for a file system", settings.group_blocks * 8);
            return Err(InputError::new("disk", format!("{sectors} sectors"), expected));
        }
        let new = || Group::new(settings.group_blocks, FIRST_INODE_BLOCK + inode_blocks, inode_blocks * INODES);
        let mut ufs = Self {
            groups: (0..group_count).map(|_| new()).collect(),
            settings,
            group_count,
            files: NumberMap::default(),
            scatter: 0.0,
            random: Pcg64::seed_from_u64(0),
        };
        ufs.add_inode(FileId::ROOT, FileId::ROOT, FileKind::Directory, 0)
            .map_err(|e| InputError::new("disk", e.to_string(), "room for a root directory"))?;
        let root = ufs.allocate_page(FileId::ROOT, &mut Vec::new());
        root.map_err(|e| InputError::new("disk", e.to_string(), "room for a root directory"))?;
        Ok(ufs)
    }

    /// From now on, places `share` of all blocks further on in the group instead of right behind the previous block. A file
    /// system that has been in use for years, with few free blocks, looks like this. All choices follow from `seed`.
    pub fn scatter(&mut self, share: f64, seed: u64) {
        (self.scatter, self.random) = (share, Pcg64::seed_from_u64(seed));
    }

    /// The directory of a file; the root's is the root.
    pub fn parent(&self, file: FileId) -> Option<FileId> {
        self.files.get(&file).map(|inode| inode.parent)
    }

    fn get(&self, file: FileId) -> Result<&Inode, FileError> {
        self.files.get(&file).ok_or(FileError::Missing(file))
    }

    fn get_directory(&self, file: FileId) -> Result<(&Inode, &Directory), FileError> {
        let inode = self.get(file)?;
        inode.directory.as_ref().map(|directory| (inode, directory)).ok_or(FileError::NoDirectory(file))
    }

    fn get_mut(&mut self, file: FileId) -> Result<&mut Inode, FileError> {
        self.files.get_mut(&file).ok_or(FileError::Missing(file))
    }

    fn inode_block(&self, inode: &Inode) -> u64 {
        self.group_start(inode.group) + FIRST_INODE_BLOCK + inode.number / INODES
    }

    /// The block of a directory with the name in `slot`.
    fn name_block(&self, directory: &Inode, slot: u64) -> Option<u64> {
        directory.extents.find(slot / NAMES).map(|(block, _)| block)
    }

    /// The index in [`Inode::indirect`] of a page's indirect block.
    fn indirect_of(page: u64) -> Option<usize> {
        page.checked_sub(DIRECT).map(|page| (page / POINTERS) as usize)
    }
}

impl FileSystem for Ufs {
    fn boxed(&self) -> Box<dyn FileSystem> {
        Box::new(self.clone())
    }

    fn lookup(&self, file: FileId, out: &mut Vec<Metadata>) -> Result<u32, FileError> {
        let inode = self.get(file)?;
        let mut components = 0;
        if file != FileId::ROOT {
            components = 1 + self.lookup(inode.parent, out)?;
            let parent = self.get(inode.parent)?;
            // Names are compared in order, so all blocks up to the name's are read.
            let blocks = (0..=inode.slot / NAMES).filter_map(|page| parent.extents.find(page));
            out.extend(blocks.map(|(block, _)| Metadata::read(block)));
        }
        out.push(Metadata::read(self.inode_block(inode)));
        Ok(components)
    }

    fn size(&self, file: FileId) -> Result<u64, FileError> {
        self.get(file).map(|inode| inode.bytes)
    }

    fn map(&self, file: FileId, page: u64) -> Option<PageMapping> {
        let inode = self.files.get(&file)?;
        let (block, contiguous) = inode.extents.find(page)?;
        let by = Self::indirect_of(page).and_then(|at| inode.indirect.get(at).copied());
        Some(PageMapping { block, contiguous, by })
    }

    fn list(&self, directory: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError> {
        let (inode, _) = self.get_directory(directory)?;
        out.push(Metadata::read(self.inode_block(inode)));
        out.extend(inode.extents.blocks().map(Metadata::read));
        Ok(())
    }

    fn own_metadata(&self, file: FileId, out: &mut Vec<u64>) {
        let Some(inode) = self.files.get(&file) else { return };
        if inode.directory.is_some() {
            out.extend(inode.extents.blocks());
        }
        out.extend(inode.indirect.iter().copied().chain(inode.doubly_indirect));
    }

    fn free_blocks(&self) -> u64 {
        self.groups.iter().map(|group| group.free).sum()
    }

    fn accessed(&self, file: FileId) -> Option<Metadata> {
        self.files.get(&file).map(|inode| Metadata::changed(self.inode_block(inode), MetadataUpdate::Delayed))
    }

    fn create(
        &mut self,
        parent: FileId,
        file: FileId,
        kind: FileKind,
        out: &mut Vec<Metadata>,
    ) -> Result<(), FileError> {
        if self.files.contains_key(&file) {
            return Err(FileError::Exists(file));
        }
        let (inode, directory) = self.get_directory(parent)?;
        let (parent_inode, slot) = (self.inode_block(inode), directory.returned.last().copied());
        let slot = slot.unwrap_or(directory.next_slot);
        let needs_block = slot / NAMES >= inode.extents.pages();
        let group = self.add_inode(file, parent, kind, slot)?;
        out.push(Metadata::changed(self.group_start(group) + GROUP_BLOCK, MetadataUpdate::Delayed));
        let own = self.get(file).map(|inode| self.inode_block(inode))?;
        out.push(Metadata::changed(own, MetadataUpdate::Sync));
        if kind == FileKind::Directory {
            out.push(Metadata::changed(parent_inode, MetadataUpdate::Sync));
            let block = self.allocate_page(file, out)?;
            out.push(Metadata::new(block, MetadataUpdate::Sync));
            out.push(Metadata::changed(own, MetadataUpdate::Sync));
        }
        if needs_block {
            let block = self.allocate_page(parent, out)?;
            out.push(Metadata::new(block, MetadataUpdate::Sync));
        }
        let update = if kind == FileKind::Directory { MetadataUpdate::Sync } else { MetadataUpdate::Delayed };
        let names = self.name_block(self.get(parent)?, slot);
        out.extend(names.map(|block| Metadata::changed(block, update)));
        out.push(Metadata::changed(parent_inode, update));
        if let Some(directory) = self.get_mut(parent)?.directory.as_mut() {
            directory.names += 1;
            if directory.returned.pop().is_none() {
                directory.next_slot += 1;
            }
        }
        Ok(())
    }

    fn remove(&mut self, file: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError> {
        let inode = self.get(file)?;
        let (parent, slot, own) = (inode.parent, inode.slot, self.inode_block(inode));
        if file == FileId::ROOT || inode.directory.as_ref().is_some_and(|directory| directory.names > 0) {
            return Err(FileError::NotEmpty(file));
        }
        let names = self.name_block(self.get(parent)?, slot);
        out.extend(names.map(|block| Metadata::changed(block, MetadataUpdate::Sync)));
        self.release(file, out)?;
        out.push(Metadata::changed(own, MetadataUpdate::Sync));
        if let Some(inode) = self.files.remove(&file) {
            let group = &mut self.groups[inode.group as usize];
            group.release_inode(inode.number);
            group.directories -= u64::from(inode.directory.is_some());
        }
        if let Some(directory) = self.get_mut(parent)?.directory.as_mut() {
            directory.names -= 1;
            directory.returned.push(slot);
        }
        Ok(())
    }

    fn write(&mut self, file: FileId, bytes: u64, out: &mut Vec<Metadata>) -> Result<(), FileError> {
        let inode = self.get(file)?;
        if inode.directory.is_some() {
            return Err(FileError::Directory(file));
        }
        let own = self.inode_block(inode);
        while self.get(file)?.extents.pages() < bytes.div_ceil(BLOCK_BYTES) {
            self.allocate_page(file, out)?;
        }
        let inode = self.get_mut(file)?;
        inode.bytes = inode.bytes.max(bytes);
        out.push(Metadata::changed(own, MetadataUpdate::Delayed));
        Ok(())
    }

    fn truncate(&mut self, file: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError> {
        let inode = self.get(file)?;
        if inode.directory.is_some() {
            return Err(FileError::Directory(file));
        }
        let own = self.inode_block(inode);
        if inode.bytes > 0 {
            out.push(Metadata::changed(own, MetadataUpdate::Sync));
        }
        self.release(file, out)
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        self.files.get(&file).map(|inode| self.inode_block(inode))
    }
}
