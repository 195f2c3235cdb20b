//! Memory that is shared with the ublk driver: [`Descriptors`], which it writes, and [`UblkBuffers`] for the data.

use super::abi::{Descriptor, MAX_BYTES};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ptr::{NonNull, null_mut};

/// Pages that are mapped until this is dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<c_void>,
    length: usize,
}

// SAFETY: it is an address; its owners guard the memory there.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(start: *mut c_void, length: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { start, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and all references into it borrow this value.
        let _ = unsafe { munmap(self.start.as_ptr(), self.length) };
    }
}

/// The descriptors of requests, by tag, as the driver writes them.
#[derive(Debug)]
pub(super) struct Descriptors {
    mapping: Mapping,
    depth: u16,
}

impl Descriptors {
    /// Those of the one queue of `device`, a character device of the driver.
    pub(super) fn map(device: &File, depth: u16) -> io::Result<Self> {
        let length = (usize::from(depth) * size_of::<Descriptor>()).next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let start = unsafe { mmap(null_mut(), length, ProtFlags::READ, MapFlags::SHARED, device, 0) }?;
        Ok(Self { mapping: Mapping::new(start, length)?, depth })
    }

    /// The descriptor of `tag`, whose fetch has just come back.
    pub(super) fn get(&self, tag: u16) -> Option<Descriptor> {
        let place = (tag < self.depth).then(|| self.mapping.start.cast::<Descriptor>())?;
        // SAFETY: the mapping has `depth` of them, of plain numbers; the driver wrote this one before it let the fetch
        // come back, and writes it no more until it is fetched for again.
        Some(unsafe { place.add(usize::from(tag)).read_volatile() })
    }
}

/// Room for the data of each tag, which takes memory once it is used.
#[derive(Debug)]
pub(super) struct UblkBuffers {
    mapping: Mapping,
    depth: u16,
}

impl UblkBuffers {
    /// Room for `depth` tags.
    pub(super) fn new(depth: u16) -> io::Result<Self> {
        let length = usize::from(depth) * MAX_BYTES as usize;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let start = unsafe { mmap_anonymous(null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
        Ok(Self { mapping: Mapping::new(start, length)?, depth })
    }

    /// Where the data of `tag` are.
    pub(super) fn address(&self, tag: u16) -> u64 {
        debug_assert!(tag < self.depth, "tag {tag}");
        self.mapping.start.as_ptr() as u64 + u64::from(tag) * u64::from(MAX_BYTES)
    }

    /// The data of `tag`; `None` for more of them than there is room for.
    ///
    /// # Safety
    /// The tag is the caller's alone: its request has come, and has not been answered.
    #[expect(clippy::mut_from_ref, reason = "each tag's part has one user, as is demanded above")]
    pub(super) unsafe fn data(&self, tag: u16, length: usize) -> Option<&mut [u8]> {
        if tag >= self.depth || length > MAX_BYTES as usize {
            return None;
        }
        let at = usize::from(tag) * MAX_BYTES as usize;
        // SAFETY: it lies within the mapping, whose bytes are all initialised, and the reference is exclusive.
        Some(unsafe { std::slice::from_raw_parts_mut(self.mapping.start.as_ptr().cast::<u8>().add(at), length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tag_has_room_of_its_own() {
        let buffers = UblkBuffers::new(3).unwrap();
        assert_eq!(buffers.address(2) - buffers.address(1), u64::from(MAX_BYTES));
        // SAFETY: nobody else has these tags.
        let (first, last) = unsafe { (buffers.data(0, 1 << 20).unwrap(), buffers.data(2, 1 << 20).unwrap()) };
        first.fill(1);
        assert!(last.iter().all(|&byte| byte == 0));
        assert_eq!(last.as_ptr() as u64, buffers.address(2));
        // SAFETY: there are none.
        assert!(unsafe { buffers.data(3, 1).is_none() && buffers.data(1, (1 << 20) + 1).is_none() });
    }
}
