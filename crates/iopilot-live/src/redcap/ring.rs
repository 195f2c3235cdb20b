//! [`Ring`]: reads and writes in flight, by io_uring.

use io_uring::types::{Fd, FsyncFlags};
use io_uring::{IoUring, opcode, squeue};
use iopilot_block::Op;
use std::io;
use std::os::fd::RawFd;

/// The most submissions that wait for the next system call.
const SUBMISSIONS: u32 = 512;
/// The most completions that wait before the kernel keeps further ones aside.
const COMPLETIONS: u32 = 4096;
// From include/uapi/linux/ioprio.h: the class, in the top three bits.
const IOPRIO_IDLE: u16 = 3 << 13;
/// The name of the request that wakes the waiting thread.
const WAKE: u64 = u64::MAX;

/// Requests to a file in flight. One thread waits for completions; the others [push](Self::push) under a lock of their
/// own.
pub(super) struct Ring {
    ring: IoUring,
    file: RawFd,
}

/// A request to a [`Ring`]'s file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Comes back with its completion; `u64::MAX` is reserved.
    pub(super) name: u64,
    pub(super) op: Op,
    /// Of a write: whether it is durable when it completes.
    pub(super) durable: bool,
    /// Of a read: whether it has idle priority, which schedulers serve on an idle disk only.
    pub(super) idle: bool,
    /// The first byte.
    pub(super) offset: u64,
    /// Bytes; 0 for a flush.
    pub(super) length: u64,
    /// Of reads and writes, the places of the data.
    pub(super) vectors: (*const libc::iovec, u32),
}

impl Ring {
    /// Requests to `file`, which outlives it.
    pub(super) fn new(file: RawFd) -> io::Result<Self> {
        Ok(Self { ring: IoUring::builder().setup_cqsize(COMPLETIONS).build(SUBMISSIONS)?, file })
    }

    /// Adds a request, to be [submitted](Self::submit).
    ///
    /// # Safety
    /// One thread pushes at a time. The vectors stay until they are submitted, and the data until the request
    /// completes.
    pub(super) unsafe fn push(&self, transfer: &Transfer) -> io::Result<()> {
        let &Transfer { name, op, durable, idle, offset, length, vectors: (vectors, count) } = transfer;
        let file = Fd(self.file);
        let entry = match op {
            Op::Read => {
                let priority = if idle { IOPRIO_IDLE } else { 0 };
                opcode::Readv::new(file, vectors, count).offset(offset).ioprio(priority).build()
            }
            Op::Write => {
                let flags = if durable { libc::RWF_DSYNC } else { 0 };
                opcode::Writev::new(file, vectors, count).offset(offset).rw_flags(flags).build()
            }
            Op::Flush => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            Op::Discard => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                opcode::Fallocate::new(file, length).offset(offset).mode(mode).build()
            }
        };
        // SAFETY: as the caller promises.
        unsafe { self.add(&entry.user_data(name)) }
    }

    /// Makes [`Self::wait`] return.
    ///
    /// # Safety
    /// One thread pushes at a time.
    pub(super) unsafe fn wake(&self) -> io::Result<()> {
        // SAFETY: it has no data; the rest is as the caller promises.
        unsafe { self.add(&opcode::Nop::new().build().user_data(WAKE)) }?;
        self.submit()
    }

    /// # Safety
    /// As for [`Self::push`].
    unsafe fn add(&self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: no other thread uses the queue, as the caller promises; what the entry points to stays.
        while unsafe { self.ring.submission_shared().push(entry) }.is_err() {
            // It is full.
            self.submit()?;
        }
        Ok(())
    }

    /// Sends what was added to the disk. Any thread may.
    pub(super) fn submit(&self) -> io::Result<()> {
        loop {
            match self.ring.submit() {
                Ok(_) => return Ok(()),
                Err(e) if matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN)) => {}
                // The kernel takes more once completions have been taken.
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
    }

    /// Waits for a completion.
    pub(super) fn wait(&self) -> io::Result<()> {
        match self.ring.submit_and_wait(1) {
            Ok(_) => Ok(()),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Passes all completions to `sink`, by name and result.
    ///
    /// # Safety
    /// One thread takes completions.
    pub(super) unsafe fn take(&self, mut sink: impl FnMut(u64, i32)) {
        // SAFETY: as the caller promises.
        let completions = unsafe { self.ring.completion_shared() };
        for done in completions.filter(|done| done.user_data() != WAKE) {
            sink(done.user_data(), done.result());
        }
    }
}
