//! [`Frames`]: the memory of a cache.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr::{NonNull, null_mut};

// From include/uapi/asm-generic/mman-common.h, since Linux 5.18: frees pages that are locked in memory.
const MADV_DONTNEED_LOCKED: libc::c_int = 24;
// From include/uapi/asm-generic/mman.h: pages are locked once they are used.
const MLOCK_ONFAULT: libc::c_uint = 1;

/// The frames of a cache: so many bytes for each slot. A slot takes memory once it is used, and is never paged out.
#[derive(Debug)]
pub(super) struct Frames {
    start: NonNull<c_void>,
    /// Bytes of the mapping.
    length: usize,
    segment: usize,
    /// Whether a slot takes memory.
    used: Vec<bool>,
    locked: bool,
}

// SAFETY: it owns what it points to.
unsafe impl Send for Frames {}

impl Frames {
    /// Frames of `segments` slots of `segment` bytes each, which can be [divided](Self::divide) anew within `most`
    /// bytes.
    pub(super) fn new(segments: u32, segment: usize, most: usize) -> io::Result<Self> {
        let used = vec![false; segments as usize];
        let length = most.max(used.len() * segment);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let start = unsafe { mmap_anonymous(null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
        let start = NonNull::new(start).ok_or(io::ErrorKind::InvalidData)?;
        // SAFETY: the mapping has so many bytes.
        let locked = unsafe { libc::mlock2(start.as_ptr(), length, MLOCK_ONFAULT) } == 0;
        Ok(Self { start, length, segment, used, locked })
    }

    /// Bytes that they can take.
    pub(super) const fn most_bytes(&self) -> u64 {
        self.length as u64
    }

    /// Divides them into other slots. Their contents are lost.
    pub(super) fn divide(&mut self, segments: u32, segment: usize) {
        assert!(segments as usize * segment <= self.length, "{segments} x {segment} bytes in {}", self.length);
        self.release(|_| false);
        (self.used, self.segment) = (vec![false; segments as usize], segment);
    }

    /// Whether the kernel keeps them in memory.
    pub(super) const fn is_locked(&self) -> bool {
        self.locked
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> u64 {
        (self.used.iter().filter(|&&used| used).count() * self.segment) as u64
    }

    /// The address of `length` bytes of `slot`, from `offset` on. It is valid until the slot is
    /// [released](Self::release).
    pub(super) fn place(&mut self, slot: u32, offset: usize, length: usize) -> *mut u8 {
        assert!(offset + length <= self.segment, "frames of {} bytes hold no {offset} + {length}", self.segment);
        self.used[slot as usize] = true;
        // SAFETY: the slot is within the mapping, as `used` has an entry for it, and so are the bytes.
        unsafe { self.start.as_ptr().cast::<u8>().add(slot as usize * self.segment + offset) }
    }

    /// Copies from `slot`, from `offset` on.
    pub(super) fn copy_to(&mut self, slot: u32, offset: usize, to: &mut [u8]) {
        let from = self.place(slot, offset, to.len());
        // SAFETY: the frames hold that many bytes, outside of `to`. The policy keeps them unchanged until the copy is
        // reported.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    }

    /// Releases the memory of the slots for which `is_used` is false.
    pub(super) fn release(&mut self, is_used: impl Fn(u32) -> bool) {
        for (slot, used) in self.used.iter_mut().enumerate().filter(|(_, used)| **used) {
            if is_used(slot as u32) {
                continue;
            }
            // SAFETY: within the mapping.
            let start = unsafe { self.start.as_ptr().cast::<u8>().add(slot * self.segment) }.cast();
            // SAFETY: as above. A slot that is not used is neither read nor written, and reads as zeros from then on.
            let freed = unsafe { libc::madvise(start, self.segment, MADV_DONTNEED_LOCKED) } == 0 || {
                // SAFETY: as above.
                unsafe {
                    libc::munlock(start, self.segment) == 0
                        && libc::madvise(start, self.segment, libc::MADV_DONTNEED) == 0
                        && libc::mlock2(start, self.segment, MLOCK_ONFAULT) == 0
                }
            };
            *used = !freed;
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no pointer into it is used any more.
        let _ = unsafe { munmap(self.start.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_when_used_and_given_back() {
        let mut frames = Frames::new(3, 32768, 131_072).unwrap();
        assert_eq!(frames.bytes(), 0);
        for slot in [0, 2] {
            let place = frames.place(slot, 512, 4);
            // SAFETY: four bytes are there.
            unsafe { place.copy_from_nonoverlapping([1u8, 2, 3, slot as u8].as_ptr(), 4) };
        }
        let mut four = [0; 4];
        frames.copy_to(2, 512, &mut four);
        assert_eq!((four, frames.bytes()), ([1, 2, 3, 2], 65536));
        frames.release(|slot| slot == 2);
        assert_eq!(frames.bytes(), 32768);
        frames.copy_to(0, 512, &mut four);
        assert_eq!(four, [0; 4], "given back");
        frames.copy_to(2, 512, &mut four);
        assert_eq!(four, [1, 2, 3, 2]);
        frames.divide(2, 65536);
        assert_eq!((frames.bytes(), frames.most_bytes()), (0, 131_072));
        frames.copy_to(1, 512, &mut four);
        assert_eq!((four, frames.bytes()), ([0; 4], 65536), "the contents are lost");
    }
}
