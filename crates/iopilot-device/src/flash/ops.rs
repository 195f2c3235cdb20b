//! [`Ops`]: the operations of dies, in a slab, and queues of them.

use super::NONE;
use iopilot_block::Slab;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlashOpKind {
    /// Reads for request `owner`.
    Read,
    /// Reads the missing part of the buffer's entry `owner`.
    Fill,
    /// Programs a row with the buffer's entries from `owner` on.
    Program,
    /// Moves units out of a block.
    Move,
    /// Erases block `owner`.
    Erase,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FlashOp {
    pub(super) kind: FlashOpKind,
    pub(super) die: u32,
    /// The lane that reads it, among all lanes.
    pub(super) lane: u32,
    pub(super) owner: u32,
    /// Bytes on the channel.
    pub(super) bytes: u32,
    /// Bytes on the link to the host.
    pub(super) host_bytes: u32,
    /// Time in the array before the channel.
    pub(super) before: u64,
    /// Time in the array after the channel.
    pub(super) after: u64,
    /// The next operation in its queue.
    pub(super) next: u32,
}

impl FlashOp {
    pub(super) fn new(kind: FlashOpKind, die: u32, owner: u32) -> Self {
        Self { kind, die, lane: 0, owner, bytes: 0, host_bytes: 0, before: 0, after: 0, next: NONE }
    }
}

/// First in, first out.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlashOpQueue {
    first: u32,
    last: u32,
    pub(super) len: u32,
}

impl FlashOpQueue {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE, len: 0 };
}

#[derive(Clone, Debug)]
pub(super) struct Ops(Slab<FlashOp>);

impl Ops {
    pub(super) fn new() -> Self {
        Self(Slab::new())
    }

    pub(super) fn add(&mut self, op: FlashOp) -> u32 {
        self.0.insert(op)
    }

    pub(super) fn get(&self, at: u32) -> &FlashOp {
        &self.0[at]
    }

    pub(super) fn remove(&mut self, at: u32) -> FlashOp {
        *self.0.remove(at)
    }

    pub(super) fn push(&mut self, queue: &mut FlashOpQueue, at: u32) {
        self.0[at].next = NONE;
        match queue.last {
            NONE => queue.first = at,
            last => self.0[last].next = at,
        }
        queue.last = at;
        queue.len += 1;
    }

    pub(super) fn pop(&mut self, queue: &mut FlashOpQueue) -> Option<u32> {
        let at = queue.first;
        if at == NONE {
            return None;
        }
        queue.first = self.0[at].next;
        if queue.first == NONE {
            queue.last = NONE;
        }
        queue.len -= 1;
        Some(at)
    }
}
