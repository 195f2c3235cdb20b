//! The interface between the cache and its body: requests go in ([`iopilot_block::Arrival`]); parts, copies and completions
//! come out.
//!
//! The handle of a request is the body's own number for it. The body may reuse it after [`RedcapAction::Done`].

use crate::sums::scaled;
use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors, SourceHandle};

/// Identifies a [`RequestPart`] until its end is reported. Ids are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub(crate) u32);

impl PartId {
    /// A small, dense number, so that a body can keep its own data in a `Vec`.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Identifies a copy until its end is reported. Ids are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyId(pub(crate) u32);

/// Why a [`RequestPart`] is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The original, unmodified: a write, a discard, a flush, or a read that bypasses the cache.
    Whole,
    /// The requested sectors of one segment that is not in the cache.
    Missed,
    /// A whole segment: the requested sectors go to the original's buffer, the others to the frames.
    Combined,
    /// The rest of a segment, for the frames. While [no process waits for it](RequestPart::is_optional), the body may put it
    /// off: see [`crate::Redcap::put_off`].
    Prefetch,
    /// Requested blocks that are holes in their segment, for the original's buffer. They are not stored.
    Hole,
}

/// One request to the disk, for a part of an original or for a prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPart {
    /// Its id, with which the body reports its end.
    pub id: PartId,
    /// Why it is sent.
    pub role: Role,
    /// The operation.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Length.
    pub sectors: Sectors,
    /// The original's flags. A prefetch that no process waits for has only those that say what is read, and
    /// [`Flags::READ_AHEAD`].
    pub flags: Flags,
    /// The task that issued the original.
    pub process: ProcessId,
    /// Its I/O priority.
    pub priority: IoPriority,
    /// The original's criticality. A prefetch is time-noncritical.
    pub criticality: Criticality,
    /// The CPU on which the original was submitted.
    pub cpu: u16,
    /// The handle of the original. A prefetch may outlive it. If a process waits for the prefetch, this is the handle of its
    /// read.
    pub io: SourceHandle,
    /// The segment slot whose frames get the data. `None` if all data go to, or come from, the original's buffer.
    pub frames: Option<u32>,
}

impl RequestPart {
    /// Whether no process waits for it: a prefetch that may be put off.
    pub fn is_optional(&self) -> bool {
        self.role == Role::Prefetch && self.flags.contains(Flags::READ_AHEAD)
    }
}

/// An instruction to the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedcapAction {
    /// Send a part to the disk, after all parts before it. The parts of one call are one batch (a plug). Report the end of the
    /// part with [`crate::Redcap::served`] or [`crate::Redcap::failed`].
    Send(RequestPart),
    /// A process now waits for a part that was sent: it is time-critical from now on.
    Raise {
        /// The part.
        part: PartId,
    },
    /// Copy sectors from a segment's frames to an original's buffer, then call [`crate::Redcap::copied`]. The frames do
    /// not change before that call.
    Copy {
        /// The copy's id.
        copy: CopyId,
        /// The handle of the original.
        io: SourceHandle,
        /// The segment slot to copy from.
        slot: u32,
        /// First sector. The first frame of a slot holds the first sector of the disk segment.
        lba: Lba,
        /// Length.
        sectors: Sectors,
    },
    /// An original is complete.
    Done {
        /// Its handle.
        io: SourceHandle,
        /// Whether any part of it failed.
        failed: bool,
    },
}

/// The times of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartTimes {
    /// When the part was inserted into the scheduler.
    pub inserted: Nanos,
    /// When the part, or the request that it was merged into, was dispatched to the disk.
    pub dispatched: Nanos,
    /// When the disk completed it.
    pub completed: Nanos,
    /// If the part was merged, the length of the merged request, whose time is divided by blocks. Zero if the part was
    /// alone, or if that is unknown.
    pub merged: Sectors,
}

impl PartTimes {
    /// The blocks of the disk request that brought `blocks` of a part.
    pub(crate) const fn blocks(&self, blocks: u64) -> u64 {
        let merged = self.merged.0.div_ceil(8) as u64;
        if merged > blocks { merged } else { blocks }
    }

    /// The share of the time from dispatch to completion that belongs to `blocks` of a part.
    pub(crate) fn time_of(&self, blocks: u64) -> Nanos {
        scaled(self.completed.since(self.dispatched), blocks, self.blocks(blocks).max(1))
    }
}
