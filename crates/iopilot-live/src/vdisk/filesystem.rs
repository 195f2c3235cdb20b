//! [`ImageFileSystem`]: a FUSE file system of one file, whose requests are answered when the model says.

use super::answer::{Timing, VdiskAnswer};
use super::engine::Answer;
use super::fuse::{self, Attributes, Body, FileSystem, Kind, Reply};
use super::image::Image;
use super::model_queue::DiskRequest;
use iopilot_block::{Lba, Op, SECTOR_BYTES, Sectors};
use std::io;
use std::sync::{Arc, Mutex};

/// The name of the file.
pub(super) const FILE: &str = "disk.img";
/// The kernel's number of the root folder.
const ROOT: u64 = 1;
const IMAGE: u64 = 2;
/// Becomes the block device's unit of discards, bytes.
pub(super) const BLOCK: u32 = 4096;
/// Buffers that are kept for reads to come.
const SPARE_BUFFERS: usize = 64;

/// An answer that is ready to be sent.
pub(super) struct FuseAnswer {
    reply: Reply,
    content: io::Result<Content>,
    buffers: Arc<Buffers>,
}

/// What is answered.
enum Content {
    /// The data in the buffer, up to a length.
    Data(Vec<u8>, usize),
    /// `struct fuse_write_out`: how much was written.
    Written([u8; 8]),
    Done,
}

impl Answer for FuseAnswer {
    fn send(self) {
        let Self { reply, content, buffers } = self;
        match content {
            Ok(Content::Data(buffer, length)) => {
                reply.data(&buffer[..length]);
                buffers.give(buffer);
            }
            Ok(Content::Written(out)) => reply.data(&out),
            Ok(Content::Done) => reply.data(&[]),
            Err(e) => reply.error(e.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    fn is_error(&self) -> bool {
        self.content.is_err()
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

    fn attributes(&self, node: u64) -> Option<Attributes> {
        match node {
            ROOT => Some(Attributes { node, kind: Kind::Folder, size: 0 }),
            IMAGE => Some(Attributes { node, kind: Kind::File, size: self.image.size() }),
            _ => None,
        }
    }

    /// Serves a request: the model begins with it while `move_data` does what it asks.
    fn serve(&self, op: Op, offset: u64, length: u64, reply: Reply, move_data: impl FnOnce() -> io::Result<Content>) {
        let first = offset / SECTOR_BYTES;
        let sectors = match op {
            Op::Flush => 0,
            _ => u32::try_from((offset + length).div_ceil(SECTOR_BYTES) - first).unwrap_or(u32::MAX),
        };
        let pending = self.timing.begin(DiskRequest { op, lba: Lba(first), sectors: Sectors(sectors) });
        let answer = FuseAnswer { reply, content: move_data(), buffers: Arc::clone(&self.buffers) };
        self.timing.finish(pending, VdiskAnswer::Fuse(answer));
    }

    fn read(&self, offset: u64, size: u32, reply: Reply) {
        // What lies behind the end is no part of the disk.
        let length = u64::from(size).min(self.image.size().saturating_sub(offset));
        if length == 0 {
            return reply.data(&[]);
        }
        self.serve(Op::Read, offset, length, reply, || {
            let mut buffer = self.buffers.take(size as usize);
            let length = self.image.read(&mut buffer[..size as usize], offset)?.len();
            Ok(Content::Data(buffer, length))
        });
    }

    fn write(&self, offset: u64, data: &[u8], reply: Reply) {
        if data.is_empty() || offset.checked_add(data.len() as u64).is_none_or(|end| end > self.image.size()) {
            return reply.error(libc::ENOSPC);
        }
        self.serve(Op::Write, offset, data.len() as u64, reply, || {
            self.image.write(data, offset)?;
            let mut out = [0; 8];
            out[..4].copy_from_slice(&(data.len() as u32).to_ne_bytes());
            Ok(Content::Written(out))
        });
    }

    /// Discards and zeroes, as the loop driver asks for them.
    fn fallocate(&self, offset: u64, length: u64, mode: i32, reply: Reply) {
        let length = length.min(self.image.size().saturating_sub(offset));
        if mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) == 0 || length == 0 {
            return reply.error(libc::EOPNOTSUPP);
        }
        self.serve(Op::Discard, offset, length, reply, || {
            self.image.discard(offset, length)?;
            Ok(Content::Done)
        });
    }
}

impl FileSystem for ImageFileSystem {
    fn request(&self, node: u64, body: Body<'_>, reply: Reply) {
        match body {
            Body::Read { offset, size } if node == IMAGE => self.read(offset, size, reply),
            Body::Write { offset, data } if node == IMAGE => self.write(offset, data, reply),
            Body::Fallocate { offset, length, mode } if node == IMAGE => self.fallocate(offset, length, mode, reply),
            Body::Fsync if node == IMAGE => {
                self.serve(Op::Flush, 0, 0, reply, || self.image.sync().map(|()| Content::Done));
            }
            Body::Lookup(name) => match self.attributes(IMAGE).filter(|_| node == ROOT && name == FILE.as_bytes()) {
                Some(attributes) => reply.data(&attributes.entry_reply()),
                None => reply.error(libc::ENOENT),
            },
            Body::Attributes => match self.attributes(node) {
                Some(attributes) => reply.data(&attributes.reply()),
                None => reply.error(libc::ENOENT),
            },
            Body::Open if node == IMAGE => reply.data(&fuse::open_reply()),
            Body::Statfs => reply.data(&fuse::statfs_reply(self.image.size(), BLOCK)),
            Body::Closed => reply.data(&[]),
            _ => reply.error(libc::ENOSYS),
        }
    }
}
