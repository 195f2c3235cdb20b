//! [`Request`]: one I/O on its way from a process to a device.

use crate::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};
use std::num::NonZeroU32;

/// The name of a request in its [`crate::Requests`] slab. Names are reused after completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(NonZeroU32);

impl RequestId {
    /// The name of slot `index`.
    ///
    /// # Panics
    /// At `u32::MAX`, which would be four billion requests in flight.
    pub fn from_index(index: usize) -> Self {
        let number = u32::try_from(index + 1).expect("fewer than 2^32 - 1 requests are in flight");
        Self(NonZeroU32::new(number).expect("index + 1 is not zero"))
    }

    /// The slot of this request: small and dense, so that schedulers can keep their own data in a `Vec`.
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The submitter's number for an I/O. The block layer splits a large I/O into several [`Request`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoIndex(pub u32);

/// One I/O on its way from a process to a device.
///
/// A request into which others were merged covers all of them: `lba` and `sectors` are the whole extent, `own_lba` and
/// `own_sectors` are what its submitter asked for. The merged requests follow it as a list (`next_part`).
#[derive(Clone, Debug)]
pub struct Request {
    /// First sector, including what was merged in.
    pub lba: Lba,
    /// Length, including what was merged in.
    pub sectors: Sectors,
    /// What to do.
    pub op: Op,
    /// Hints.
    pub flags: Flags,
    /// The submitting task.
    pub process: ProcessId,
    /// Its I/O priority.
    pub priority: IoPriority,
    /// How the task depends on the completion.
    pub criticality: Criticality,
    /// The CPU that submitted it (per-CPU queues).
    pub cpu: u16,
    /// The submitter's own number for the I/O that this request is a part of.
    pub io: IoIndex,
    /// When it reached the block layer.
    pub arrived: Nanos,
    /// When it was handed to the scheduler (or merged).
    pub inserted: Nanos,
    /// When it was sent to the device.
    pub issued: Nanos,
    /// First sector as submitted.
    pub own_lba: Lba,
    /// Length as submitted.
    pub own_sectors: Sectors,
    /// The next request merged into the same one.
    pub(crate) next_part: Option<RequestId>,
    /// The last request of the list that starts here; `None` before the first merge.
    pub(crate) last_part: Option<RequestId>,
    /// The request that this one was merged into.
    pub(crate) whole: Option<RequestId>,
}

impl Request {
    /// A request as its submitter makes it. The block layer sets the times.
    pub fn new(op: Op, lba: Lba, sectors: Sectors, process: ProcessId) -> Self {
        Self {
            lba,
            sectors,
            op,
            flags: Flags::empty(),
            process,
            priority: IoPriority::default(),
            criticality: Criticality::default(),
            cpu: 0,
            io: IoIndex(0),
            arrived: Nanos::ZERO,
            inserted: Nanos::ZERO,
            issued: Nanos::ZERO,
            own_lba: lba,
            own_sectors: sectors,
            next_part: None,
            last_part: None,
            whole: None,
        }
    }

    /// The first sector after this request.
    pub fn end(&self) -> Lba {
        self.lba + self.sectors
    }

    /// Whether a process waits for it: every read (also read-ahead: the kernel's `op_is_sync`), and writes with
    /// [`Flags::SYNC`], [`Flags::FUA`] or [`Flags::PREFLUSH`].
    pub fn is_sync(&self) -> bool {
        self.op == Op::Read || self.flags.intersects(Flags::SYNC | Flags::FUA | Flags::PREFLUSH)
    }

    /// Whether it moves data to the device. Discards count as writes, as in the kernel.
    pub fn is_write(&self) -> bool {
        self.op != Op::Read
    }
}
