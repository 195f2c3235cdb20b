//! [`RedcapReport`]: the results of a REDCAP cache in a run.

use iopilot_block::Distribution;
use iopilot_redcap::{CacheCounters, CacheGeometry, Miss, Redcap, ReferenceDisk};
use serde::Serialize;

/// The results of a REDCAP cache in a run. Blocks are of 4 KiB. A read of several segments is several partial reads.
#[derive(Clone, Debug, Serialize)]
pub struct RedcapReport {
    /// Its settings, as on the command line.
    pub settings: String,
    /// Its segments at the end.
    pub geometry: CacheGeometry,
    /// The share of the disk for which `adaptive` had the cache off at the end, in percent.
    pub off_percent: f64,
    /// What the cache has done.
    #[serde(flatten)]
    pub counters: CacheCounters,
    /// The state at the beginning, and its changes.
    pub state: Vec<StateChange>,
    /// The latest decisions of its algorithm, up to 4096.
    pub checks: Vec<CheckReport>,
    /// The requests to the disk. The rest of the run's report is about the workload's requests.
    pub disk: DiskView,
}

/// The cache was turned on or off; the first entry is its state at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StateChange {
    /// The time in seconds.
    pub time_s: f64,
    /// Whether the cache is active from then on.
    pub active: bool,
}

/// One decision of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// The time in seconds.
    pub time_s: f64,
    /// The number of reads that had ended.
    pub reads: u64,
    /// The cost with the cache in milliseconds: the left side of the algorithm's condition. With `vd` and `vd-all-blocks`, the
    /// time of one block.
    pub with_cache_ms: f64,
    /// The cost without the cache: the right side.
    pub without_cache_ms: f64,
    /// With `adaptive`, what the trial says of the cost of the window as it was served, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_ms: Option<f64>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_ms: Option<f64>,
    /// Whether the cache was active before the decision, and whether it is after it.
    pub active: [bool; 2],
    /// The share of the disk for which the cache is off after the decision, in percent.
    pub off_percent: f64,
    /// The segments after the decision.
    pub geometry: CacheGeometry,
    /// How a segment that is absent is read after the decision.
    pub miss: Miss,
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
    /// The report of `cache`. Counters count from `before`.
    pub(crate) fn new<V: ReferenceDisk>(
        settings: String,
        cache: &Redcap<V>,
        state: Vec<StateChange>,
        prefetches: u64,
        before: &CacheCounters,
    ) -> Self {
        let checks = cache.checks().iter().map(|check| CheckReport {
            time_s: check.at.as_secs_f64(),
            reads: check.reads,
            with_cache_ms: check.with_cache.as_millis_f64(),
            without_cache_ms: check.without_cache.as_millis_f64(),
            active: [check.before.is_active(), check.after.is_active()],
            off_percent: 0.0,
            geometry: cache.geometry(),
            miss: cache.miss(),
            predicted_ms: None,
            measured_ms: None,
        });
        Self {
            settings,
            geometry: cache.geometry(),
            off_percent: 100.0 * cache.off_share(),
            counters: cache.counters().since(before),
            state,
            checks: checks.collect(),
            disk: DiskView { prefetches, ..DiskView::default() },
        }
    }
}
