//! [`UblkQueue`]: fetches and answers the driver's requests, in the one thread that may.

use super::abi::{self, Descriptor, IoCommand};
use super::control::CommandRing;
use super::memory::{Descriptors, UblkBuffers};
use super::outbox::{Outbox, Ticket};
use io_uring::squeue::Entry128;
use io_uring::{opcode, types};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// The identifier of the bell in the ring; tags are smaller.
const BELL: u64 = 1 << 32;

/// The one queue of a device. It belongs to the thread that made it: the driver takes answers from no other thread.
pub(super) struct UblkQueue {
    ring: CommandRing,
    device: File,
    descriptors: Descriptors,
    buffers: Arc<UblkBuffers>,
    outbox: Arc<Outbox>,
    /// How many tags can still get requests.
    left: u16,
    /// Commands that have come back.
    returned: Vec<(u64, i32)>,
    /// Requests to be answered.
    finished: Vec<(u16, i32)>,
}

impl UblkQueue {
    /// Fetches the first request of each of `depth` tags of `device`, a character device of the driver.
    pub(super) fn fetch(device: File, depth: u16, buffers: Arc<UblkBuffers>, outbox: Arc<Outbox>) -> io::Result<Self> {
        let descriptors = Descriptors::map(&device, depth)?;
        // Each tag has at most one command, and there is the bell.
        let ring = CommandRing::builder().build((u32::from(depth) + 1).next_power_of_two())?;
        let (returned, finished) = (Vec::new(), Vec::new());
        let mut queue = Self { ring, device, descriptors, buffers, outbox, left: depth, returned, finished };
        for tag in 0..depth {
            queue.push_command(abi::FETCH, tag, 0)?;
        }
        queue.push_bell()?;
        queue.ring.submit()?;
        // The driver refuses a command at once, or not at all.
        queue.collect();
        match queue.returned.iter().find(|&&(_, result)| result < 0) {
            Some((_, error)) => Err(io::Error::from_raw_os_error(-error)),
            None => Ok(queue),
        }
    }

    /// Hands each request that comes to `serve`, until the outbox says that it is over.
    ///
    /// # Errors
    /// If a command fails, or somebody else has removed the device.
    pub(super) fn run(&mut self, mut serve: impl FnMut(Descriptor, Ticket)) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(1) {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
                _ => self.collect(),
            }
            let mut returned = std::mem::take(&mut self.returned);
            let mut rung = false;
            for (name, result) in returned.drain(..) {
                if name == BELL {
                    rung = true;
                    continue;
                }
                // An error means that the device is being removed: the tag is not fetched again.
                let Ok(tag) = u16::try_from(name) else { continue };
                match self.descriptors.get(tag).filter(|_| result == 0) {
                    Some(descriptor) => {
                        serve(descriptor, Ticket::new(tag, Arc::clone(&self.buffers), Arc::clone(&self.outbox)));
                    }
                    None => self.left = self.left.saturating_sub(1),
                }
            }
            self.returned = returned;
            if self.left == 0 && !self.outbox.is_leaving() {
                return Err(io::Error::from_raw_os_error(libc::ENODEV));
            }
            if rung {
                let mut finished = std::mem::take(&mut self.finished);
                if self.outbox.take(&mut finished) {
                    return Ok(());
                }
                for (tag, result) in finished.drain(..) {
                    self.push_command(abi::COMMIT_AND_FETCH, tag, result)?;
                }
                self.finished = finished;
                self.push_bell()?;
            }
        }
    }

    fn collect(&mut self) {
        let completions = self.ring.completion();
        self.returned.extend(completions.map(|done| (done.user_data(), done.result())));
    }

    fn push_command(&mut self, opcode: u32, tag: u16, result: i32) -> io::Result<()> {
        let command = IoCommand { tag, result, address: self.buffers.address(tag) };
        let entry = opcode::UringCmd80::new(types::Fd(self.device.as_raw_fd()), opcode).cmd(command.bytes()).build();
        self.push(&entry.user_data(u64::from(tag)))
    }

    fn push_bell(&mut self) -> io::Result<()> {
        let fd = types::Fd(self.outbox.bell().as_raw_fd());
        let entry = opcode::PollAdd::new(fd, libc::POLLIN as u32).build();
        self.push(&entry.user_data(BELL).into())
    }

    fn push(&mut self, entry: &Entry128) -> io::Result<()> {
        // SAFETY: the driver moves data to and from the tag's buffer, which the owner of the device keeps until the
        // device is deleted; a poll has no memory.
        unsafe { self.ring.submission().push(entry) }.map_err(io::Error::other)
    }
}
