//! [`Plan`]: the member requests of a logical request, and their dependencies.

use iopilot_block::{Lba, Op, Sectors};

/// A request to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberIo {
    /// The member's number.
    pub member: u32,
    /// Read, write or discard.
    pub op: Op,
    /// First sector on the member.
    pub lba: Lba,
    /// Length.
    pub sectors: Sectors,
}

impl MemberIo {
    /// The first sector behind it.
    pub fn end(&self) -> u64 {
        self.lba.0 + u64::from(self.sectors.0)
    }
}

const NO_EDGE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    io: MemberIo,
    /// How many requests it still waits for.
    waits: u32,
    /// The first of its waiters, in `edges`.
    edge: u32,
}

/// Member requests with their dependencies and progress. Writes that need old data or parity wait for the reads of
/// it. The buffers are meant to be reused.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    nodes: Vec<Node>,
    /// A waiter, and the next entry with a waiter of the same request.
    edges: Vec<(u32, u32)>,
    /// Whether all writes wait for all reads.
    phased: bool,
    reads_left: u32,
    left: u32,
}

impl Plan {
    /// An empty plan.
    pub fn new() -> Self {
        Self::default()
    }

    /// The member requests, reads before the writes that need them.
    pub fn ios(&self) -> impl ExactSizeIterator<Item = &MemberIo> + '_ {
        self.nodes.iter().map(|node| &node.io)
    }

    /// One of the member requests.
    pub fn io(&self, index: usize) -> &MemberIo {
        &self.nodes[index].io
    }

    /// Number of member requests.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no member requests.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether all member requests are done.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Begins: calls `issue` for all requests that can be issued at once.
    pub fn begin(&mut self, mut issue: impl FnMut(usize, &MemberIo)) {
        self.left = self.nodes.len() as u32;
        self.reads_left = self.nodes.iter().filter(|node| node.io.op == Op::Read).count() as u32;
        let held = self.phased && self.reads_left > 0;
        for (index, node) in self.nodes.iter().enumerate() {
            if node.waits == 0 && !(held && node.io.op != Op::Read) {
                issue(index, &node.io);
            }
        }
    }

    /// A member request is done: calls `issue` for those that can be issued now.
    pub fn done(&mut self, index: usize, mut issue: impl FnMut(usize, &MemberIo)) {
        self.left -= 1;
        if self.nodes[index].io.op != Op::Read {
            return;
        }
        self.reads_left -= 1;
        if self.phased {
            if self.reads_left == 0 {
                let writes = self.nodes.iter().enumerate().filter(|(_, node)| node.io.op != Op::Read);
                writes.for_each(|(index, node)| issue(index, &node.io));
            }
            return;
        }
        let mut edge = self.nodes[index].edge;
        while edge != NO_EDGE {
            let (waiter, next) = self.edges[edge as usize];
            let node = &mut self.nodes[waiter as usize];
            node.waits -= 1;
            if node.waits == 0 {
                issue(waiter as usize, &node.io);
            }
            edge = next;
        }
    }

    pub(super) fn clear(&mut self, phased: bool) {
        self.nodes.clear();
        self.edges.clear();
        self.phased = phased;
        self.left = 0;
        self.reads_left = 0;
    }

    /// Appends a member request.
    pub(super) fn push(&mut self, io: MemberIo) -> u32 {
        self.nodes.push(Node { io, waits: 0, edge: NO_EDGE });
        (self.nodes.len() - 1) as u32
    }

    /// Extends request `index` to the end of `io`, if both have the same member and direction and `io` starts at most
    /// `gap` sectors behind it, and not before it. Returns whether it did.
    pub(super) fn extend(&mut self, index: u32, io: &MemberIo, gap: u32) -> bool {
        let Some(node) = self.nodes.get_mut(index as usize) else { return false };
        let last = &mut node.io;
        let near = last.member == io.member && last.op == io.op && last.lba <= io.lba;
        if !near || io.lba.0 > last.end() + u64::from(gap) {
            return false;
        }
        let Ok(sectors) = u32::try_from(io.end().max(last.end()) - last.lba.0) else { return false };
        last.sectors = Sectors(sectors);
        true
    }

    /// Makes `write` wait for `read`.
    pub(super) fn order(&mut self, read: u32, write: u32) {
        if self.phased {
            return;
        }
        self.nodes[write as usize].waits += 1;
        let first = &mut self.nodes[read as usize].edge;
        self.edges.push((write, *first));
        *first = (self.edges.len() - 1) as u32;
    }
}
