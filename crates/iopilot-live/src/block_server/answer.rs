//! [`Answer`]: the answer to a request of the kernel, and the request's data.

use super::buffer::{Buffer, Buffers};
use super::fuse::Reply;
#[cfg(feature = "ublk")]
use super::ublk::Ticket;
use iopilot_block::Op;
use std::io;
use std::sync::Arc;

/// The answer to a request, to be sent once. An answer that is dropped unsent is an I/O error.
pub(crate) struct Answer {
    way: Way,
    /// The bytes that were moved.
    result: io::Result<usize>,
}

/// How it reaches the kernel.
enum Way {
    /// A file of FUSE.
    Fuse {
        reply: Reply,
        op: Op,
        /// The data of a write; the data of a read, once there are any.
        data: Option<Buffer>,
        buffers: Arc<Buffers>,
    },
    /// The ublk driver.
    #[cfg(feature = "ublk")]
    Ublk(Ticket),
    /// A test.
    #[cfg(test)]
    Test { data: Buffer, sent: std::sync::mpsc::Sender<Sent> },
}

/// The answer that a test receives.
#[cfg(test)]
pub(crate) type Sent = Result<Vec<u8>, Option<i32>>;

impl Answer {
    /// An answer through FUSE; `data` is the data of a write.
    pub(super) fn fuse(reply: Reply, op: Op, data: Option<Buffer>, buffers: &Arc<Buffers>) -> Self {
        Self::new(Way::Fuse { reply, op, data, buffers: Arc::clone(buffers) })
    }

    /// An answer through the ublk driver.
    #[cfg(feature = "ublk")]
    pub(super) fn ublk(ticket: Ticket) -> Self {
        Self::new(Way::Ublk(ticket))
    }

    /// An answer to a test, which receives the data that were read or written.
    #[cfg(test)]
    pub(crate) fn test(data: Buffer, sent: std::sync::mpsc::Sender<Sent>) -> Self {
        Self::new(Way::Test { data, sent })
    }

    fn new(way: Way) -> Self {
        Self { way, result: Err(io::Error::from_raw_os_error(libc::EIO)) }
    }

    /// The first `length` bytes of the request's data: the data to write, or the room for the data that are read. They
    /// keep their address until the answer is sent.
    ///
    /// # Errors
    /// Where no request can be that long.
    pub(crate) fn data(&mut self, length: usize) -> io::Result<&mut [u8]> {
        match &mut self.way {
            Way::Fuse { data, buffers, .. } => {
                let buffer = data.get_or_insert_with(|| buffers.take());
                buffer.get_mut(..length).ok_or_else(|| io::ErrorKind::InvalidInput.into())
            }
            #[cfg(feature = "ublk")]
            Way::Ublk(ticket) => ticket.data(length),
            #[cfg(test)]
            Way::Test { data, .. } => data.get_mut(..length).ok_or_else(|| io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Sets the result: the number of bytes that were moved, or an error.
    pub(crate) fn set(&mut self, result: io::Result<usize>) {
        self.result = result;
    }

    /// Whether the result is an error.
    pub(crate) fn is_error(&self) -> bool {
        self.result.is_err()
    }

    /// Sends it.
    pub(crate) fn send(self) {
        let Self { way, result } = self;
        match (way, result) {
            (Way::Fuse { reply, .. }, Err(e)) => reply.error(e.raw_os_error().unwrap_or(libc::EIO)),
            (Way::Fuse { reply, op: Op::Read, data, .. }, Ok(length)) => {
                match data.as_deref().and_then(|data| data.get(..length)) {
                    Some(data) => reply.data(data),
                    None => reply.error(libc::EIO),
                }
            }
            // `struct fuse_write_out`.
            (Way::Fuse { reply, op: Op::Write, .. }, Ok(length)) => {
                let mut out = [0; 8];
                out[..4].copy_from_slice(&(length as u32).to_ne_bytes());
                reply.data(&out);
            }
            (Way::Fuse { reply, .. }, Ok(_)) => reply.data(&[]),
            #[cfg(feature = "ublk")]
            (Way::Ublk(ticket), result) => ticket.answer(result.map(|length| length as i32)),
            #[cfg(test)]
            (Way::Test { data, sent }, result) => {
                let told = result.map(|length| data[..length].to_vec()).map_err(|e| e.raw_os_error());
                let _ = sent.send(told);
            }
        }
    }

    /// Answers a read with `data`, which lie outside of the answer's own buffer.
    pub(crate) fn send_data(self, data: &[u8]) {
        match self.way {
            Way::Fuse { reply, .. } => reply.data(data),
            #[cfg(any(test, feature = "ublk"))]
            way => {
                let mut answer = Self::new(way);
                let copied = answer.data(data.len()).map(|room| room.copy_from_slice(data));
                answer.set(copied.map(|()| data.len()));
                answer.send();
            }
        }
    }
}
