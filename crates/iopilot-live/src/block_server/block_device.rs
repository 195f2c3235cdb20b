//! [`BlockDevice`]: a served block device, of any driver.

use super::loop_device::LoopDevice;
use super::queue_depth;
#[cfg(feature = "ublk")]
use super::ublk::UblkDevice;
use crate::{BlockQueue, LiveError};
use rustix::fs::{major, minor, syncfs};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// How long to wait for others to close the device; after that it is detached when they do.
const PATIENCE: Duration = Duration::from_secs(5);

/// A block device that is served.
pub(super) enum BlockDevice {
    /// On a file that FUSE serves.
    Loop(LoopDevice),
    /// Of the ublk driver.
    #[cfg(feature = "ublk")]
    Ublk(Box<UblkDevice>),
}

impl BlockDevice {
    /// Its path, such as `/dev/loop0`.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Loop(device) => device.path(),
            #[cfg(feature = "ublk")]
            Self::Ublk(device) => device.path(),
        }
    }

    /// Takes it down. Each step is tried, even if one before it failed.
    pub(super) fn detach(&mut self) -> Vec<Result<(), LiveError>> {
        let flushed = self.flush().map_err(|e| LiveError::io(self.path(), e));
        match self {
            Self::Loop(device) => {
                let queue = BlockQueue::open(device.path());
                let reset = queue.and_then(|queue| queue_depth::set(&queue, queue_depth::MOST));
                vec![flushed, reset, device.detach(PATIENCE).map(drop)]
            }
            #[cfg(feature = "ublk")]
            Self::Ublk(device) => vec![flushed, device.detach()],
        }
    }

    /// Whether somebody uses it: a file system, a partition, a mapping.
    pub(super) fn in_use(&self) -> bool {
        is_in_use(self.path())
    }

    /// Syncs the file systems on it whose mounts this process can see.
    pub(super) fn sync_file_systems(&self) {
        for mount_point in mount_points(self.path()) {
            // A mount that this process cannot open is left out; the user who forced the detach was warned.
            let _ = File::open(mount_point).map(syncfs);
        }
    }

    /// Writes the kernel's dirty pages of it.
    fn flush(&self) -> io::Result<()> {
        File::open(self.path())?.sync_all()
    }
}

/// Whether somebody uses the block device at `path`: a file system, a partition, a mapping.
pub(crate) fn is_in_use(path: &Path) -> bool {
    let claim = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(path);
    claim.is_err_and(|e| e.raw_os_error() == Some(libc::EBUSY))
}

/// Where the file systems on the block device at `path` are mounted, as far as this process can see.
pub(crate) fn mount_points(path: &Path) -> Vec<String> {
    let Ok(number) = fs::metadata(path).map(|m| m.rdev()) else { return Vec::new() };
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let number = format!("{}:{}", major(number), minor(number));
    let of_device = |line: &str| {
        let mut fields = line.split(' ').skip(2);
        // Blanks are written as octal numbers.
        (fields.next() == Some(&number)).then(|| fields.nth(1).unwrap_or_default().replace("\\040", " "))
    };
    mounts.lines().filter_map(of_device).collect()
}
