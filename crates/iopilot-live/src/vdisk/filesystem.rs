//! [`ImageFileSystem`]: a FUSE file system of one file, whose requests are answered when the model says.

use super::clock::monotonic;
use super::desk::Order;
use super::engine::{Answer, Engine};
use super::image::Image;
use super::stats::{Counted, Tally};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request,
    WriteFlags,
};
use iopilot_block::{Lba, Nanos, Op, SECTOR_BYTES, Sectors};
use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

/// The name of the file.
pub(super) const FILE: &str = "disk.img";
const ROOT: INodeNo = INodeNo::ROOT;
const IMAGE: INodeNo = INodeNo(2);
/// Nothing ever changes but the data.
const EVER: Duration = Duration::from_secs(1 << 30);
/// Buffers that are kept for reads to come.
const SPARE_BUFFERS: usize = 64;
/// Requests that the kernel may have under way.
const MAX_BACKGROUND: u16 = 512;
/// The largest request, bytes: what the kernel's default of `fs.fuse.max_pages_limit` allows.
const MAX_WRITE: u32 = 1 << 20;

/// What the requests wait for.
pub(super) enum Timing {
    /// A model.
    Model(Arc<Engine<FuseAnswer>>),
    /// Nothing: each is answered by the thread that read it.
    None(Arc<Mutex<Tally>>),
}

/// An answer that is ready to be sent.
pub(super) struct FuseAnswer {
    reply: Reply,
    result: Result<(), Errno>,
    buffers: Arc<Buffers>,
}

enum Reply {
    /// The data in the buffer, up to a length.
    Data(ReplyData, Vec<u8>, usize),
    Written(ReplyWrite, u32),
    Done(ReplyEmpty),
}

impl Answer for FuseAnswer {
    fn send(self) {
        let Self { reply, result, buffers } = self;
        match (reply, result) {
            (Reply::Data(reply, buffer, length), Ok(())) => {
                reply.data(&buffer[..length]);
                buffers.give(buffer);
            }
            (Reply::Written(reply, length), Ok(())) => reply.written(length),
            (Reply::Done(reply), Ok(())) => reply.ok(),
            (Reply::Data(reply, ..), Err(e)) => reply.error(e),
            (Reply::Written(reply, _), Err(e)) => reply.error(e),
            (Reply::Done(reply), Err(e)) => reply.error(e),
        }
    }
}

/// Buffers of reads, to be used again.
#[derive(Default)]
struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    fn take(&self, length: usize) -> Vec<u8> {
        let mut buffer = self.0.lock().map_or_else(|_| None, |mut spare| spare.pop()).unwrap_or_default();
        // Only what is new is made zero.
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        buffer
    }

    fn give(&self, buffer: Vec<u8>) {
        if let Ok(mut spare) = self.0.lock() {
            if spare.len() < SPARE_BUFFERS {
                spare.push(buffer);
            }
        }
    }
}

/// A file system of one file.
pub(super) struct ImageFileSystem {
    image: Arc<Image>,
    timing: Timing,
    buffers: Arc<Buffers>,
}

impl ImageFileSystem {
    /// One whose file is `image`.
    pub(super) fn new(image: Arc<Image>, timing: Timing) -> Self {
        Self { image, timing, buffers: Arc::default() }
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match inode {
            ROOT => (FileType::Directory, 0o700, 0),
            IMAGE => (FileType::RegularFile, 0o600, self.image.size()),
            _ => return None,
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(SECTOR_BYTES),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// Serves a request: the model begins with it while `move_data` does what it asks.
    fn serve(&self, op: Op, offset: u64, length: u64, move_data: impl FnOnce() -> (Reply, io::Result<()>)) {
        let stamp = monotonic();
        let first = offset / SECTOR_BYTES;
        let sectors = (offset + length).div_ceil(SECTOR_BYTES) - first;
        let sectors = if op == Op::Flush { 0 } else { u32::try_from(sectors).unwrap_or(u32::MAX) };
        let order = Order { op, lba: Lba(first), sectors: Sectors(sectors) };
        let answer = |(reply, result): (Reply, io::Result<()>)| FuseAnswer {
            reply,
            result: result.map_err(|e| Errno::from_i32(e.raw_os_error().unwrap_or(libc::EIO))),
            buffers: Arc::clone(&self.buffers),
        };
        match &self.timing {
            Timing::Model(engine) => {
                let id = engine.enter(order, stamp);
                engine.deliver(id, answer(move_data()));
            }
            Timing::None(tally) => {
                answer(move_data()).send();
                let took = monotonic().saturating_sub(stamp);
                if let Ok(mut tally) = tally.lock() {
                    tally.count(&Counted { op, sectors: order.sectors, late: 0, took, modelled: Nanos::ZERO });
                }
            }
        }
    }
}

impl Filesystem for ImageFileSystem {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it every direct request waits for the one before it.
        let wanted = InitFlags::FUSE_ASYNC_DIO;
        config
            .add_capabilities(wanted)
            .map_err(|_| io::Error::other("this kernel's FUSE has no asynchronous direct I/O"))?;
        // What is refused is as near as the kernel comes to it.
        let _ = config.set_max_background(MAX_BACKGROUND);
        let _ = config.set_max_write(MAX_WRITE);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(IMAGE).filter(|_| parent == ROOT && name == FILE) {
            Some(attributes) => reply.entry(&EVER, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&EVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        // The block size becomes the loop device's unit of discards.
        reply.statfs(self.image.size() / 4096, 0, 0, 1, 0, 4096, 255, 4096);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.serve(Op::Read, offset, u64::from(size), || {
            let mut buffer = self.buffers.take(size as usize);
            let result = self.image.read(&mut buffer[..size as usize], offset).map(<[u8]>::len);
            let length = result.as_ref().copied().unwrap_or(0);
            (Reply::Data(reply, buffer, length), result.map(drop))
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.serve(Op::Write, offset, data.len() as u64, || {
            (Reply::Written(reply, data.len() as u32), self.image.write(data, offset))
        });
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.serve(Op::Flush, 0, 0, || (Reply::Done(reply), self.image.sync()));
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        // Discards and zeroes, as the loop driver asks for them.
        if mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) == 0 || length == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let length = length.min(self.image.size().saturating_sub(offset));
        self.serve(Op::Discard, offset, length, || (Reply::Done(reply), self.image.discard(offset, length)));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // One file handle is closed; nothing is held back that would be due now.
        reply.ok();
    }
}
