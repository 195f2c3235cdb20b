//! [`FileCall`]: a system call on files.

use std::fmt;

/// A file or directory: a number that the programs of a workload agree on, like a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

impl FileId {
    /// The root directory, which always exists.
    pub const ROOT: Self = Self(1);
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}", self.0)
    }
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A file with data.
    Regular,
    /// A directory.
    Directory,
}

/// A system call on files. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCall {
    /// Looks the file up by its path, component by component, and reads its inode.
    Open(FileId),
    /// Reads, at most to the end of the file.
    Read {
        /// The file.
        file: FileId,
        /// The offset.
        offset: u64,
        /// The length.
        bytes: u64,
    },
    /// Writes into the cache; the file grows as needed.
    Write {
        /// The file.
        file: FileId,
        /// The offset.
        offset: u64,
        /// The length.
        bytes: u64,
    },
    /// Reads all names of a directory.
    ReadDir(FileId),
    /// Creates a file or directory that does not exist.
    Create {
        /// Its directory.
        parent: FileId,
        /// Its number.
        file: FileId,
        /// Its kind.
        kind: FileKind,
    },
    /// Removes a file, or an empty directory. Its dirty pages are never written.
    Remove(FileId),
    /// Removes all data of a file.
    Truncate(FileId),
    /// Waits until all of a file is on the disk.
    Fsync(FileId),
    /// Starts the write-back of everything dirty, and does not wait for it.
    Sync,
}
