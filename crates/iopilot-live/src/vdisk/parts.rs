//! [`Parts`]: the parts of a running virtual disk, and how they are taken down.

use super::VdiskReset;
use super::answer::{ModelEngine, Timing};
use super::block_device::BlockDevice;
use super::filesystem::{FILE, ImageFileSystem};
use super::fuse::Fuse;
use super::image::Image;
use super::loop_device::LoopDevice;
use super::state::Claim;
use super::stats::Tally;
#[cfg(feature = "ublk")]
use super::ublk::{self, UblkDevice};
use super::{queue_depth, sys};
use crate::{BlockQueue, LiveError};
use iopilot_device::AnyDevice;
use rustix::mount::{UnmountFlags, unmount};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

/// The priority of the threads that move data: below the one that keeps time.
const PRIORITY: i32 = 10;

/// The parts of a running virtual disk. Dropping it takes down those that exist, in order.
pub(super) struct Parts {
    pub(super) claim: Claim,
    pub(super) image: Arc<Image>,
    pub(super) tally: Arc<Mutex<Tally>>,
    /// The model as it was at the beginning.
    pub(super) model: Option<AnyDevice>,
    pub(super) engine: Option<Arc<ModelEngine>>,
    pub(super) threads: Vec<JoinHandle<()>>,
    pub(super) log: Option<JoinHandle<io::Result<()>>>,
    pub(super) fuse: Option<Fuse>,
    pub(super) device: Option<BlockDevice>,
    pub(super) gone: bool,
}

impl Parts {
    /// Mounts the file system that `threads` threads serve.
    pub(super) fn mount(&mut self, threads: usize) -> Result<(), LiveError> {
        let file_system = ImageFileSystem::new(Arc::clone(&self.image), self.timing());
        self.fuse = Some(Fuse::mount(file_system, &self.claim.mount_point(), threads, self.prepare())?);
        Ok(())
    }

    fn timing(&self) -> Timing {
        match &self.engine {
            Some(engine) => Timing::Model(Arc::clone(engine)),
            None => Timing::None(Arc::clone(&self.tally)),
        }
    }

    /// What each thread that serves the disk does first.
    fn prepare(&self) -> impl Fn() + Copy + Send + use<> {
        // Without a model, real-time threads could occupy a CPU for ever.
        let punctual = self.engine.is_some();
        move || {
            if punctual {
                sys::become_real_time(PRIORITY);
            }
            sys::become_io_flusher();
        }
    }

    /// Makes the file a block device of `depth` requests.
    pub(super) fn attach(&mut self, depth: u32, rotational: bool) -> Result<BlockQueue, LiveError> {
        let device = LoopDevice::attach(&self.claim.mount_point().join(FILE))?;
        let device = self.device.insert(BlockDevice::Loop(device));
        let queue = BlockQueue::open(device.path())?;
        queue.write("rotational", if rotational { "1" } else { "0" })?;
        queue_depth::set(&queue, depth)?;
        Ok(queue)
    }

    /// Makes a block device of the ublk driver, whose data `threads` threads move. Should the driver let go of it, `broken` is
    /// called.
    #[cfg(feature = "ublk")]
    pub(super) fn attach_ublk(
        &mut self,
        depth: u32,
        rotational: bool,
        threads: usize,
        broken: impl FnOnce() + Send + 'static,
    ) -> Result<BlockQueue, LiveError> {
        let (image, timing, token) = (Arc::clone(&self.image), self.timing(), self.claim.token());
        let wanted = ublk::Wanted { image, timing, depth, rotational, token };
        let device = Box::new(UblkDevice::attach(wanted, threads, self.prepare(), broken)?);
        BlockQueue::open(self.device.insert(BlockDevice::Ublk(device)).path())
    }

    /// Takes everything down. If somebody uses the device, nothing is done, unless `force`.
    pub(super) fn take_down(&mut self, force: bool) -> Result<(), LiveError> {
        if self.gone {
            return Ok(());
        }
        if let Some(device) = &self.device {
            if !force && device.in_use() {
                let reason = "in use, by a file system that is mounted, say".to_owned();
                return Err(LiveError::Device { path: device.path().to_owned(), reason });
            }
        }
        self.gone = true;
        // Remaining writes need not take the model's time.
        if let Some(engine) = &self.engine {
            engine.answer_at_once();
        }
        if let Some(device) = &self.device {
            device.sync_file_systems();
        }
        // Each step is tried, even if one before it failed.
        let mut results = Vec::new();
        if let Some(mut device) = self.device.take() {
            results.extend(device.detach());
        }
        if let Some(fuse) = self.fuse.take() {
            match unmount_patiently(&self.claim.mount_point()) {
                Ok(true) => {
                    let joined = fuse.join();
                    results.push(joined.map_err(|e| LiveError::io("/dev/fuse", e)));
                }
                // Its threads end when the last user has gone.
                Ok(false) => {}
                Err(e) => results.push(Err(LiveError::io(self.claim.mount_point(), e))),
            }
        }
        if let Some(engine) = self.engine.take() {
            engine.stop();
        }
        for thread in self.threads.drain(..) {
            // A panic has been printed already.
            let _ = thread.join();
        }
        if let Some(Ok(result)) = self.log.take().map(JoinHandle::join) {
            results.push(result.map_err(|e| LiveError::io("the log of requests", e)));
        }
        results.push(self.image.sync().map_err(|e| LiveError::io(self.image.path(), e)));
        results.push(self.claim.release());
        results.into_iter().collect()
    }

    /// Replaces the model by a freshly reset one.
    pub(super) fn reset(&self) -> Result<VdiskReset, LiveError> {
        let refused = |reason: &str| {
            let path = self.device.as_ref().map_or_else(|| self.claim.mount_point(), |device| device.path().to_owned());
            LiveError::Device { path, reason: reason.to_owned() }
        };
        let (Some(engine), Some(model)) = (&self.engine, &self.model) else {
            return Err(refused("a disk without a model, expected one that has one to be reset"));
        };
        let clocks = engine.replace(model.clone());
        let (real, model) = clocks.ok_or_else(|| refused("requests under way, expected an idle disk"))?;
        Ok(VdiskReset { monotonic_ns: real, model_ns: model.0 })
    }

    /// Requests under way.
    pub(super) fn in_flight(&self) -> u64 {
        self.engine.as_ref().map_or(0, |engine| engine.in_flight() as u64)
    }

    /// What was counted.
    pub(super) fn tally(&self) -> Tally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        // Nobody is left to report to.
        let _ = self.take_down(true);
    }
}

/// Unmounts, and ends the connection to the kernel, so that the threads that serve it end, too. Returns false if somebody still
/// has the file open: the mount is then out of sight, and the threads end when that file is closed.
///
/// The kernel releases the file a moment after the loop device has. A copy of the mount in another mount namespace (a
/// container, `unshare -m`) would keep the file system alive after a plain unmount; a forced one ends its connection.
fn unmount_patiently(mount_point: &Path) -> io::Result<bool> {
    for _ in 0..200 {
        // `EXPIRE` tells whether the mount is busy and, the first time, leaves it there. `FORCE` ends the connection even
        // of a busy mount, so it must come after that.
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
