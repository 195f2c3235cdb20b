//! The records of requests in flight.

use crate::Role;
use crate::blocks::SegmentBlocks;
use crate::miss_times::MissTimes;
use crate::sums::Sums;
use iopilot_block::{Arrival, Nanos};

/// Stands for no slot of a [`Slab`](iopilot_block::Slab).
pub(crate) const NONE: u32 = u32::MAX;

/// How an original is handled, for all of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// A read through the cache.
    Cached,
    /// A read that arrived while the cache was not in use.
    Inactive,
    /// Not measured: a write, a discard, a flush, a read beyond the end.
    Plain,
}

/// A request of the body. Its record lives until its prefetches have ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Original {
    pub(crate) io: Arrival,
    pub(crate) handling: Handling,
    /// The number of changes of the state before its arrival.
    pub(crate) epoch: u32,
    /// The number of partial reads (or of whole requests) that are not answered.
    pub(crate) unanswered: u32,
    /// The number of those, and of fetches with parts in flight.
    /// Zero in a slot that is free.
    pub(crate) unended: u32,
    pub(crate) failed: bool,
    /// The blocks and times that were measured.
    pub(crate) sums: Sums,
    /// Its interval of the comparison with the reference disk.
    pub(crate) batch: u32,
    /// Its disk time by the reference disk's model (eq. 3.1).
    pub(crate) model_time: Nanos,
}

/// The part of a read within one segment (GF 2.3.2: a partial request).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partial {
    pub(crate) original: u32,
    /// The segment's slot; [`NONE`] if the cache has no segment for it.
    pub(crate) slot: u32,
    /// Its sectors: the first, and the one after the last.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The blocks to copy from the segment.
    pub(crate) todo: SegmentBlocks,
    /// The number of parts that it waits for.
    pub(crate) reads: u32,
    pub(crate) copies: u32,
    pub(crate) waiting: bool,
    pub(crate) pinned: bool,
    /// When it began to wait or to copy.
    pub(crate) since: Nanos,
}

impl Partial {
    pub(crate) const fn new(original: u32, slot: u32, (from, to): (u64, u64)) -> Self {
        let (todo, since) = (SegmentBlocks::NONE, Nanos::ZERO);
        Self { original, slot, from, to, todo, reads: 0, copies: 0, waiting: false, pinned: false, since }
    }

    pub(crate) const fn is_answered(&self) -> bool {
        self.reads == 0 && self.copies == 0 && !self.waiting
    }
}

/// A miss whose segment is being read. Its record lives until all its parts have ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch {
    pub(crate) original: u32,
    /// The number of parts in flight.
    pub(crate) left: u32,
    pub(crate) times: MissTimes,
}

/// A part in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartRecord {
    pub(crate) role: Role,
    pub(crate) original: u32,
    pub(crate) partial: u32,
    pub(crate) fetch: u32,
    pub(crate) slot: u32,
    /// The number of requested blocks in it.
    pub(crate) asked: u64,
    /// The blocks in it that go to the frames.
    pub(crate) stored: SegmentBlocks,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Whether it was sent and has not ended. A prefetch may wait before it is sent.
    pub(crate) in_flight: bool,
}

impl PartRecord {
    /// A part that belongs to an original, and to no partial read or fetch.
    pub(crate) const fn new(role: Role, original: u32, (from, to): (u64, u64)) -> Self {
        let (asked, stored) = (0, SegmentBlocks::NONE);
        let in_flight = false;
        Self { role, original, partial: NONE, fetch: NONE, slot: NONE, asked, stored, from, to, in_flight }
    }
}
