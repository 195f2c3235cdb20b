//! [`LowerDisk`]: the disk below a cache, held by this process alone.

use crate::block_server::{is_in_use, mount_points};
use crate::queue::disk_of;
use crate::{BlockQueue, LiveError, QueueSettings};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The disk, partition or volume below a cache. While it is open, it cannot be mounted or claimed otherwise.
#[derive(Debug)]
pub(super) struct LowerDisk {
    /// Opened for direct I/O; `None` once it is released.
    pub(super) file: Mutex<Option<File>>,
    pub(super) path: PathBuf,
    /// Bytes.
    pub(super) size: u64,
    /// The first sector on its disk; 0 for a whole disk.
    pub(super) start: u64,
    pub(super) logical_block: u32,
    pub(super) rotational: bool,
    pub(super) discards: bool,
    /// The requests that its queue takes before a process sleeps. While as many are in flight, prefetches wait.
    pub(super) requests: u32,
    /// The queue of the disk that it is, or is part of; `None` where its driver has none.
    pub(super) queue: Option<BlockQueue>,
}

impl LowerDisk {
    /// Claims the block device at `path`.
    ///
    /// # Errors
    /// Where it is no block device, is read-only, or is in use; the message says by what.
    pub(super) fn open(path: &Path) -> Result<Self, LiveError> {
        let wrong = |reason: String| LiveError::Device { path: path.to_owned(), reason };
        let metadata = fs::metadata(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => wrong("not there, expected a block device such as /dev/sdb".to_owned()),
            _ => LiveError::io(path, e),
        })?;
        if !metadata.file_type().is_block_device() {
            return Err(wrong("not a block device, expected a disk, a partition or a volume".to_owned()));
        }
        let number = metadata.rdev();
        let link = format!("/sys/dev/block/{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        let sysfs = fs::canonicalize(&link).map_err(|e| LiveError::io(&link, e))?;
        let disk = disk_of(path)?;
        let text = |path: PathBuf| fs::read_to_string(path).map(|text| text.trim().to_owned());
        let read = |name: &str| text(sysfs.join(name)).ok().and_then(|text| text.parse::<u64>().ok());
        let queue = |name: &str| text(disk.join("queue").join(name)).ok().and_then(|text| text.parse::<u64>().ok());
        if read("ro") == Some(1) {
            return Err(wrong("read-only, expected one that can be written to".to_owned()));
        }
        if let Some(holder) = holder(path, &sysfs) {
            return Err(wrong(format!("in use: {holder}; expected one that nobody uses")));
        }
        let flags = (OFlags::DIRECT | OFlags::EXCL).bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
        let file = file.map_err(|e| match e.kind() {
            io::ErrorKind::ResourceBusy => {
                wrong("in use by another program or driver, expected one that nobody uses".to_owned())
            }
            io::ErrorKind::ReadOnlyFilesystem => wrong("read-only, expected one that can be written to".to_owned()),
            _ => LiveError::io(path, e),
        })?;
        let below = disk.file_name().and_then(|name| BlockQueue::open(&Path::new("/dev").join(name)).ok());
        let size = read("size").unwrap_or(0) * 512;
        Ok(Self {
            file: Mutex::new(Some(file)),
            path: path.to_owned(),
            size,
            start: read("start").unwrap_or(0),
            logical_block: queue("logical_block_size").and_then(|n| u32::try_from(n).ok()).unwrap_or(512),
            rotational: queue("rotational") == Some(1),
            discards: queue("discard_max_bytes").is_some_and(|bytes| bytes > 0),
            requests: below.as_ref().and_then(|queue| QueueSettings::of(queue).ok()).map_or(128, |queue| queue.tags()),
            queue: below,
        })
    }
}

impl LowerDisk {
    /// The descriptor of the file, for requests.
    ///
    /// # Errors
    /// Once it is released.
    pub(super) fn descriptor(&self) -> io::Result<RawFd> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_ref().map(AsRawFd::as_raw_fd).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Makes all writes durable, and releases the disk.
    pub(super) fn give_up(&self) -> io::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        file.map_or(Ok(()), |file| file.sync_data())
    }
}

/// The user of the device at `path`, or of a partition of it.
fn holder(path: &Path, sysfs: &Path) -> Option<String> {
    if let Some(place) = mount_points(path).first() {
        return Some(format!("mounted at {place}"));
    }
    let held = fs::read_dir(sysfs.join("holders")).ok()?.flatten().next();
    if let Some(held) = held {
        return Some(format!("held by {}", held.file_name().to_string_lossy()));
    }
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if swaps.lines().skip(1).any(|line| line.split_whitespace().next().map(Path::new) == Some(&real)) {
        return Some("used as swap".to_owned());
    }
    let parts = fs::read_dir(sysfs).ok()?.flatten().filter(|entry| entry.path().join("partition").exists());
    let part = parts.map(|entry| Path::new("/dev").join(entry.file_name())).find(|part| is_in_use(part))?;
    let place = mount_points(&part).into_iter().next();
    Some(
        place.map_or_else(
            || format!("{} is in use", part.display()),
            |at| format!("{} is mounted at {at}", part.display()),
        ),
    )
}
