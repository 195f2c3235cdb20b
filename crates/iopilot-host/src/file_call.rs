//! [`FileCall`]: what a process asks of its file system.

use std::fmt;

/// A file or directory: a number that the programs of a workload agree on, as they would on a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

impl FileId {
    /// The root directory, which is always there.
    pub const ROOT: Self = Self(1);
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}", self.0)
    }
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// It has data.
    Regular,
    /// It has names.
    Directory,
}

/// A system call on files. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCall {
    /// Finds the file by its path, component by component, and reads its inode.
    Open(FileId),
    /// Reads; what is beyond the end is not read.
    Read {
        /// From what.
        file: FileId,
        /// From where.
        offset: u64,
        /// How much.
        bytes: u64,
    },
    /// Writes into the cache; the file grows as needed.
    Write {
        /// Into what.
        file: FileId,
        /// From where.
        offset: u64,
        /// How much.
        bytes: u64,
    },
    /// Reads all names of a directory.
    ReadDir(FileId),
    /// Makes a file or directory that is not there.
    Create {
        /// In this directory.
        parent: FileId,
        /// What it is to be called.
        file: FileId,
        /// What it is.
        kind: FileKind,
    },
    /// Removes a file, or a directory that is empty. Dirty pages of it are never written.
    Remove(FileId),
    /// Removes all data of a file.
    Truncate(FileId),
    /// Waits until all of a file is on the disk.
    Fsync(FileId),
    /// Begins to write everything that is dirty, and does not wait for it.
    Sync,
}
