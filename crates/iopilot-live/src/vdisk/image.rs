//! [`Image`]: the file that holds the data of a virtual disk.

use crate::LiveError;
use iopilot_block::InputError;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock, fstatvfs};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file that holds the data of a virtual disk, locked against use by another one.
#[derive(Debug)]
pub(super) struct Image {
    file: File,
    path: PathBuf,
    size: u64,
    made: bool,
}

impl Image {
    /// Opens the file at `path`, or makes a sparse one of `size` bytes. Without a size it has to be there.
    pub(super) fn open(path: &Path, size: Option<u64>) -> Result<Self, LiveError> {
        let reason = || "in use by another virtual disk".to_owned();
        Self::open_unused(path, size)?.ok_or_else(|| LiveError::Device { path: path.to_owned(), reason: reason() })
    }

    /// The first file in `folder`, called `name`, that no other virtual disk uses.
    pub(super) fn open_in(folder: &Path, name: &str, size: u64) -> Result<Self, LiveError> {
        fs::create_dir_all(folder).map_err(|e| LiveError::io(folder, e))?;
        for n in 1.. {
            let file = if n == 1 { format!("{name}.img") } else { format!("{name}-{n}.img") };
            if let Some(image) = Self::open_unused(&folder.join(file), Some(size))? {
                return Ok(image);
            }
        }
        Err(LiveError::io(folder, io::ErrorKind::QuotaExceeded.into()))
    }

    /// As [`open`](Self::open); `None` where it is in use.
    fn open_unused(path: &Path, size: Option<u64>) -> Result<Option<Self>, LiveError> {
        let name = || path.display().to_string();
        let failed = |e| LiveError::io(path, e);
        let known = fs::metadata(path).ok();
        if known.as_ref().is_some_and(|m| !m.is_file()) {
            return Err(InputError::new("--backing", name(), "a file").into());
        }
        let made = known.is_none();
        if made && size.is_none() {
            return Err(InputError::new("--size", "", "a size such as 8G, as there is no backing file yet").into());
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = file.map_err(failed)?;
        // The lock is kept as long as the file is open: two virtual disks on one file would see each other's writes.
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        let length = file.metadata().map_err(failed)?.len();
        let size = size.unwrap_or(length);
        if made || length == 0 {
            if let Err(e) = file.set_len(size) {
                // No half-made file stays.
                let _ = fs::remove_file(path);
                return Err(failed(e));
            }
        } else if length != size {
            let expected = format!("{length}, the size of {}, or another --backing", path.display());
            return Err(InputError::new("--size", size.to_string(), expected).into());
        }
        let path = fs::canonicalize(path).map_err(failed)?;
        Ok(Some(Self { file, path, size, made }))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that it takes on its own disk: a sparse file takes what was written.
    pub(super) fn stored(&self) -> io::Result<u64> {
        /// The unit of `st_blocks`, whatever the file system's is.
        const BLOCK: u64 = 512;
        Ok(self.file.metadata()?.blocks() * BLOCK)
    }

    /// A warning if the disk that holds it has no room for all that may still be written.
    pub(super) fn warn_of_room(&self) -> io::Result<Option<String>> {
        let at = fstatvfs(&self.file)?;
        let (free, needed) = (at.f_bavail * at.f_frsize, self.size.saturating_sub(self.stored()?));
        Ok((free < needed).then(|| {
            format!(
                "{} may grow by {needed} bytes, but its file system has room for {free}: once it is full, writes are I/O \
                 errors, which `vdisk stats` counts",
                self.path.display()
            )
        }))
    }

    /// Removes the file if this created it, after the start of the disk has failed.
    pub(super) fn abandon(&self) {
        if self.made {
            // It is empty, so an error does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Lets another virtual disk have the file.
    pub(super) fn unlock(&self) {
        // It is unlocked at the latest when this process ends.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }

    /// Reads up to the end of the file. Returns the part of `data` that was read.
    pub(super) fn read<'a>(&self, data: &'a mut [u8], offset: u64) -> io::Result<&'a [u8]> {
        let length = self.within(offset, data.len());
        self.file.read_exact_at(&mut data[..length], offset)?;
        Ok(&data[..length])
    }

    /// Writes all of `data`.
    pub(super) fn write(&self, data: &[u8], offset: u64) -> io::Result<()> {
        if self.within(offset, data.len()) < data.len() {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        self.file.write_all_at(data, offset)
    }

    /// Makes durable what was written.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Zeroes `length` bytes, and frees their space.
    pub(super) fn discard(&self, offset: u64, length: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.file, flags, offset, length)?)
    }

    fn within(&self, offset: u64, length: usize) -> usize {
        usize::try_from(self.size.saturating_sub(offset)).map_or(length, |rest| rest.min(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_file_takes_what_was_written_and_may_not_fit() {
        let folder = tempfile::tempdir().unwrap();
        let small = Image::open(&folder.path().join("small.img"), Some(1 << 20)).unwrap();
        assert_eq!((small.stored().unwrap(), small.warn_of_room().unwrap()), (0, None));
        small.write(&[1; 65536], 4096).unwrap();
        small.sync().unwrap();
        assert!((65536..1 << 20).contains(&small.stored().unwrap()), "{:?}", small.stored());
        // No test machine has this much room.
        let large = Image::open(&folder.path().join("large.img"), Some(1 << 42)).unwrap();
        let warning = large.warn_of_room().unwrap().unwrap();
        assert!(warning.contains("large.img may grow by 4398046511104 bytes"), "{warning}");
    }

    #[test]
    fn what_is_written_is_read_after_it_was_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.img");
        let image = Image::open(&path, Some(8192)).unwrap();
        image.write(b"here", 4094).unwrap();
        image.sync().unwrap();
        drop(image);
        let image = Image::open(&path, None).unwrap();
        assert_eq!(image.size(), 8192);
        let mut data = [1; 8];
        assert_eq!(image.read(&mut data, 4092).unwrap(), b"\0\0here\0\0");
        image.discard(0, 8192).unwrap();
        assert_eq!(image.read(&mut data, 4092).unwrap(), [0; 8]);
    }

    #[test]
    fn the_end_is_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let image = Image::open(&folder.path().join("a.img"), Some(4096)).unwrap();
        let mut data = [1; 8];
        assert_eq!(image.read(&mut data, 4092).unwrap(), [0; 4]);
        assert_eq!(image.read(&mut data, 1 << 40).unwrap(), [0u8; 0]);
        assert!(image.write(&data, 4092).is_err());
    }

    #[test]
    fn another_size_or_a_second_user_is_refused_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.img");
        let message = |size| Image::open(&path, size).unwrap_err().to_string();
        assert_eq!(message(None), "--size: got nothing, expected a size such as 8G, as there is no backing file yet");
        let first = Image::open(&path, Some(4096)).unwrap();
        assert!(message(Some(4096)).ends_with("in use by another virtual disk"));
        let second = Image::open_in(folder.path(), "a", 4096).unwrap();
        assert!(second.path().ends_with("a-2.img"));
        drop(first);
        assert!(message(Some(8192)).starts_with("--size: got 8192, expected 4096, the size of "));
        assert_eq!(fs::metadata(&path).unwrap().len(), 4096);
    }
}
