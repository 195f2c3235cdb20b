//! Translates the driver's requests for a [`Store`].

use super::abi::{Descriptor, UblkRequest};
use super::outbox::Ticket;
use crate::block_server::answer::Answer;
use crate::block_server::store::{BlockRequest, Store};
use iopilot_block::{Op, SECTOR_BYTES};
use std::io;

/// Passes a request to `store`. Returns its remaining work; `None` if there is none, or the request is refused.
pub(super) fn take<S: Store>(store: &S, descriptor: Descriptor, ticket: Ticket) -> Option<S::Taken> {
    match request(&descriptor) {
        Ok(mut request) => {
            if request.op != Op::Write {
                // Sectors beyond the end do not exist.
                request.length = request.length.min(store.size().saturating_sub(request.offset));
            }
            store.take(request, Answer::ublk(ticket))
        }
        Err(errno) => {
            ticket.answer(Err(io::Error::from_raw_os_error(errno)));
            None
        }
    }
}

/// The request for a store, or the number of an error.
fn request(descriptor: &Descriptor) -> Result<BlockRequest, i32> {
    let offset = descriptor.first.checked_mul(SECTOR_BYTES);
    let length = u64::from(descriptor.sectors) * SECTOR_BYTES;
    let of = |op, durable| match offset {
        Some(offset) => Ok(BlockRequest { op, durable, offset, length }),
        None => Err(libc::EINVAL),
    };
    match descriptor.request() {
        UblkRequest::Read => of(Op::Read, false),
        UblkRequest::Write { durable } => of(Op::Write, durable),
        UblkRequest::Discard => of(Op::Discard, false),
        // The kernel gives flushes the last of all sector numbers.
        UblkRequest::Flush => Ok(BlockRequest { op: Op::Flush, durable: false, offset: 0, length: 0 }),
        UblkRequest::Unknown => Err(libc::EOPNOTSUPP),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: u32 = 0;
    const WRITE: u32 = 1;
    const FLUSH: u32 = 2;
    const DISCARD: u32 = 3;
    const WRITE_SAME: u32 = 4;
    const FUA: u32 = 1 << 13;

    #[test]
    fn requests_are_those_of_the_driver() {
        let of = |op_flags, sectors, first| request(&Descriptor { op_flags, sectors, first, address: 0 });
        let is = |op, durable, offset, length| Ok(BlockRequest { op, durable, offset, length });
        assert_eq!(of(READ, 2, 3), is(Op::Read, false, 1536, 1024));
        assert_eq!(of(WRITE | FUA, 2, 3), is(Op::Write, true, 1536, 1024));
        assert_eq!(of(DISCARD, 16, 0), is(Op::Discard, false, 0, 8192));
        assert_eq!(of(FLUSH, 0, u64::MAX), is(Op::Flush, false, 0, 0));
        assert_eq!((of(WRITE_SAME, 1, 0), of(READ, 1, u64::MAX)), (Err(libc::EOPNOTSUPP), Err(libc::EINVAL)));
    }
}
