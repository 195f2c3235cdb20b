//! [`StoreFileSystem`]: a FUSE file system of one file, whose content is a [`Store`].

use super::answer::Answer;
use super::buffer::{Buffer, Buffers};
use super::fuse::{self, Attributes, FuseBody, FuseFileSystem, FuseNodeKind, Reply};
use super::store::{BlockRequest, Store};
use iopilot_block::Op;
use std::sync::Arc;

/// The name of the file.
pub(super) const FILE: &str = "disk.img";
/// The kernel's number of the root folder.
const ROOT: u64 = 1;
const CONTENT: u64 = 2;
/// Becomes the block device's unit of discards, bytes.
pub(super) const BLOCK: u32 = 4096;

/// A file system of one file.
pub(super) struct StoreFileSystem<S> {
    store: Arc<S>,
    buffers: Arc<Buffers>,
}

impl<S: Store> StoreFileSystem<S> {
    /// A file system whose file is `store`.
    pub(super) fn new(store: Arc<S>, buffers: Arc<Buffers>) -> Self {
        Self { store, buffers }
    }

    fn attributes(&self, node: u64) -> Option<Attributes> {
        match node {
            ROOT => Some(Attributes { node, kind: FuseNodeKind::Folder, size: 0 }),
            CONTENT => Some(Attributes { node, kind: FuseNodeKind::File, size: self.store.size() }),
            _ => None,
        }
    }

    fn serve(&self, op: Op, (offset, length): (u64, u64), data: Option<Buffer>, reply: Reply) {
        let request = BlockRequest { op, durable: false, offset, length };
        if let Some(taken) = self.store.take(request, Answer::fuse(reply, op, data, &self.buffers)) {
            self.store.carry_out(taken);
        }
    }

    fn read(&self, offset: u64, size: u32, reply: Reply) {
        // Bytes beyond the end are no part of the disk.
        let length = u64::from(size).min(self.store.size().saturating_sub(offset));
        match length {
            0 => reply.data(&[]),
            length => self.serve(Op::Read, (offset, length), None, reply),
        }
    }

    fn write(&self, offset: u64, size: u32, data: Option<Buffer>, reply: Reply) {
        let end = offset.checked_add(u64::from(size));
        if size == 0 || data.is_none() || end.is_none_or(|end| end > self.store.size()) {
            return reply.error(libc::ENOSPC);
        }
        self.serve(Op::Write, (offset, size.into()), data, reply);
    }

    /// Discards and zeroes, as the loop driver asks for them.
    fn fallocate(&self, offset: u64, length: u64, mode: i32, reply: Reply) {
        let length = length.min(self.store.size().saturating_sub(offset));
        if mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) == 0 || length == 0 {
            return reply.error(libc::EOPNOTSUPP);
        }
        self.serve(Op::Discard, (offset, length), None, reply);
    }
}

impl<S: Store> FuseFileSystem for StoreFileSystem<S> {
    fn request(&self, node: u64, body: FuseBody<'_>, data: Option<Buffer>, reply: Reply) {
        match body {
            FuseBody::Read { offset, size } if node == CONTENT => self.read(offset, size, reply),
            FuseBody::Write { offset, size } if node == CONTENT => self.write(offset, size, data, reply),
            FuseBody::Fallocate { offset, length, mode } if node == CONTENT => {
                self.fallocate(offset, length, mode, reply);
            }
            FuseBody::Fsync if node == CONTENT => self.serve(Op::Flush, (0, 0), None, reply),
            FuseBody::Lookup(name) => {
                match self.attributes(CONTENT).filter(|_| node == ROOT && name == FILE.as_bytes()) {
                    Some(attributes) => reply.data(&attributes.entry_reply()),
                    None => reply.error(libc::ENOENT),
                }
            }
            FuseBody::Attributes => match self.attributes(node) {
                Some(attributes) => reply.data(&attributes.reply()),
                None => reply.error(libc::ENOENT),
            },
            FuseBody::Open if node == CONTENT => reply.data(&fuse::open_reply()),
            FuseBody::Statfs => reply.data(&fuse::statfs_reply(self.store.size(), BLOCK)),
            FuseBody::Closed => reply.data(&[]),
            _ => reply.error(libc::ENOSYS),
        }
    }
}
