//! [`FileSystem`]: where files are on a disk, and in which metadata blocks that is recorded.

mod error;
mod extents;
mod group;
mod ufs;

pub use error::FileError;
pub use ufs::{Ufs, UfsSettings};

use crate::file_call::{FileId, FileKind};
use iopilot_block::SECTOR_BYTES;
use std::fmt;

/// Bytes of a block, and of a page of the cache.
pub const BLOCK_BYTES: u64 = 4096;
/// Sectors of a block.
pub(crate) const BLOCK_SECTORS: u64 = BLOCK_BYTES / SECTOR_BYTES;

/// How a changed metadata block goes to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataUpdate {
    /// Written at once; the process waits.
    Sync,
    /// Delayed; the block is locked while it is written back.
    Locked,
    /// Delayed; no process waits for it.
    Delayed,
}

/// A metadata block, and how a call uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Its address on the device, in blocks.
    pub block: u64,
    /// How its change goes to the disk; `None` if it is only read.
    pub update: Option<MetadataUpdate>,
    /// Whether it is new, so that it is not read before the change.
    pub is_new: bool,
}

impl Metadata {
    /// A block that is read.
    pub const fn read(block: u64) -> Self {
        Self { block, update: None, is_new: false }
    }

    /// A block that is changed.
    pub const fn changed(block: u64, update: MetadataUpdate) -> Self {
        Self { block, update: Some(update), is_new: false }
    }

    /// A block that is new.
    pub const fn new(block: u64, update: MetadataUpdate) -> Self {
        Self { block, update: Some(update), is_new: true }
    }
}

/// Where a page of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMapping {
    /// Its address on the device, in blocks.
    pub block: u64,
    /// The number of pages from it on that are contiguous on the device, at least 1.
    pub contiguous: u64,
    /// The indirect block with its address; `None` if the inode has it.
    pub by: Option<u64>,
}

/// The layout of files: a pure state machine, without a cache, time or data of its own. A block has the size of a cache page.
///
/// For each operation it names the metadata blocks that are read and changed, in order. It does not know which are cached.
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// A copy in the same state.
    fn boxed(&self) -> Box<dyn FileSystem>;

    /// Puts into `out` the blocks read to find `file` by its path, its inode last. Returns the number of path components.
    ///
    /// # Errors
    /// If there is no such file.
    fn lookup(&self, file: FileId, out: &mut Vec<Metadata>) -> Result<u32, FileError>;

    /// The length of a file in bytes.
    ///
    /// # Errors
    /// If there is no such file.
    fn size(&self, file: FileId) -> Result<u64, FileError>;

    /// Where page `page` of `file` is; `None` if it is not on the disk. O(log extents).
    fn map(&self, file: FileId, page: u64) -> Option<PageMapping>;

    /// Puts into `out` the blocks read to list a directory.
    ///
    /// # Errors
    /// If there is no such directory.
    fn list(&self, directory: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError>;

    /// Puts into `out` the file's own metadata blocks: a directory's names, and indirect blocks. They must be read before the
    /// file's blocks can be freed, and are freed with them.
    fn own_metadata(&self, file: FileId, out: &mut Vec<u64>);

    /// The number of free blocks.
    fn free_blocks(&self) -> u64;

    /// The metadata change of reading a file (its access time).
    fn accessed(&self, file: FileId) -> Option<Metadata>;

    /// Makes a file or directory.
    ///
    /// # Errors
    /// If it exists, its parent does not, or there is no room.
    fn create(
        &mut self,
        parent: FileId,
        file: FileId,
        kind: FileKind,
        out: &mut Vec<Metadata>,
    ) -> Result<(), FileError>;

    /// Removes a file or an empty directory. Its blocks may be allocated again at once, so no request for them may be in
    /// flight. See [`FileSystem::own_metadata`].
    ///
    /// # Errors
    /// If it does not exist, or is not empty. Then nothing has changed.
    fn remove(&mut self, file: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError>;

    /// Writes a file up to byte `bytes`, and extends it to there if it is shorter.
    ///
    /// # Errors
    /// If it does not exist, or there is no room.
    fn write(&mut self, file: FileId, bytes: u64, out: &mut Vec<Metadata>) -> Result<(), FileError>;

    /// Removes all data of a file, as [`FileSystem::remove`] does.
    ///
    /// # Errors
    /// If it does not exist, or is a directory. Then nothing has changed.
    fn truncate(&mut self, file: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError>;

    /// The block of a file's inode.
    fn inode(&self, file: FileId) -> Option<u64>;
}
