//! [`CapturedDevice`]: the properties of a block device that a capture needs.

use crate::LiveError;
use rustix::fs::{major, minor};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A block device or a partition of one.
#[derive(Debug)]
pub(super) struct CapturedDevice {
    /// The kernel's name, such as `sda1`.
    pub(super) name: String,
    /// Its directory in sysfs, which exists as long as the device does.
    sysfs: PathBuf,
    /// Devices whose bios are recorded, in the kernel's encoding. A bio keeps the number of the partition that it was
    /// sent to, though its sectors already count from the start of the disk.
    pub(super) bios: Vec<u32>,
    /// The disk, in the same encoding; requests carry its number.
    pub(super) disk: u32,
    /// The number of the partition; `None` for the whole disk.
    pub(super) partition: Option<u32>,
    /// Whether its driver uses requests. If not, as for device-mapper volumes, bios complete themselves.
    pub(super) has_requests: bool,
    /// Whether the disk has a volatile write cache, and whether it supports `FUA`.
    pub(super) write_back: bool,
    pub(super) knows_fua: bool,
    /// Whether a write with `FUA` is followed by a flush of the device's cache before it completes.
    pub(super) flushes_after_fua: bool,
}

impl CapturedDevice {
    pub(super) fn of(path: &Path) -> Result<Self, LiveError> {
        let wrong = |reason: &str| LiveError::Device { path: path.to_owned(), reason: reason.to_owned() };
        let metadata = fs::metadata(path).map_err(|e| wrong(&e.to_string()))?;
        if !metadata.file_type().is_block_device() {
            return Err(wrong("not a block device, expected one such as /dev/sda"));
        }
        let (major, minor) = (major(metadata.rdev()), minor(metadata.rdev()));
        let sysfs = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        let own = major << 20 | minor;
        let real = fs::canonicalize(&sysfs).map_err(|e| LiveError::io(&sysfs, e))?;
        let name = real.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let (disk_sysfs, disk, bios) = if sysfs.join("partition").exists() {
            let parent = real.parent().map(Path::to_owned);
            let parent = parent.ok_or_else(|| wrong("a partition without a disk in sysfs"))?;
            let disk = number(&parent).ok_or_else(|| wrong("a partition without a disk in sysfs"))?;
            (parent, disk, vec![own])
        } else {
            let mut bios = vec![own];
            for entry in fs::read_dir(&sysfs).map_err(|e| LiveError::io(&sysfs, e))?.flatten() {
                if entry.path().join("partition").exists() {
                    bios.extend(number(&entry.path()));
                }
            }
            bios.sort_unstable();
            (real.clone(), own, bios)
        };
        let queue = |file: &str| fs::read_to_string(disk_sysfs.join("queue").join(file)).unwrap_or_default();
        let (write_back, knows_fua) = (queue("write_cache").trim() == "write back", queue("fua").trim() == "1");
        let has_requests = disk_sysfs.join("mq").exists();
        let partition = (disk != own).then_some(own);
        let flushes_after_fua = write_back && !knows_fua;
        Ok(Self { name, sysfs: real, bios, disk, partition, has_requests, write_back, knows_fua, flushes_after_fua })
    }

    /// Whether it has not been unplugged.
    pub(super) fn is_present(&self) -> bool {
        self.sysfs.join("dev").exists()
    }

    /// An event filter that lets the device's bios pass.
    pub(super) fn bio_filter(&self) -> String {
        self.bios.iter().map(|dev| format!("dev == {dev}")).collect::<Vec<_>>().join(" || ")
    }

    /// An event filter that lets the disk's requests pass.
    pub(super) fn request_filter(&self) -> String {
        format!("dev == {}", self.disk)
    }
}

/// The number of the device that a directory of sysfs describes.
fn number(sysfs: &Path) -> Option<u32> {
    let dev = fs::read_to_string(sysfs.join("dev")).ok()?;
    let (major, minor) = dev.trim().split_once(':')?;
    Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_is_refused_in_a_line() {
        let message = |path: &str| CapturedDevice::of(Path::new(path)).unwrap_err().to_string();
        assert_eq!(message("/dev/null"), "/dev/null: not a block device, expected one such as /dev/sda");
        assert!(message("/dev/no-such").starts_with("/dev/no-such: No such file"));
    }
}
