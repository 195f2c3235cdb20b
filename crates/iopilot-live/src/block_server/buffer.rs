//! [`Buffer`]: memory for the data of a request, at the start of a page, so that direct I/O can use it.

use super::fuse::MAX_TRANSFER;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// No device needs a larger alignment for direct I/O.
const ALIGNMENT: usize = 4096;
/// Bytes of a buffer: the largest request.
const LENGTH: usize = MAX_TRANSFER as usize;
/// The most free buffers that are kept: as many as a loop device has requests at once. Only used pages take memory.
const SPARE: usize = 128;

/// Buffers of finished requests, kept for reuse.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Vec<Memory>>);

impl Buffers {
    /// A buffer with arbitrary content.
    pub(crate) fn take(self: &Arc<Self>) -> Buffer {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Buffer { memory: Some(spare.unwrap_or_else(Memory::new)), home: Arc::clone(self) }
    }

    /// Gives the memory of unused buffers back to the system.
    pub(crate) fn shrink(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn give(&self, memory: Memory) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE {
            spare.push(memory);
        }
    }
}

/// Memory for the data of the largest request. It goes back to its [`Buffers`] when it is dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// `None` only while it is dropped.
    memory: Option<Memory>,
    home: Arc<Buffers>,
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], Memory::bytes)
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], Memory::bytes_mut)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.home.give(memory);
        }
    }
}

/// The memory itself.
#[derive(Debug)]
struct Memory(NonNull<u8>);

// SAFETY: it owns what it points to.
unsafe impl Send for Memory {}
// SAFETY: it changes only through a mutable reference.
unsafe impl Sync for Memory {}

impl Memory {
    fn layout() -> Layout {
        Layout::from_size_align(LENGTH, ALIGNMENT).unwrap_or(Layout::new::<u8>())
    }

    fn new() -> Self {
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(Self::layout()) };
        Self(NonNull::new(start).unwrap_or_else(|| handle_alloc_error(Self::layout())))
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: it has so many bytes, which were initialised when it was made.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), LENGTH) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the reference is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr(), LENGTH) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and is used no more.
        unsafe { dealloc(self.0.as_ptr(), Self::layout()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_and_used_again() {
        let buffers = Arc::new(Buffers::default());
        let mut first = buffers.take();
        assert_eq!((first.as_ptr() as usize % ALIGNMENT, first.len()), (0, 1 << 20));
        first[7] = 9;
        let place = first.as_ptr();
        drop(first);
        let (again, other) = (buffers.take(), buffers.take());
        assert_eq!((again.as_ptr(), again[7]), (place, 9));
        assert_ne!(other.as_ptr(), place);
        drop((again, other));
        buffers.shrink();
        assert!(buffers.0.lock().unwrap().is_empty());
    }
}
