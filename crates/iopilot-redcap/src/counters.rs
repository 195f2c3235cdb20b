//! [`CacheCounters`]: what the cache has done since it was created.

use serde::{Deserialize, Serialize};

/// What the cache has done since it was created. Blocks are of 4 KiB; a block that is requested in part counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounters {
    /// Reads submitted.
    pub reads: u64,
    /// Reads among them that arrived while the cache was not in use.
    pub inactive_reads: u64,
    /// Writes and discards submitted.
    pub writes: u64,
    /// Partial reads (one a segment) served from the cache alone.
    pub hits: u64,
    /// Partial reads that waited for blocks in flight, and needed no other disk read.
    pub waits: u64,
    /// Partial reads with some blocks in the cache or in flight, and others in neither.
    pub partial_misses: u64,
    /// Partial reads of a segment in the cache that had none of the requested blocks.
    pub hole_misses: u64,
    /// Partial reads that missed: the rest of their segment was prefetched.
    pub misses: u64,
    /// Partial reads that missed and requested a whole segment.
    pub whole_segments: u64,
    /// Partial reads that missed while every segment was busy, or in a region that is off.
    pub pass_bys: u64,
    /// Blocks requested by reads that the cache handled.
    pub requested_blocks: u64,
    /// Blocks copied from the cache.
    pub hit_blocks: u64,
    /// Requested blocks read from the disk.
    pub missed_blocks: u64,
    /// Blocks read from the disk beyond those requested.
    pub prefetched_blocks: u64,
    /// Prefetched blocks that were copied from the cache at least once.
    pub used_blocks: u64,
    /// How often a prefetch had to wait, because the queue below was full.
    #[serde(default)]
    pub put_off: u64,
    /// Prefetches that were given up, because they waited too long or for something that is no longer cached.
    #[serde(default)]
    pub given_up: u64,
    /// Blocks of prefetches that were given up.
    pub dropped_blocks: u64,
    /// Prefetched blocks that were invalidated while in flight.
    pub doomed_blocks: u64,
    /// Prefetched blocks that could not be read.
    pub failed_blocks: u64,
    /// Blocks in the cache that were invalidated.
    pub invalidated_blocks: u64,
    /// Segments evicted to make room for others.
    pub evictions: u64,
    /// How often the cache was turned on.
    pub activations: u64,
    /// How often the cache was turned off.
    pub deactivations: u64,
}

impl CacheCounters {
    /// What the cache has done since its counters were `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads.saturating_sub(earlier.reads),
            inactive_reads: self.inactive_reads.saturating_sub(earlier.inactive_reads),
            writes: self.writes.saturating_sub(earlier.writes),
            hits: self.hits.saturating_sub(earlier.hits),
            waits: self.waits.saturating_sub(earlier.waits),
            partial_misses: self.partial_misses.saturating_sub(earlier.partial_misses),
            hole_misses: self.hole_misses.saturating_sub(earlier.hole_misses),
            misses: self.misses.saturating_sub(earlier.misses),
            whole_segments: self.whole_segments.saturating_sub(earlier.whole_segments),
            pass_bys: self.pass_bys.saturating_sub(earlier.pass_bys),
            requested_blocks: self.requested_blocks.saturating_sub(earlier.requested_blocks),
            hit_blocks: self.hit_blocks.saturating_sub(earlier.hit_blocks),
            missed_blocks: self.missed_blocks.saturating_sub(earlier.missed_blocks),
            prefetched_blocks: self.prefetched_blocks.saturating_sub(earlier.prefetched_blocks),
            used_blocks: self.used_blocks.saturating_sub(earlier.used_blocks),
            put_off: self.put_off.saturating_sub(earlier.put_off),
            given_up: self.given_up.saturating_sub(earlier.given_up),
            dropped_blocks: self.dropped_blocks.saturating_sub(earlier.dropped_blocks),
            doomed_blocks: self.doomed_blocks.saturating_sub(earlier.doomed_blocks),
            failed_blocks: self.failed_blocks.saturating_sub(earlier.failed_blocks),
            invalidated_blocks: self.invalidated_blocks.saturating_sub(earlier.invalidated_blocks),
            evictions: self.evictions.saturating_sub(earlier.evictions),
            activations: self.activations.saturating_sub(earlier.activations),
            deactivations: self.deactivations.saturating_sub(earlier.deactivations),
        }
    }
}
