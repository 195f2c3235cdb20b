//! [`Exposed`]: a store that the kernel shows as a block device.

use super::block_device::BlockDevice;
use super::buffer::Buffers;
use super::filesystem::{FILE, StoreFileSystem};
use super::fuse::Fuse;
use super::loop_device::LoopDevice;
use super::state::{AttachedDevice, DeviceClaim};
use super::store::Store;
#[cfg(feature = "ublk")]
use super::ublk::{UblkDevice, UblkSpec};
use super::{Via, queue_depth};
use crate::{BlockQueue, LiveError};
use rustix::mount::{UnmountFlags, unmount};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// The properties of a block device to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockDeviceSpec {
    /// The name that its threads and its mount are called after.
    pub(crate) name: &'static str,
    /// Its driver.
    pub(crate) via: Via,
    /// Its queue depth: the requests that the kernel keeps in it.
    pub(crate) depth: u32,
    /// Whether it is rotational.
    pub(crate) rotational: bool,
    /// Its logical block size, bytes.
    pub(crate) logical_block: u32,
    /// Whether it takes discards.
    pub(crate) discards: bool,
    /// Threads that receive requests, or do what may block.
    pub(crate) threads: usize,
}

/// A block device, and the file system that it may need. It is made and taken down in steps.
pub(crate) struct Exposed {
    mount_point: PathBuf,
    fuse: Option<Fuse>,
    device: Option<BlockDevice>,
}

impl Exposed {
    /// No device yet, for `claim`.
    pub(crate) fn new<A: AttachedDevice>(claim: &DeviceClaim<A>) -> Self {
        Self { mount_point: claim.mount_point(), fuse: None, device: None }
    }

    /// Makes the block device. Its threads begin with `prepare`. If the driver drops it, `broken` is called. After an
    /// error, the steps that were taken must be [taken back](Self::take_down).
    pub(crate) fn make<S: Store, A: AttachedDevice>(
        &mut self,
        store: &Arc<S>,
        claim: &DeviceClaim<A>,
        buffers: &Arc<Buffers>,
        shape: &BlockDeviceSpec,
        prepare: impl Fn() + Copy + Send + 'static,
        broken: impl FnOnce() + Send + 'static,
    ) -> Result<BlockQueue, LiveError> {
        // Without the feature, another driver than loop has been refused.
        debug_assert!(cfg!(feature = "ublk") || shape.via == Via::Loop);
        #[cfg(feature = "ublk")]
        if shape.via == Via::Ublk {
            let &BlockDeviceSpec { name, depth, rotational, threads, .. } = shape;
            let wanted = UblkSpec { name, depth, rotational, token: claim.token() };
            let device = Box::new(UblkDevice::attach(store, &wanted, threads, prepare, broken)?);
            return BlockQueue::open(self.device.insert(BlockDevice::Ublk(device)).path());
        }
        #[cfg(not(feature = "ublk"))]
        let _ = (claim, broken);
        let file_system = StoreFileSystem::new(Arc::clone(store), Arc::clone(buffers));
        let names = (shape.name, shape.threads);
        self.fuse = Some(Fuse::mount(file_system, &self.mount_point, buffers, names, prepare)?);
        let device = LoopDevice::attach(&self.mount_point.join(FILE), shape.logical_block)?;
        let device = self.device.insert(BlockDevice::Loop(device));
        let queue = BlockQueue::open(device.path())?;
        queue.write("rotational", if shape.rotational { "1" } else { "0" })?;
        if !shape.discards {
            queue.write("discard_max_bytes", "0")?;
        }
        queue_depth::set(&queue, shape.depth)?;
        Ok(queue)
    }

    /// Its path; `None` while there is no device.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.device.as_ref().map(BlockDevice::path)
    }

    /// Fails if the device is in use.
    pub(crate) fn check_unused(&self) -> Result<(), LiveError> {
        match &self.device {
            Some(device) if device.in_use() => {
                let reason = "in use, by a file system that is mounted, say".to_owned();
                Err(LiveError::Device { path: device.path().to_owned(), reason })
            }
            _ => Ok(()),
        }
    }

    /// Syncs the file systems on it whose mounts this process can see.
    pub(crate) fn sync_file_systems(&self) {
        if let Some(device) = &self.device {
            device.sync_file_systems();
        }
    }

    /// Takes it down, in order. Each step is tried, even if one before it failed.
    pub(crate) fn take_down(&mut self) -> Vec<Result<(), LiveError>> {
        let mut results = Vec::new();
        if let Some(mut device) = self.device.take() {
            results.extend(device.detach());
        }
        if let Some(fuse) = self.fuse.take() {
            match unmount_patiently(&self.mount_point) {
                Ok(true) => {
                    let joined = fuse.join();
                    results.push(joined.map_err(|e| LiveError::io("/dev/fuse", e)));
                }
                // Its threads end when the last user has gone.
                Ok(false) => {}
                Err(e) => results.push(Err(LiveError::io(&self.mount_point, e))),
            }
        }
        results
    }
}

/// Unmounts, and ends the connection to the kernel, so that the threads that serve it end, too. Returns false if
/// somebody still has the file open: the mount is then out of sight, and the threads end when that file is closed.
///
/// The kernel releases the file a moment after the loop device has. A copy of the mount in another mount namespace (a
/// container, `unshare -m`) would keep the file system alive after a plain unmount; a forced one ends its connection.
fn unmount_patiently(mount_point: &Path) -> io::Result<bool> {
    for _ in 0..200 {
        // `EXPIRE` tells whether the mount is busy and, the first time, leaves it there. `FORCE` ends the connection
        // even of a busy mount, so it must come after that.
        match unmount(mount_point, UnmountFlags::EXPIRE) {
            Err(rustix::io::Errno::BUSY) => sleep(Duration::from_millis(5)),
            Err(rustix::io::Errno::AGAIN) => match unmount(mount_point, UnmountFlags::FORCE) {
                // Somebody has just opened the file. They get errors, since the connection has ended.
                Err(rustix::io::Errno::BUSY) => {}
                result => return Ok(result.map(|()| true)?),
            },
            result => return Ok(result.map(|()| true)?),
        }
    }
    unmount(mount_point, UnmountFlags::DETACH)?;
    Ok(false)
}
