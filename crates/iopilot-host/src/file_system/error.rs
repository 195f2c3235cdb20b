//! [`FileError`]: why a file system refuses a call.

use crate::file_call::FileId;
use std::fmt;

/// Why a file system refuses a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    /// There is no such file (`ENOENT`).
    Missing(FileId),
    /// The file exists already (`EEXIST`).
    Exists(FileId),
    /// It is not a directory (`ENOTDIR`).
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
