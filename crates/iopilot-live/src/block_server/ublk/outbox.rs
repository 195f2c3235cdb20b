//! [`Outbox`]: passes results from other threads to the thread that owns the ring.

use super::memory::UblkBuffers;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Completed requests, for the one thread that may answer the driver.
#[derive(Debug)]
pub(super) struct Outbox {
    held: Mutex<OutboxState>,
    /// Readable while there are results.
    bell: OwnedFd,
}

/// What an [`Outbox`] holds.
#[derive(Debug, Default)]
pub(super) struct OutboxState {
    /// Tags, and the results of their requests.
    pub(super) finished: Vec<(u16, i32)>,
    /// The owner removes the device.
    pub(super) leaving: bool,
    /// No more requests are to be served.
    pub(super) over: bool,
}

impl Outbox {
    /// An empty one.
    pub(super) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { held: Mutex::default(), bell })
    }

    /// The event to wait for.
    pub(super) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    /// Takes all results; later ones ring the bell again. Returns whether the thread should end.
    pub(super) fn take(&self, finished: &mut Vec<(u16, i32)>) -> bool {
        // The bell is reset first. A result in between then rings once too often, which does no harm.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        let mut held = self.lock();
        finished.append(&mut held.finished);
        held.over
    }

    /// Notes that the owner removes the device, so that fetches come back with errors.
    pub(super) fn leave(&self) {
        self.lock().leaving = true;
    }

    /// Whether the owner removes the device.
    pub(super) fn is_leaving(&self) -> bool {
        self.lock().leaving
    }

    /// Ends the thread that owns the ring.
    pub(super) fn end(&self) {
        self.lock().over = true;
        self.ring();
    }

    fn finished(&self, tag: u16, result: i32) {
        let first = {
            let mut held = self.lock();
            held.finished.push((tag, result));
            held.finished.len() == 1
        };
        if first {
            self.ring();
        }
    }

    fn ring(&self) {
        // It fails only if the counter of 64 bits overflows.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request to be answered; the holder owns its data. Dropping it without an answer is an I/O error.
#[derive(Debug)]
pub(in crate::block_server) struct Ticket {
    tag: u16,
    result: i32,
    buffers: Arc<UblkBuffers>,
    outbox: Arc<Outbox>,
}

impl Ticket {
    /// The ticket of `tag`, whose request has just come.
    pub(super) fn new(tag: u16, buffers: Arc<UblkBuffers>, outbox: Arc<Outbox>) -> Self {
        Self { tag, result: -libc::EIO, buffers, outbox }
    }

    /// The first `length` bytes of its data.
    pub(in crate::block_server) fn data(&mut self, length: usize) -> io::Result<&mut [u8]> {
        // SAFETY: there is one ticket for a request, made when it comes, and its answer takes the ticket.
        unsafe { self.buffers.data(self.tag, length) }.ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// Answers with bytes that were moved, or an error.
    pub(in crate::block_server) fn answer(mut self, result: io::Result<i32>) {
        self.result = result.unwrap_or_else(|e| -e.raw_os_error().unwrap_or(libc::EIO));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.outbox.finished(self.tag, self.result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_answered_is_told_and_what_is_not_is_an_error() {
        let outbox = Arc::new(Outbox::new().unwrap());
        let buffers = Arc::new(UblkBuffers::new(4).unwrap());
        let ticket = |tag| Ticket::new(tag, Arc::clone(&buffers), Arc::clone(&outbox));
        ticket(1).answer(Ok(4096));
        ticket(2).answer(Err(io::Error::from_raw_os_error(libc::ENOSPC)));
        drop(ticket(3));
        let mut finished = Vec::new();
        assert!(!outbox.take(&mut finished));
        assert_eq!(finished, [(1, 4096), (2, -libc::ENOSPC), (3, -libc::EIO)]);
        // Rung once, and heard.
        assert!(rustix::io::read(outbox.bell(), &mut [0; 8]).is_err());
        outbox.end();
        assert!(rustix::io::read(outbox.bell(), &mut [0; 8]).is_ok() && outbox.take(&mut finished));
    }

    #[test]
    fn a_ticket_has_its_data() {
        let outbox = Arc::new(Outbox::new().unwrap());
        let buffers = Arc::new(UblkBuffers::new(2).unwrap());
        let mut ticket = Ticket::new(1, buffers, outbox);
        ticket.data(512).unwrap().fill(7);
        assert_eq!(ticket.data(513).unwrap()[511..], [7, 0]);
        assert!(ticket.data(2 << 20).is_err());
    }
}
