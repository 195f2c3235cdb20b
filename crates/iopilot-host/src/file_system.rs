//! [`FileSystem`]: where files are on a disk, and which blocks of metadata say so.

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
pub const BLOCK_SECTORS: u64 = BLOCK_BYTES / SECTOR_BYTES;

/// How a block of metadata that has been changed goes to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataUpdate {
    /// At once, and the process waits.
    Sync,
    /// Some time later; who wants the block while it is being written waits.
    Locked,
    /// Some time later; nobody waits for it.
    Delayed,
}

/// A block of metadata, and what is to be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Its address on the device, in blocks.
    pub block: u64,
    /// How the change goes to the disk; `None` if it is only read.
    pub update: Option<MetadataUpdate>,
    /// Whether it is new, so that it need not be read before it is changed.
    pub is_new: bool,
}

impl Metadata {
    /// It is read.
    pub const fn read(block: u64) -> Self {
        Self { block, update: None, is_new: false }
    }

    /// It is changed.
    pub const fn changed(block: u64, update: MetadataUpdate) -> Self {
        Self { block, update: Some(update), is_new: false }
    }

    /// It is made.
    pub const fn new(block: u64, update: MetadataUpdate) -> Self {
        Self { block, update: Some(update), is_new: true }
    }
}

/// Where a page of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMapping {
    /// Its address on the device, in blocks.
    pub block: u64,
    /// How many pages from it on follow each other on the device, at least 1.
    pub contiguous: u64,
    /// The block of metadata that says so, where it is not the inode.
    pub by: Option<u64>,
}

/// The layout of files: a pure state machine, without a cache, time or data of its own. A block is as large as a page of the
/// cache.
///
/// It says what metadata an operation reads and changes, in order; whether those are cached is not its concern.
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// The same in the same state.
    fn boxed(&self) -> Box<dyn FileSystem>;

    /// Puts into `out` what is read to find `file` by its path, its inode last. Returns how many components the path has.
    ///
    /// # Errors
    /// If there is no such file.
    fn lookup(&self, file: FileId, out: &mut Vec<Metadata>) -> Result<u32, FileError>;

    /// The length of a file in bytes.
    ///
    /// # Errors
    /// If there is no such file.
    fn size(&self, file: FileId) -> Result<u64, FileError>;

    /// Where page `page` of `file` is; `None` where it has none on the disk. O(log extents).
    fn map(&self, file: FileId, page: u64) -> Option<PageMapping>;

    /// Puts into `out` what is read to list a directory.
    ///
    /// # Errors
    /// If there is no such directory.
    fn list(&self, directory: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError>;

    /// Puts into `out` the blocks of metadata that are the file's alone: those with a directory's names, and those that say
    /// where its pages are. They must be read before its blocks can be given back, and are given back with them.
    fn own_metadata(&self, file: FileId, out: &mut Vec<u64>);

    /// How many blocks are free.
    fn free_blocks(&self) -> u64;

    /// What changes in the metadata as a file is read.
    fn accessed(&self, file: FileId) -> Option<Metadata>;

    /// Makes a file or directory.
    ///
    /// # Errors
    /// If it is there, its parent is not, or there is no room.
    fn create(
        &mut self,
        parent: FileId,
        file: FileId,
        kind: FileKind,
        out: &mut Vec<Metadata>,
    ) -> Result<(), FileError>;

    /// Removes a file or an empty directory. Its blocks may be given out again at once: nothing may be under way for them. See
    /// [`FileSystem::own_metadata`].
    ///
    /// # Errors
    /// If it is not there, or not empty. Then nothing has changed.
    fn remove(&mut self, file: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError>;

    /// Changes a file up to `bytes` from its beginning, and makes it as long as that if it is shorter.
    ///
    /// # Errors
    /// If it is not there, or there is no room.
    fn write(&mut self, file: FileId, bytes: u64, out: &mut Vec<Metadata>) -> Result<(), FileError>;

    /// Removes all data of a file, as [`FileSystem::remove`] does.
    ///
    /// # Errors
    /// If it is not there, or a directory. Then nothing has changed.
    fn truncate(&mut self, file: FileId, out: &mut Vec<Metadata>) -> Result<(), FileError>;

    /// The block of a file's inode.
    fn inode(&self, file: FileId) -> Option<u64>;
}
