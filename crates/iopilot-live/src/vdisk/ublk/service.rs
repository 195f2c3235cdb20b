//! [`Service`]: carries out a request on the image and in the model.

use super::abi::{Descriptor, Request};
use super::outbox::Ticket;
use crate::vdisk::answer::{PendingRequest, Timing, VdiskAnswer};
use crate::vdisk::engine::Answer;
use crate::vdisk::image::Image;
use crate::vdisk::model_queue::DiskRequest;
use iopilot_block::{Lba, Op, SECTOR_BYTES, Sectors};
use std::io;
use std::sync::Arc;

/// An answer that is ready to be sent.
pub(in crate::vdisk) struct UblkAnswer {
    ticket: Ticket,
    result: io::Result<i32>,
}

impl Answer for UblkAnswer {
    fn send(self) {
        self.ticket.answer(self.result);
    }

    fn is_error(&self) -> bool {
        self.result.is_err()
    }
}

/// A request whose data are to be moved.
pub(super) struct Job {
    request: Request,
    descriptor: Descriptor,
    pending: PendingRequest,
    ticket: Ticket,
}

/// The data and the timing of a device.
#[derive(Clone)]
pub(super) struct Service {
    /// The data.
    pub(super) image: Arc<Image>,
    /// When requests are answered.
    pub(super) timing: Timing,
}

impl Service {
    /// Submits a request to the model. Returns the job of moving its data; `None` if the request is refused.
    pub(super) fn begin(&self, descriptor: Descriptor, ticket: Ticket) -> Option<Job> {
        let request = descriptor.request();
        let Some(model_request) = model_request(&descriptor, request) else {
            ticket.answer(Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)));
            return None;
        };
        Some(Job { request, descriptor, pending: self.timing.begin(model_request), ticket })
    }

    /// Moves the data of a request; it is answered when it is due.
    pub(super) fn carry_out(&self, Job { request, descriptor, pending, mut ticket }: Job) {
        let result = move_data(&self.image, request, &descriptor, &mut ticket);
        self.timing.finish(pending, VdiskAnswer::Ublk(UblkAnswer { ticket, result }));
    }
}

/// The request for the model; `None` for one that is not supported.
fn model_request(descriptor: &Descriptor, request: Request) -> Option<DiskRequest> {
    let (op, lba, sectors) = match request {
        Request::Read => (Op::Read, descriptor.first, descriptor.sectors),
        Request::Write { .. } => (Op::Write, descriptor.first, descriptor.sectors),
        Request::Discard => (Op::Discard, descriptor.first, descriptor.sectors),
        Request::Flush => (Op::Flush, 0, 0),
        Request::Unknown => return None,
    };
    Some(DiskRequest { op, lba: Lba(lba), sectors: Sectors(sectors) })
}

/// Moves the data of a request. Returns the number of bytes.
fn move_data(image: &Image, request: Request, descriptor: &Descriptor, ticket: &mut Ticket) -> io::Result<i32> {
    // Before the address is checked, since a flush has none.
    if request == Request::Flush {
        return image.sync().map(|()| 0);
    }
    let offset = descriptor.first.checked_mul(SECTOR_BYTES).ok_or(io::ErrorKind::InvalidInput)?;
    let bytes = u64::from(descriptor.sectors) * SECTOR_BYTES;
    let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    match request {
        Request::Read => Ok(image.read(ticket.data(length)?, offset)?.len() as i32),
        Request::Write { durable } => {
            image.write(ticket.data(length)?, offset)?;
            if durable {
                image.sync()?;
            }
            Ok(length as i32)
        }
        Request::Discard => {
            let length = bytes.min(image.size().saturating_sub(offset));
            image.discard(offset, length).map(|()| 0)
        }
        Request::Flush | Request::Unknown => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Buffers;
    use super::super::outbox::Outbox;
    use super::*;
    use crate::vdisk::stats::Tally;
    use std::sync::Mutex;

    const READ: u32 = 0;
    const WRITE: u32 = 1;
    const FLUSH: u32 = 2;
    const DISCARD: u32 = 3;
    const WRITE_SAME: u32 = 4;

    #[test]
    fn what_is_written_is_read_until_it_is_discarded() {
        let folder = tempfile::tempdir().unwrap();
        let image = Arc::new(Image::open(&folder.path().join("a.img"), Some(8192)).unwrap());
        let tally = Arc::new(Mutex::new(Tally::new(1.0)));
        let service = Service { image, timing: Timing::None(Arc::clone(&tally)) };
        let buffers = Arc::new(Buffers::new(1).unwrap());
        let outbox = Arc::new(Outbox::new().unwrap());
        let ticket = || Ticket::new(0, Arc::clone(&buffers), Arc::clone(&outbox));
        let ask = |op_flags, sectors, first| {
            let descriptor = Descriptor { op_flags, sectors, first, address: 0 };
            if let Some(job) = service.begin(descriptor, ticket()) {
                service.carry_out(job);
            }
            let mut finished = Vec::new();
            outbox.take(&mut finished);
            assert_eq!((finished.len(), finished[0].0), (1, 0));
            finished[0].1
        };
        let fill = |byte| {
            let mut ticket = ticket();
            ticket.data(1024).unwrap().fill(byte);
            ticket.answer(Ok(0));
            outbox.take(&mut Vec::new());
        };
        let first_byte = || {
            let mut ticket = ticket();
            let byte = ticket.data(1).unwrap()[0];
            drop(ticket);
            outbox.take(&mut Vec::new());
            byte
        };
        // The kernel gives flushes the last place of all.
        fill(9);
        assert_eq!(ask(WRITE | 1 << 13, 2, 3), 1024);
        fill(0);
        assert_eq!((ask(READ, 2, 3), first_byte()), (1024, 9));
        assert_eq!((ask(FLUSH, 0, u64::MAX), ask(DISCARD, 16, 0)), (0, 0));
        assert_eq!((ask(READ, 2, 3), first_byte()), (1024, 0));
        assert_eq!((ask(WRITE, 2, 15), ask(WRITE_SAME, 1, 0)), (-libc::ENOSPC, -libc::EOPNOTSUPP));
        let stats = tally.lock().unwrap().stats(0, 0);
        assert_eq!((stats.requests.read, stats.requests.flush, stats.requests.discard), (2, 1, 1));
        assert_eq!((stats.errors.write, stats.errors.total()), (1, 1), "what lies beyond the end");
    }
}
