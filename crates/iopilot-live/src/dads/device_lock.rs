//! [`DeviceLock`]: keeps a second daemon from a disk, whatever its runtime folder.

use crate::LiveError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;

/// The folder of the locks: one for all daemons of the machine, which none of them removes. A reboot clears it.
const LOCKS: &str = "/run/lock/iopilot";

/// A lock that belongs to a disk, by its number. It ends with the process that holds it, however that ends.
///
/// It is no lock on the device node itself: holding that open would keep a loop device from being detached, and udev
/// from looking at the disk.
#[derive(Debug)]
pub(super) struct DeviceLock {
    _file: File,
}

impl DeviceLock {
    /// Takes the lock of the disk at `device`, which has the `number` that [`BlockQueue::device_number`] tells.
    ///
    /// [`BlockQueue::device_number`]: crate::BlockQueue::device_number
    ///
    /// # Errors
    /// Where another daemon has it, in this process or another.
    pub(super) fn take(device: &Path, number: u32) -> Result<Self, LiveError> {
        Self::take_in(Path::new(LOCKS), device, number)
    }

    fn take_in(folder: &Path, device: &Path, number: u32) -> Result<Self, LiveError> {
        fs::create_dir_all(folder).map_err(|e| LiveError::io(folder, e))?;
        let path = folder.join(format!("{}:{}", number >> 20, number & 0xf_ffff));
        let failed = |e| LiveError::io(&path, e);
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            // Without a number the message is still true.
            let _ = file.read_to_string(&mut holder);
            let who = match holder.trim().parse::<u32>() {
                Ok(pid) => format!("process {pid}"),
                Err(_) => "another process".to_owned(),
            };
            let reason = format!("{who} flies it already; a disk has one autopilot, whatever its --runtime-dir");
            return Err(LiveError::Device { path: device.to_owned(), reason });
        }
        file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_one_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let take = |number| DeviceLock::take_in(folder.path(), Path::new("/dev/sdx"), number);
        let first = take(8 << 20).unwrap();
        let error = take(8 << 20).unwrap_err();
        assert!(error.is_bad_input(), "{error}");
        let pid = std::process::id();
        assert!(error.to_string().starts_with(&format!("/dev/sdx: process {pid} flies it already")), "{error}");
        take(8 << 20 | 16).unwrap();
        drop(first);
        take(8 << 20).unwrap();
    }
}
