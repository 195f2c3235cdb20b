//! [`FileError`]: what a file system refuses.

use crate::file_call::FileId;
use std::fmt;

/// Why a file system cannot do what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    /// There is no such file (`ENOENT`).
    Missing(FileId),
    /// There is one already (`EEXIST`).
    Exists(FileId),
    /// It is no directory (`ENOTDIR`).
    NoDirectory(FileId),
    /// It is a directory (`EISDIR`).
    Directory(FileId),
    /// It is a directory with files in it (`ENOTEMPTY`).
    NotEmpty(FileId),
    /// The disk is full (`ENOSPC`).
    Full,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(file) => write!(f, "{file} does not exist"),
            Self::Exists(file) => write!(f, "{file} exists"),
            Self::NoDirectory(file) => write!(f, "{file} is not a directory"),
            Self::Directory(file) => write!(f, "{file} is a directory"),
            Self::NotEmpty(file) => write!(f, "{file} is not empty"),
            Self::Full => write!(f, "no space left on the device"),
        }
    }
}

impl std::error::Error for FileError {}
