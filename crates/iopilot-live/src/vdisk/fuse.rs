//! [`Fuse`]: a file system that this process serves over `/dev/fuse`.
//!
//! It implements the part of the protocol that a file system of one file needs. `include/uapi/linux/fuse.h` defines it.

mod wire;

pub(super) use wire::{Attributes, Body, Kind, open_reply, statfs_reply};

use crate::LiveError;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use wire::{Init, Request};

const DEVICE: &str = "/dev/fuse";
/// The most requests that the kernel may have under way.
const MAX_BACKGROUND: u16 = 512;

/// Answers the kernel's requests, from several threads.
pub(super) trait FileSystem: Send + Sync + 'static {
    /// Takes a request. `reply` may be used at once or later, by any thread.
    fn request(&self, node: u64, body: Body<'_>, reply: Reply);
}

/// A file system that is mounted; its threads end when it is unmounted.
pub(super) struct Fuse {
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Fuse {
    /// Mounts `file_system` at `mount_point`; `threads` threads serve it, each of which begins with `prepare`.
    pub(super) fn mount(
        file_system: impl FileSystem,
        mount_point: &Path,
        threads: usize,
        prepare: impl Fn() + Copy + Send + 'static,
    ) -> Result<Self, LiveError> {
        let failed = |e| LiveError::io(DEVICE, e);
        let device = File::options().read(true).write(true).open(DEVICE).map_err(failed)?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0\0", device.as_raw_fd());
        let options =
            std::ffi::CStr::from_bytes_with_nul(options.as_bytes()).map_err(|e| failed(io::Error::other(e)))?;
        let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
        mount("iopilot-vdisk", mount_point, "fuse", flags, options)
            .map_err(|e| LiveError::io(mount_point, e.into()))?;
        Self::serve(file_system, device, threads, prepare).map_err(|e| {
            // The first error is the one to report.
            let _ = unmount(mount_point, UnmountFlags::DETACH);
            failed(e)
        })
    }

    fn serve(
        file_system: impl FileSystem,
        device: File,
        threads: usize,
        prepare: impl Fn() + Copy + Send + 'static,
    ) -> io::Result<Self> {
        let device = Arc::new(device);
        greet(&device)?;
        let file_system = Arc::new(file_system);
        let mut fuse = Self { threads: Vec::with_capacity(threads) };
        for n in 0..threads {
            let (device, file_system) = (Arc::clone(&device), Arc::clone(&file_system));
            let serve = move || {
                prepare();
                serve(&device, &*file_system)
            };
            fuse.threads.push(thread::Builder::new().name(format!("vdisk-{n}")).spawn(serve)?);
        }
        Ok(fuse)
    }

    /// Waits for the end of the threads.
    pub(super) fn join(self) -> io::Result<()> {
        let end = |thread: JoinHandle<io::Result<()>>| match thread.join() {
            Ok(result) => result,
            Err(_) => Err(io::Error::other("a thread that serves the file system panicked")),
        };
        // All of them, even if the first one failed.
        self.threads.into_iter().map(end).collect::<Vec<_>>().into_iter().collect()
    }
}

/// The way to answer one request. Dropped without an answer it is an I/O error.
#[derive(Debug)]
pub(super) struct Reply {
    device: Option<Arc<File>>,
    unique: u64,
}

impl Reply {
    /// Answers with `data`.
    pub(super) fn data(mut self, data: &[u8]) {
        self.send(0, data);
    }

    /// Answers with an error, a number such as `EIO`.
    pub(super) fn error(mut self, errno: i32) {
        self.send(errno, &[]);
    }

    fn send(&mut self, errno: i32, data: &[u8]) {
        let Some(device) = self.device.take() else { return };
        let header = wire::reply_header(self.unique, errno, data.len());
        // A request that the kernel has dropped, as at the end of the connection, needs no answer.
        let _ = (&*device).write_vectored(&[IoSlice::new(&header), IoSlice::new(data)]);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.send(libc::EIO, &[]);
    }
}

/// Answers the kernel's first request.
fn greet(device: &Arc<File>) -> io::Result<()> {
    let mut buffer = wire::buffer();
    loop {
        let length = (&**device).read(&mut buffer)?;
        let request = Request::parse(&buffer[..length])?;
        let reply = Reply { device: Some(Arc::clone(device)), unique: request.unique };
        let Body::Init(Init { major, minor, flags }) = request.body else {
            reply.error(libc::EIO);
            continue;
        };
        if major > wire::MAJOR {
            // It tries again with ours.
            reply.data(&wire::version_reply());
            continue;
        }
        if major < wire::MAJOR || minor < wire::LEAST_MINOR || flags & wire::ASYNC_DIO == 0 {
            reply.error(libc::EPROTO);
            let wanted = format!("{}.{} with asynchronous direct I/O", wire::MAJOR, wire::LEAST_MINOR);
            return Err(io::Error::other(format!("the kernel speaks FUSE {major}.{minor}; needed is {wanted}")));
        }
        reply.data(&wire::init_reply(flags, MAX_BACKGROUND));
        return Ok(());
    }
}

/// Hands requests to `file_system` until it is unmounted.
fn serve(device: &Arc<File>, file_system: &impl FileSystem) -> io::Result<()> {
    let mut buffer = wire::buffer();
    loop {
        let length = match (&**device).read(&mut buffer) {
            Ok(length) => length,
            Err(e) => match e.raw_os_error() {
                // The kernel took a request back, or a signal came.
                Some(libc::ENOENT | libc::EINTR | libc::EAGAIN) => continue,
                Some(libc::ENODEV) => return Ok(()),
                _ => return Err(e),
            },
        };
        let request = Request::parse(&buffer[..length])?;
        match request.body {
            Body::Unanswered => {}
            body => {
                let reply = Reply { device: Some(Arc::clone(device)), unique: request.unique };
                file_system.request(request.node, body, reply);
            }
        }
    }
}
