//! [`RedcapReport`]: what a REDCAP cache did in a run.

use crate::report::RunReport;
use iopilot_block::Distribution;
use iopilot_redcap::Redcap;
use serde::Serialize;

/// What a REDCAP cache did in a run. Blocks are of 4 KiB. A read of several segments is several partial reads.
#[derive(Clone, Debug, Serialize)]
pub struct RedcapReport {
    /// Its settings, as on the command line.
    pub settings: String,
    /// Reads submitted.
    pub reads: u64,
    /// Of them, those that came while the cache was not in use.
    pub inactive_reads: u64,
    /// Partial reads served from the cache alone.
    pub hits: u64,
    /// Partial reads that waited for blocks in flight, and needed no others.
    pub waits: u64,
    /// Partial reads of which a part was in the cache or coming, and a part was not.
    pub partial_misses: u64,
    /// Partial reads of a segment in the cache that held nothing they asked for.
    pub hole_misses: u64,
    /// Partial reads that missed: the rest of their segment was prefetched.
    pub misses: u64,
    /// Partial reads that missed and asked for a whole segment.
    pub whole_segments: u64,
    /// Partial reads that missed while every segment was busy.
    pub pass_bys: u64,
    /// Blocks asked for by reads that the cache handled.
    pub requested_blocks: u64,
    /// Blocks copied from the cache.
    pub hit_blocks: u64,
    /// Blocks asked of the disk beyond those requested.
    pub prefetched_blocks: u64,
    /// Prefetched blocks that were used at least once.
    pub used_blocks: u64,
    /// Prefetched blocks that were given up, as the queue was full.
    pub dropped_blocks: u64,
    /// Segments that made room for others.
    pub evictions: u64,
    /// How often the cache was turned on and off, the beginning included.
    pub state: Vec<StateChange>,
    /// The decisions of its algorithm: up to 4096, the latest.
    pub checks: Vec<CheckReport>,
    /// What the disk was asked for. The rest of the run's report is what the workload saw.
    pub disk: DiskView,
}

/// The cache was turned on or off, or began so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StateChange {
    /// When, in seconds.
    pub time_s: f64,
    /// Whether it is in use from then on.
    pub active: bool,
}

/// One decision of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// When, in seconds.
    pub time_s: f64,
    /// How many reads had ended.
    pub reads: u64,
    /// The cost of the cache in milliseconds: the left side of the algorithm's condition.
    pub with_cache_ms: f64,
    /// The cost without it: the right side.
    pub without_cache_ms: f64,
    /// Whether the cache was in use, and whether it is after the decision.
    pub active: [bool; 2],
}

/// The requests that reached the disk's queue, prefetches among them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DiskView {
    /// All requests.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Prefetches among the reads.
    pub prefetches: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// From arrival at the block layer to completion.
    pub response_ms: Distribution,
}

impl RedcapReport {
    pub(crate) fn new(settings: String, cache: &Redcap, state: Vec<StateChange>, prefetches: u64) -> Self {
        let &counters = cache.counters();
        let checks = cache.checks().iter().map(|check| CheckReport {
            time_s: check.at.as_secs_f64(),
            reads: check.reads,
            with_cache_ms: check.with_cache.as_millis_f64(),
            without_cache_ms: check.without_cache.as_millis_f64(),
            active: [check.before.is_active(), check.after.is_active()],
        });
        Self {
            settings,
            reads: counters.reads,
            inactive_reads: counters.inactive_reads,
            hits: counters.hits,
            waits: counters.waits,
            partial_misses: counters.partial_misses,
            hole_misses: counters.hole_misses,
            misses: counters.misses,
            whole_segments: counters.whole_segments,
            pass_bys: counters.pass_bys,
            requested_blocks: counters.requested_blocks,
            hit_blocks: counters.hit_blocks,
            prefetched_blocks: counters.prefetched_blocks,
            used_blocks: counters.used_blocks,
            dropped_blocks: counters.dropped_blocks,
            evictions: counters.evictions,
            state,
            checks: checks.collect(),
            disk: DiskView { prefetches, ..DiskView::default() },
        }
    }

    /// Puts together what the workload saw, `above`, and what the disk did, `below`.
    pub(crate) fn join(mut self, above: RunReport, below: RunReport) -> RunReport {
        self.disk = DiskView {
            requests: below.requests,
            reads: below.reads,
            bytes: below.bytes,
            response_ms: below.response_ms,
            ..self.disk
        };
        RunReport {
            service_ms: below.service_ms,
            merged: below.merged,
            dispatched: below.dispatched,
            seek_distance_mean_sectors: below.seek_distance_mean_sectors,
            utilization: below.utilization,
            cache_hit_share: below.cache_hit_share,
            device: below.device,
            series: crate::report::Series { seeks: below.series.seeks, ..above.series },
            redcap: Some(self),
            ..above
        }
    }
}
