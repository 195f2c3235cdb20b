//! [`IoContexts`]: what a scheduler remembers of each process (the kernel's `struct io_context`).

use iopilot_block::{ProcessId, ProcessMap, Slab, SlotIndex};
use std::ops::{Index, IndexMut};

/// Names the context of one process. The name stays valid after the process has exited, even if the kernel reuses the
/// process' number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IoContextId(u32);

impl SlotIndex for IoContextId {
    fn index(self) -> usize {
        self.0 as usize
    }

    fn from_index(index: usize) -> Self {
        Self(u32::from_index(index))
    }
}

/// A `T` for each process. A context stays while its process runs or something still refers to it. Its slot is reused
/// after that: nothing is allocated once the number of processes has peaked.
#[derive(Clone, Debug)]
pub(crate) struct IoContexts<T> {
    by_id: ProcessMap<IoContextId>,
    slots: Slab<Slot<T>, IoContextId>,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    value: T,
    references: u32,
    running: bool,
}

impl<T> Default for IoContexts<T> {
    fn default() -> Self {
        Self { by_id: ProcessMap::default(), slots: Slab::new() }
    }
}

impl<T> IoContexts<T> {
    /// The context of `process`, unless it is unknown or has exited.
    pub(crate) fn find(&self, process: ProcessId) -> Option<IoContextId> {
        self.by_id.get(&process).copied()
    }

    /// Adds a context of `process`, which has none.
    pub(crate) fn add(&mut self, process: ProcessId, value: T) -> IoContextId {
        let context = self.slots.insert(Slot { value, references: 0, running: true });
        self.by_id.insert(process, context);
        context
    }

    /// Takes a reference to `context`. The context outlives its process until all references are released.
    pub(crate) fn hold(&mut self, context: IoContextId) {
        self.slots[context].references += 1;
    }

    /// Releases a reference that [`IoContexts::hold`] took. True if that freed the context.
    pub(crate) fn release(&mut self, context: IoContextId) -> bool {
        let slot = &mut self.slots[context];
        slot.references -= 1;
        let ends = slot.references == 0 && !slot.running;
        if ends {
            self.slots.remove(context);
        }
        ends
    }

    /// How many references to `context` are held.
    pub(crate) fn references(&self, context: IoContextId) -> u32 {
        self.slots[context].references
    }

    /// `process` has exited.
    pub(crate) fn exit(&mut self, process: ProcessId) -> Option<IoContextId> {
        let context = self.by_id.remove(&process)?;
        let slot = &mut self.slots[context];
        slot.running = false;
        if slot.references == 0 {
            self.slots.remove(context);
        }
        Some(context)
    }

    /// Whether the process has not exited.
    pub(crate) fn is_running(&self, context: IoContextId) -> bool {
        self.slots[context].running
    }

    /// How many contexts there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}

impl<T> Index<IoContextId> for IoContexts<T> {
    type Output = T;
    fn index(&self, context: IoContextId) -> &T {
        &self.slots[context].value
    }
}

impl<T> IndexMut<IoContextId> for IoContexts<T> {
    fn index_mut(&mut self, context: IoContextId) -> &mut T {
        &mut self.slots[context].value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_outlives_its_process_while_it_is_held_and_its_slot_is_reused() {
        let mut p = IoContexts::<u32>::default();
        let a = p.add(ProcessId(7), 1);
        assert_eq!(p.find(ProcessId(7)), Some(a));
        p.hold(a);
        assert_eq!(p.exit(ProcessId(7)), Some(a));
        assert!(!p.is_running(a));
        let b = p.add(ProcessId(7), 3);
        assert_eq!((p[a], p[b]), (1, 3));
        assert!(p.release(a));
        assert_eq!(p.add(ProcessId(8), 4), a);
    }
}
