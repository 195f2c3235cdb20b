//! [`Processes`]: what a scheduler remembers of each process.

use iopilot_block::{ProcessId, ProcessMap};
use std::ops::{Index, IndexMut};

/// Names the memory of one process, also after the process has exited and its number was given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context(u32);

impl Context {
    /// Small and dense, and unique among those in use.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A `T` for each process. It stays while the process runs or something still refers to it, and is used again after
/// that: nothing is allocated once the number of processes has peaked.
#[derive(Clone, Debug)]
pub(crate) struct Processes<T> {
    by_id: ProcessMap<Context>,
    slots: Vec<Slot<T>>,
    free: Vec<Context>,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    value: T,
    references: u32,
    running: bool,
}

impl<T> Default for Processes<T> {
    fn default() -> Self {
        Self { by_id: ProcessMap::default(), slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Processes<T> {
    /// What is remembered of `process`, where it is known and has not exited.
    pub(crate) fn find(&self, process: ProcessId) -> Option<Context> {
        self.by_id.get(&process).copied()
    }

    /// Remembers `value` of `process`, which is not known.
    pub(crate) fn add(&mut self, process: ProcessId, value: T) -> Context {
        let slot = Slot { value, references: 0, running: true };
        let context = match self.free.pop() {
            Some(context) => {
                self.slots[context.index()] = slot;
                context
            }
            None => {
                self.slots.push(slot);
                Context(u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 processes"))
            }
        };
        self.by_id.insert(process, context);
        context
    }

    /// Keeps `context` beyond the exit of its process, until released as often as held.
    pub(crate) fn hold(&mut self, context: Context) {
        self.slots[context.index()].references += 1;
    }

    /// Gives back what [`Processes::hold`] took; whether that ended the memory.
    pub(crate) fn release(&mut self, context: Context) -> bool {
        let slot = &mut self.slots[context.index()];
        slot.references -= 1;
        let ends = slot.references == 0 && !slot.running;
        if ends {
            self.free.push(context);
        }
        ends
    }

    /// `process` has exited.
    pub(crate) fn exit(&mut self, process: ProcessId) -> Option<Context> {
        let context = self.by_id.remove(&process)?;
        let slot = &mut self.slots[context.index()];
        slot.running = false;
        if slot.references == 0 {
            self.free.push(context);
        }
        Some(context)
    }

    /// Whether the process has not exited.
    pub(crate) fn is_running(&self, context: Context) -> bool {
        self.slots[context.index()].running
    }
}

impl<T> Index<Context> for Processes<T> {
    type Output = T;
    fn index(&self, context: Context) -> &T {
        &self.slots[context.index()].value
    }
}

impl<T> IndexMut<Context> for Processes<T> {
    fn index_mut(&mut self, context: Context) -> &mut T {
        &mut self.slots[context.index()].value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_outlives_the_process_while_held_and_is_used_again() {
        let mut p = Processes::<u32>::default();
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
