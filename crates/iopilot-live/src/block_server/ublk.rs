//! [`UblkDevice`]: a block device that this process serves by the kernel's ublk driver.
//!
//! The driver passes requests and takes answers by io_uring commands, all from one thread, which owns the ring
//! ([`queue`]). That thread has the store take each request. Other threads do what may block. Answers reach the owner
//! of the ring through an [`outbox`].

mod abi;
mod control;
mod memory;
mod outbox;
mod queue;
mod service;

pub(super) use outbox::Ticket;

use super::filesystem::BLOCK;
use super::store::Store;
use crate::LiveError;
use abi::{CONTROL, DeviceInfo, Parameters};
use control::UblkControl;
use iopilot_block::SECTOR_BYTES;
use memory::UblkBuffers;
use outbox::Outbox;
use queue::UblkQueue;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The largest queue depth of a device.
pub(crate) const MOST: u32 = DeviceInfo::MAX_DEPTH;

/// The settings of a new device.
pub(super) struct UblkSpec<'a> {
    /// The name that its threads are called after.
    pub(super) name: &'a str,
    /// Its queue depth.
    pub(super) depth: u32,
    /// Whether it is rotational.
    pub(super) rotational: bool,
    /// Identifies its process, so that the leftovers of a dead one are recognised.
    pub(super) token: u64,
}

/// Whether the kernel has the driver.
pub(super) fn check() -> Result<(), LiveError> {
    match Path::new(CONTROL).exists() {
        true => Ok(()),
        false => {
            let reason = "not there; the kernel needs its module ublk_drv: modprobe ublk_drv".to_owned();
            Err(LiveError::Device { path: CONTROL.into(), reason })
        }
    }
}

/// Removes the devices of `token`, whose process is dead.
pub(super) fn clear(token: u64) -> Result<(), LiveError> {
    let numbers = numbers();
    if numbers.is_empty() {
        return Ok(());
    }
    let mut control = UblkControl::open().map_err(failed)?;
    for number in numbers {
        // A device may have gone meanwhile; those of others are left alone.
        if control.info(number).is_ok_and(|info| info.token == token) {
            control.stop(number).and_then(|()| control.delete(number)).map_err(failed)?;
        }
    }
    Ok(())
}

/// A device; dropping this removes it.
pub(super) struct UblkDevice {
    number: u32,
    path: PathBuf,
    control: UblkControl,
    outbox: Arc<Outbox>,
    threads: Vec<JoinHandle<()>>,
    gone: bool,
    /// Kept until the driver no longer uses them.
    _buffers: Arc<UblkBuffers>,
}

impl UblkDevice {
    /// Makes a device over `store`, for which `threads` threads do what may block; each thread begins with `prepare`.
    /// If the driver drops it, `broken` is called.
    pub(super) fn attach<S: Store>(
        store: &Arc<S>,
        wanted: &UblkSpec<'_>,
        threads: usize,
        prepare: impl Fn() + Copy + Send + 'static,
        broken: impl FnOnce() + Send + 'static,
    ) -> Result<Self, LiveError> {
        let depth = u16::try_from(wanted.depth).map_err(|_| failed(io::ErrorKind::InvalidInput.into()))?;
        let sectors = store.size() / SECTOR_BYTES;
        let mut control = UblkControl::open().map_err(failed)?;
        let buffers = Arc::new(UblkBuffers::new(depth).map_err(failed)?);
        let outbox = Arc::new(Outbox::new().map_err(failed)?);
        let number = control.add(depth, wanted.token).map_err(too_old)?;
        let mut device = Self {
            number,
            path: format!("/dev/ublkb{number}").into(),
            control,
            outbox,
            threads: Vec::new(),
            gone: false,
            _buffers: Arc::clone(&buffers),
        };
        let parameters = Parameters { sectors, rotational: wanted.rotational, discard_unit: BLOCK };
        device.control.set_parameters(number, &parameters).map_err(failed)?;
        let jobs = device.start_movers(store, (wanted.name, threads), prepare).map_err(failed)?;
        device.start_queue(Arc::clone(store), (wanted.name, depth), buffers, jobs, prepare, broken)?;
        device.control.start(number).map_err(failed)?;
        Ok(device)
    }

    /// Starts the threads that move data; they end when the sender of jobs is dropped.
    fn start_movers<S: Store>(
        &mut self,
        store: &Arc<S>,
        (name, threads): (&str, usize),
        prepare: impl Fn() + Copy + Send + 'static,
    ) -> io::Result<Sender<S::Taken>> {
        let (give, jobs) = channel();
        let jobs = Arc::new(Mutex::new(jobs));
        for n in 0..threads {
            let (store, jobs) = (Arc::clone(store), Arc::clone(&jobs));
            let work = move || {
                prepare();
                while let Some(job) = next(&jobs) {
                    store.carry_out(job);
                }
            };
            self.threads.push(thread::Builder::new().name(format!("{name}-{n}")).spawn(work)?);
        }
        Ok(give)
    }

    /// Starts the thread that serves the driver; on return, requests can come.
    fn start_queue<S: Store>(
        &mut self,
        store: Arc<S>,
        (name, depth): (&str, u16),
        buffers: Arc<UblkBuffers>,
        jobs: Sender<S::Taken>,
        prepare: impl Fn() + Copy + Send + 'static,
        broken: impl FnOnce() + Send + 'static,
    ) -> Result<(), LiveError> {
        let path = PathBuf::from(format!("/dev/ublkc{}", self.number));
        let character = File::options().read(true).write(true).open(&path).map_err(|e| LiveError::io(&path, e))?;
        let outbox = Arc::clone(&self.outbox);
        let (tell, told) = channel();
        let serve = move || {
            prepare();
            let mut queue = match UblkQueue::fetch(character, depth, buffers, outbox) {
                Ok(queue) => queue,
                Err(e) => return drop(tell.send(Err(e))),
            };
            // The receiver waits for it.
            let _ = tell.send(Ok(()));
            let ended = queue.run(|descriptor, ticket| {
                if let Some(job) = service::take(&*store, descriptor, ticket) {
                    // If no thread is left to take it, its ticket is dropped, which answers an I/O error.
                    let _ = jobs.send(job);
                }
            });
            if let Err(e) = ended {
                // The driver removes the device of a server that ends.
                eprintln!("{}: {e}", path.display());
                broken();
            }
        };
        let thread = thread::Builder::new().name(format!("{name}-queue")).spawn(serve).map_err(failed)?;
        self.threads.push(thread);
        told.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())).map_err(failed)
    }

    /// Its path, such as `/dev/ublkb0`.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, once requests in flight have been answered. Processes that still have it open get I/O errors.
    pub(super) fn detach(&mut self) -> Result<(), LiveError> {
        if self.gone {
            return Ok(());
        }
        self.gone = true;
        self.outbox.leave();
        let stopped = self.control.stop(self.number);
        self.outbox.end();
        for thread in self.threads.drain(..) {
            // A panic has been printed already.
            let _ = thread.join();
        }
        // Only now: the driver waits until its character device is closed.
        let deleted = self.control.delete(self.number);
        stopped.and(deleted).map_err(failed)
    }
}

impl Drop for UblkDevice {
    fn drop(&mut self) {
        // Nobody is left to report to.
        let _ = self.detach();
    }
}

fn next<T>(jobs: &Mutex<Receiver<T>>) -> Option<T> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// The numbers of all devices of the driver.
fn numbers() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/dev") else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.strip_prefix("ublkc")?.parse().ok()).collect()
}

fn failed(e: io::Error) -> LiveError {
    LiveError::io(CONTROL, e)
}

/// The error of a driver that does not know this numbering of its commands.
fn too_old(e: io::Error) -> LiveError {
    /// `ENOTSUPP`, which is the kernel's own.
    const NOT_SUPPORTED: i32 = 524;
    match e.raw_os_error() {
        Some(NOT_SUPPORTED | libc::EOPNOTSUPP) => {
            let reason = "the kernel does not take these commands, which it has to since 6.4".to_owned();
            LiveError::Device { path: CONTROL.into(), reason }
        }
        _ => failed(e),
    }
}
