//! What passes between the cache and its body: requests in ([`iopilot_block::Arrival`]); parts, copies and completions out.
//!
//! The handle of a request is the body's own number for it. It may be used again after [`RedcapAction::Done`].

use crate::sums::scaled;
use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors, SourceHandle};

/// The name of a [`RequestPart`] until it is reported. Names are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub(crate) u32);

impl PartId {
    /// A small, dense number, so that a body can keep its own data in a `Vec`.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The name of a copy until it is reported. Names are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyId(pub(crate) u32);

/// Why a [`RequestPart`] is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The original, unmodified: a write, a discard, a flush, or a read that the cache has no part in.
    Whole,
    /// What a read asked for in one segment that is not in the cache.
    Missed,
    /// A whole segment: the original's sectors are for its buffer, the others for the frames.
    Combined,
    /// The rest of a segment, for the frames. It may be given up: see [`crate::Redcap::dropped`].
    Prefetch,
    /// Blocks that the segment does not hold, for the original's buffer. They are not stored.
    Hole,
}

/// One request to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPart {
    /// Its name, to report its end with.
    pub id: PartId,
    /// Why it is sent.
    pub role: Role,
    /// What to do.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Length.
    pub sectors: Sectors,
    /// The original's hints; of a prefetch, those that say what is read, and [`Flags::READ_AHEAD`].
    pub flags: Flags,
    /// The task that issued the original.
    pub process: ProcessId,
    /// Its I/O priority.
    pub priority: IoPriority,
    /// How the task depends on this part: on a prefetch it does not.
    pub criticality: Criticality,
    /// The CPU that the original was submitted on.
    pub cpu: u16,
    /// The handle of the original. A prefetch may outlive it.
    pub io: SourceHandle,
    /// The segment slot whose frames get the data; `None` where all goes to (or comes from) the original's buffer.
    pub frames: Option<u32>,
}

/// What the body is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedcapAction {
    /// Send a part to the disk, behind the parts before it. The parts of one call are one batch (a plug). Report its end
    /// with [`crate::Redcap::served`], [`crate::Redcap::failed`] or [`crate::Redcap::dropped`].
    Send(RequestPart),
    /// Copy sectors from a segment's frames to an original's buffer, then call [`crate::Redcap::copied`]. The frames do
    /// not change before.
    Copy {
        /// The copy's name.
        copy: CopyId,
        /// The handle of the original.
        io: SourceHandle,
        /// The segment slot to copy from.
        slot: u32,
        /// First sector. The frames of a slot begin at the multiple of the segment's length that is at or before it.
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

/// When a part was where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartTimes {
    /// When it was handed to the scheduler.
    pub inserted: Nanos,
    /// When it was sent to the disk; of a part that was merged, when the merged request was.
    pub dispatched: Nanos,
    /// When the disk was done with it.
    pub completed: Nanos,
    /// Of a part that was merged, the length of the merged request: its time is divided by blocks. Zero where the part was
    /// alone, or where that is unknown.
    pub merged: Sectors,
}

impl PartTimes {
    /// Blocks of a request at the disk that brought `blocks` of a part.
    pub(crate) const fn blocks(&self, blocks: u64) -> u64 {
        let merged = self.merged.0.div_ceil(8) as u64;
        if merged > blocks { merged } else { blocks }
    }

    /// From dispatch to completion: what of it is for `blocks` of a part.
    pub(crate) fn time_of(&self, blocks: u64) -> Nanos {
        scaled(self.completed.since(self.dispatched), blocks, self.blocks(blocks).max(1))
    }
}
