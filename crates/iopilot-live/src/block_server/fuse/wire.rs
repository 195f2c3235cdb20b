//! Requests and answers as bytes: `struct fuse_*` of `include/uapi/linux/fuse.h`, in the machine's byte order.

use std::io;

/// The protocol's version.
pub(super) const MAJOR: u32 = 7;
/// The oldest minor version with all that is needed here (Linux 4.20).
pub(super) const LEAST_MINOR: u32 = 28;
/// The newest minor version whose answers have this layout.
const MINOR: u32 = 40;

/// `FUSE_ASYNC_DIO`: direct requests do not wait for each other.
pub(super) const ASYNC_DIO: u32 = 1 << 15;
const ASYNC_READ: u32 = 1;
const BIG_WRITES: u32 = 1 << 5;
const MAX_PAGES: u32 = 1 << 22;

/// The largest transfer, bytes: what the kernel's default of `fs.fuse.max_pages_limit` allows.
pub(crate) const MAX_TRANSFER: u32 = 1 << 20;
const PAGE: u32 = 4096;
const IN_HEADER: usize = 40;
/// Bytes before the data of a write: `struct fuse_in_header` and `struct fuse_write_in`.
pub(super) const HEAD: usize = IN_HEADER + 40;
const WRITE: u32 = 16;

/// A request of the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FuseRequest<'a> {
    /// Its identifier, which the answer repeats.
    pub(super) unique: u64,
    /// The file it is about.
    pub(super) node: u64,
    /// Its operation and arguments.
    pub(super) body: FuseBody<'a>,
}

/// The operation of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FuseBody<'a> {
    /// Look up a name.
    Lookup(&'a [u8]),
    /// Get or set attributes.
    Attributes,
    /// Open a file.
    Open,
    /// Get the sizes of the file system.
    Statfs,
    /// Read data.
    Read { offset: u64, size: u32 },
    /// Write the data that follow.
    Write { offset: u64, size: u32 },
    /// Make data durable.
    Fsync,
    /// Allocate or free space.
    Fallocate { offset: u64, length: u64, mode: i32 },
    /// A file was closed, or the file system ends.
    Closed,
    /// Start the connection.
    Init(Init),
    /// A message without an answer.
    Unanswered,
    /// Any other operation.
    Other,
}

/// `struct fuse_init_in`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Init {
    pub(super) major: u32,
    pub(super) minor: u32,
    /// The features of the kernel.
    pub(super) flags: u32,
}

impl<'a> FuseRequest<'a> {
    /// The request in `bytes`.
    pub(super) fn parse(bytes: &'a [u8]) -> io::Result<Self> {
        let header = Fields(bytes);
        let (opcode, unique, node) = (header.u32(4)?, header.u64(8)?, header.u64(16)?);
        let argument = Fields(bytes.get(IN_HEADER..).ok_or_else(short)?);
        let body = match opcode {
            1 => FuseBody::Lookup(argument.0.strip_suffix(&[0]).unwrap_or(argument.0)),
            2 | 36 | 42 => FuseBody::Unanswered,
            3 | 4 => FuseBody::Attributes,
            14 => FuseBody::Open,
            15 => FuseBody::Read { offset: argument.u64(8)?, size: argument.u32(16)? },
            WRITE => FuseBody::Write { offset: argument.u64(8)?, size: argument.u32(16)? },
            17 => FuseBody::Statfs,
            20 => FuseBody::Fsync,
            18 | 25 | 38 => FuseBody::Closed,
            26 => FuseBody::Init(Init { major: argument.u32(0)?, minor: argument.u32(4)?, flags: argument.u32(12)? }),
            43 => FuseBody::Fallocate {
                offset: argument.u64(8)?,
                length: argument.u64(16)?,
                mode: argument.u32(24)? as i32,
            },
            _ => FuseBody::Other,
        };
        Ok(Self { unique, node, body })
    }

    /// The same request, after which `length` bytes of data followed.
    pub(super) fn with_data(self, length: usize) -> io::Result<Self> {
        match self.body {
            FuseBody::Write { size, .. } if size as usize > length => Err(short()),
            _ => Ok(self),
        }
    }
}

/// Whether a message with this head is a write.
pub(super) fn is_write(head: &[u8]) -> bool {
    Fields(head).u32(4).is_ok_and(|opcode| opcode == WRITE)
}

/// Reads numbers from bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&self, at: usize) -> io::Result<u32> {
        let bytes = self.0.get(at..at + 4).and_then(|b| b.try_into().ok()).ok_or_else(short)?;
        Ok(u32::from_ne_bytes(bytes))
    }

    fn u64(&self, at: usize) -> io::Result<u64> {
        let bytes = self.0.get(at..at + 8).and_then(|b| b.try_into().ok()).ok_or_else(short)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

fn short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "a request of the kernel is cut short")
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FuseNodeKind {
    Folder,
    File,
}

/// The attributes of a file. It belongs to root, is accessible only to root, and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) node: u64,
    pub(crate) kind: FuseNodeKind,
    /// Bytes.
    pub(crate) size: u64,
}

/// How long attributes and names stay valid, seconds: for ever.
const EVER: u64 = 1 << 30;

impl Attributes {
    /// `struct fuse_attr_out`.
    pub(crate) fn reply(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(104);
        out.extend(EVER.to_ne_bytes());
        out.extend([0; 8]);
        self.append(&mut out);
        out
    }

    /// `struct fuse_entry_out`.
    pub(crate) fn entry_reply(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        for number in [self.node, 0, EVER, EVER, 0] {
            out.extend(number.to_ne_bytes());
        }
        self.append(&mut out);
        out
    }

    /// `struct fuse_attr`.
    fn append(&self, out: &mut Vec<u8>) {
        let mode = match self.kind {
            FuseNodeKind::Folder => 0o040_700,
            FuseNodeKind::File => 0o100_600,
        };
        for number in [self.node, self.size, self.size.div_ceil(512), 0, 0, 0] {
            out.extend(number.to_ne_bytes());
        }
        // Parts of the times; mode, links, user, group, device, block size, flags.
        for number in [0, 0, 0, mode, 1, 0, 0, 0, PAGE, 0] {
            out.extend(number.to_ne_bytes());
        }
    }
}

/// `struct fuse_out_header`.
pub(super) fn reply_header(unique: u64, errno: i32, length: usize) -> [u8; 16] {
    let mut header = [0; 16];
    header[..4].copy_from_slice(&(16 + length as u32).to_ne_bytes());
    header[4..8].copy_from_slice(&(-errno).to_ne_bytes());
    header[8..].copy_from_slice(&unique.to_ne_bytes());
    header
}

/// `struct fuse_init_out`, which accepts the needed features of `flags`.
pub(super) fn init_reply(flags: u32, max_background: u16) -> [u8; 64] {
    let mut out = [0; 64];
    let words = [MAJOR, MINOR, 0, flags & (ASYNC_DIO | ASYNC_READ | BIG_WRITES | MAX_PAGES)];
    for (place, word) in out.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    out[16..18].copy_from_slice(&max_background.to_ne_bytes());
    out[18..20].copy_from_slice(&(max_background / 4 * 3).to_ne_bytes());
    out[20..24].copy_from_slice(&MAX_TRANSFER.to_ne_bytes());
    // The unit of times, ns.
    out[24..28].copy_from_slice(&1u32.to_ne_bytes());
    out[28..30].copy_from_slice(&((MAX_TRANSFER / PAGE) as u16).to_ne_bytes());
    out
}

/// `struct fuse_open_out`: requests pass by the page cache, and writes do not wait for each other.
pub(crate) fn open_reply() -> [u8; 16] {
    const DIRECT_IO: u32 = 1;
    const PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
    let mut out = [0; 16];
    out[8..12].copy_from_slice(&(DIRECT_IO | PARALLEL_DIRECT_WRITES).to_ne_bytes());
    out
}

/// `struct fuse_statfs_out` of a file system that holds `size` bytes and has no room, in blocks of `block`.
pub(crate) fn statfs_reply(size: u64, block: u32) -> [u8; 80] {
    const LONGEST_NAME: u32 = 255;
    let mut out = [0; 80];
    out[..8].copy_from_slice(&(size / u64::from(block)).to_ne_bytes());
    for (place, number) in out[40..52].chunks_exact_mut(4).zip([block, LONGEST_NAME, block]) {
        place.copy_from_slice(&number.to_ne_bytes());
    }
    out
}

/// The answer to a kernel of a later version.
pub(super) fn version_reply() -> [u8; 64] {
    let mut out = [0; 64];
    out[..4].copy_from_slice(&MAJOR.to_ne_bytes());
    out[4..8].copy_from_slice(&MINOR.to_ne_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(opcode: u32, argument: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(((IN_HEADER + argument.len()) as u32).to_ne_bytes());
        bytes.extend(opcode.to_ne_bytes());
        bytes.extend(77u64.to_ne_bytes());
        bytes.extend(2u64.to_ne_bytes());
        bytes.extend([0; 16]);
        bytes.extend(argument);
        bytes
    }

    /// `struct fuse_write_in`, whose first fields are those of `struct fuse_read_in`.
    fn transfer(offset: u64, size: u32) -> Vec<u8> {
        let mut argument = vec![0; 8];
        argument.extend(offset.to_ne_bytes());
        argument.extend(size.to_ne_bytes());
        argument.extend([0; 20]);
        argument
    }

    fn body(bytes: &[u8]) -> FuseBody<'_> {
        let request = FuseRequest::parse(bytes).unwrap();
        assert_eq!((request.unique, request.node), (77, 2));
        request.body
    }

    #[test]
    fn requests_are_read() {
        assert_eq!(body(&request(1, b"disk.img\0")), FuseBody::Lookup(b"disk.img"));
        assert_eq!(body(&request(15, &transfer(4096, 512))), FuseBody::Read { offset: 4096, size: 512 });
        assert_eq!(body(&request(16, &transfer(8192, 3))), FuseBody::Write { offset: 8192, size: 3 });
        assert!(is_write(&request(16, &[])) && !is_write(&request(15, &[])));
        assert_eq!(body(&request(2, &[0; 8])), FuseBody::Unanswered);
        assert_eq!(body(&request(9999, &[])), FuseBody::Other);
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        for bytes in [&request(16, &[0; 19])[..], &request(15, &[0; 12]), &[0; 39], &[]] {
            assert!(FuseRequest::parse(bytes).is_err());
        }
        let write = request(16, &transfer(0, 4));
        let with = |length| FuseRequest::parse(&write).unwrap().with_data(length).is_ok();
        assert!(!with(3) && with(4));
    }

    #[test]
    fn answers_have_the_kernels_lengths() {
        let file = Attributes { node: 2, kind: FuseNodeKind::File, size: 1000 };
        assert_eq!((file.reply().len(), file.entry_reply().len()), (104, 128));
        let header = reply_header(77, libc::EIO, 8);
        assert_eq!(Fields(&header).u32(0).unwrap(), 24);
        assert_eq!(Fields(&header).u32(4).unwrap() as i32, -libc::EIO);
    }
}
