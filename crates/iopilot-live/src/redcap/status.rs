//! [`RedcapStatus`]: what a cache does.

use super::tally::{ApplicationTraffic, DiskTraffic};
use iopilot_block::Nanos;
use iopilot_redcap::{CacheCounters, CacheGeometry, CacheState};
use serde::{Deserialize, Serialize};

/// What a cache does, and did since it was attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RedcapStatus {
    /// Seconds since it was attached.
    pub up_s: f64,
    /// The state of the activation-deactivation algorithm (GF 2.3.3).
    pub state: CacheState,
    /// The segments that the cache has now.
    #[serde(default)]
    pub geometry: CacheGeometry,
    /// The share of the disk that `adaptive` leaves alone, in percent.
    #[serde(default)]
    pub off_percent: f64,
    /// Why the algorithm decides nothing; `None` if it does.
    pub lacks: Option<String>,
    /// The requests of those that use the cached disk.
    pub application: ApplicationTraffic,
    /// The requests to the disk below.
    pub disk: DiskTraffic,
    /// What the cache did.
    pub cache: CacheCounters,
    /// Its memory.
    pub memory: MemoryUse,
    /// What is kept for the next time; `None` where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<WarmStatus>,
    /// The latest decisions, the newest last.
    pub checks: Vec<CheckNote>,
}

/// A warm restart: what a cache held is read again, and the addresses of what it holds are kept. In segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmStatus {
    /// Those that were read again.
    pub read: u64,
    /// Those that are to be read.
    pub left: u64,
    /// Those whose addresses were written last.
    pub kept: u64,
}

/// The memory of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// What it may take, bytes.
    pub cap: u64,
    /// What it may take now: less where the machine is short of memory.
    pub limit: u64,
    /// What it takes.
    pub used: u64,
    /// Segments in use.
    pub segments: u32,
    /// Whether it is locked, and never paged out.
    pub locked: bool,
    /// How often it was halved as memory was short.
    pub shrinks: u64,
    /// Whether the kernel tells when memory is short.
    pub heeds_pressure: bool,
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckNote {
    /// When, in seconds since the cache was attached.
    pub at_s: f64,
    /// The cost with the cache: the left side of the algorithm's condition, ms.
    pub with_cache_ms: f64,
    /// The cost without it.
    pub without_cache_ms: f64,
    /// Whether the cache was in use, and whether it is after the decision.
    pub active: [bool; 2],
    /// The share of the disk that is left alone after the decision, in percent.
    #[serde(default)]
    pub off_percent: f64,
    /// The segments after the decision.
    #[serde(default)]
    pub geometry: CacheGeometry,
}

/// A decision as it is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusCheck {
    pub(super) at: Nanos,
    pub(super) with_cache_ms: f64,
    pub(super) without_cache_ms: f64,
    pub(super) before: bool,
    pub(super) after: bool,
    pub(super) off_percent: f64,
    pub(super) geometry: CacheGeometry,
}

impl StatusCheck {
    pub(super) fn note(&self, began: Nanos) -> CheckNote {
        CheckNote {
            at_s: self.at.since(began).as_secs_f64(),
            with_cache_ms: self.with_cache_ms,
            without_cache_ms: self.without_cache_ms,
            active: [self.before, self.after],
            off_percent: self.off_percent,
            geometry: self.geometry,
        }
    }
}
