//! [`Fuse`]: a file system that this process serves over `/dev/fuse`.
//!
//! It implements the part of the protocol that a file system of one file needs. `include/uapi/linux/fuse.h` defines it.

mod wire;

pub(super) use wire::{Attributes, FuseBody, FuseNodeKind, MAX_TRANSFER, open_reply, statfs_reply};

use super::buffer::{Buffer, Buffers};
use crate::LiveError;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use wire::{FuseRequest, HEAD, Init};

const DEVICE: &str = "/dev/fuse";
/// The most requests that the kernel may have in flight.
const MAX_BACKGROUND: u16 = 512;

/// Answers the kernel's requests, from several threads.
pub(super) trait FuseFileSystem: Send + Sync + 'static {
    /// Takes a request, with the data of a write. `reply` may be used at once or later, by any thread.
    fn request(&self, node: u64, body: FuseBody<'_>, data: Option<Buffer>, reply: Reply);
}

/// A file system that is mounted; its threads end when it is unmounted.
pub(super) struct Fuse {
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Fuse {
    /// Mounts `file_system` at `mount_point`. `threads` threads called after `name` serve it, each of which begins with
    /// `prepare`. The data of writes come in `buffers`.
    pub(super) fn mount(
        file_system: impl FuseFileSystem,
        mount_point: &Path,
        buffers: &Arc<Buffers>,
        (name, threads): (&str, usize),
        prepare: impl Fn() + Copy + Send + 'static,
    ) -> Result<Self, LiveError> {
        let failed = |e| LiveError::io(DEVICE, e);
        let device = File::options().read(true).write(true).open(DEVICE).map_err(failed)?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0\0", device.as_raw_fd());
        let options =
            std::ffi::CStr::from_bytes_with_nul(options.as_bytes()).map_err(|e| failed(io::Error::other(e)))?;
        let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
        mount(format!("iopilot-{name}"), mount_point, "fuse", flags, options)
            .map_err(|e| LiveError::io(mount_point, e.into()))?;
        Self::serve(file_system, device, buffers, (name, threads), prepare).map_err(|e| {
            // The first error is the one to report.
            let _ = unmount(mount_point, UnmountFlags::DETACH);
            failed(e)
        })
    }

    fn serve(
        file_system: impl FuseFileSystem,
        device: File,
        buffers: &Arc<Buffers>,
        (name, threads): (&str, usize),
        prepare: impl Fn() + Copy + Send + 'static,
    ) -> io::Result<Self> {
        let device = Arc::new(device);
        greet(&device, buffers)?;
        let file_system = Arc::new(file_system);
        let mut fuse = Self { threads: Vec::with_capacity(threads) };
        for n in 0..threads {
            let (device, file_system, buffers) = (Arc::clone(&device), Arc::clone(&file_system), Arc::clone(buffers));
            let serve = move || {
                prepare();
                serve(&device, &*file_system, &buffers)
            };
            fuse.threads.push(thread::Builder::new().name(format!("{name}-{n}")).spawn(serve)?);
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

/// The reply to one request. A reply that is dropped unsent is an I/O error.
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

    /// Answers nothing, as the kernel waits for no answer.
    fn forget(mut self) {
        self.device = None;
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

/// A message of the kernel: the head and the data of a write, or the head and the rest of another request.
struct Message {
    /// The head, and room behind it for the rest of a request that is no write.
    head: [u8; HEAD + REST],
    data: Buffer,
}

/// The longest rest of a request that is no write: a name and its end.
const REST: usize = 4096;

impl Message {
    fn new(buffers: &Arc<Buffers>) -> Self {
        Self { head: [0; HEAD + REST], data: buffers.take() }
    }

    /// Receives a request.
    fn receive(&mut self, mut device: &File) -> io::Result<FuseRequest<'_>> {
        let mut parts = [IoSliceMut::new(&mut self.head[..HEAD]), IoSliceMut::new(&mut self.data)];
        let length = device.read_vectored(&mut parts)?;
        let rest = length.saturating_sub(HEAD);
        if !wire::is_write(&self.head) {
            let rest = rest.min(REST);
            self.head[HEAD..HEAD + rest].copy_from_slice(&self.data[..rest]);
            return FuseRequest::parse(&self.head[..length.min(HEAD + REST)]);
        }
        FuseRequest::parse(&self.head[..length.min(HEAD)])?.with_data(rest)
    }
}

/// Answers the kernel's first request.
fn greet(device: &Arc<File>, buffers: &Arc<Buffers>) -> io::Result<()> {
    let mut message = Message::new(buffers);
    loop {
        let request = message.receive(device)?;
        let reply = Reply { device: Some(Arc::clone(device)), unique: request.unique };
        let FuseBody::Init(Init { major, minor, flags }) = request.body else {
            reply.error(libc::EIO);
            continue;
        };
        if major > wire::MAJOR {
            // The kernel tries again with our version.
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
fn serve(device: &Arc<File>, file_system: &impl FuseFileSystem, buffers: &Arc<Buffers>) -> io::Result<()> {
    let mut message = Message::new(buffers);
    loop {
        let request = match message.receive(device) {
            Ok(request) => request,
            Err(e) => match e.raw_os_error() {
                // The kernel aborted a request, or a signal came.
                Some(libc::ENOENT | libc::EINTR | libc::EAGAIN) => continue,
                Some(libc::ENODEV) => return Ok(()),
                _ => return Err(e),
            },
        };
        let reply = Reply { device: Some(Arc::clone(device)), unique: request.unique };
        let node = request.node;
        match request.body {
            FuseBody::Unanswered => reply.forget(),
            FuseBody::Write { offset, size } => {
                let data = std::mem::replace(&mut message.data, buffers.take());
                file_system.request(node, FuseBody::Write { offset, size }, Some(data), reply);
            }
            body => file_system.request(node, body, None, reply),
        }
    }
}
