//! [`Plan`]: the member requests that a logical request becomes, and which must wait for which.

use iopilot_block::{Lba, Op, Sectors};

/// A request to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberIo {
    /// Which member.
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
    /// Of how many others it must wait for the end.
    waits: u32,
    /// First of those that wait for it, in `edges`.
    edge: u32,
}

/// Member requests with their dependencies, and how far they have come: writes that need old data or parity wait for
/// the reads of it. Its buffers are meant to be used again and again.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    nodes: Vec<Node>,
    /// Who waits, and the next of those that wait for the same.
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

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether all member requests are done.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Begins: names all that can be issued at once.
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

    /// A member request is done: names those that can be issued now.
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

    /// Extends request `index` to `end` where it is of that member and direction and begins before `lba`, at most `gap`
    /// sectors behind its end.
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
