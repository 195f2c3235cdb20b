//! [`RedcapStatus`]: the status of a cache.

use super::tally::{ApplicationTraffic, DiskTraffic};
use iopilot_block::Nanos;
use iopilot_redcap::{CacheCounters, CacheGeometry, CacheState, Miss};
use serde::{Deserialize, Serialize};

/// The state of a cache, and its counters since it was attached.
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
    #[serde(alias = "lacks")]
    pub model_incomplete: Option<String>,
    /// Where the cache does not do on the disk what the trials assume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The requests of the cached disk's users.
    pub application: ApplicationTraffic,
    /// The requests to the disk below.
    pub disk: DiskTraffic,
    /// The counters of the cache.
    pub cache: CacheCounters,
    /// Its memory.
    pub memory: MemoryUse,
    /// The warm restart; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<WarmStatus>,
    /// The latest decisions, the newest last.
    pub checks: Vec<CheckNote>,
}

/// A warm restart: the addresses of what a cache holds are saved, and read again after the next start. Numbers of
/// segments.
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
    /// The most that it may take, bytes.
    pub cap: u64,
    /// The most that it may take now, bytes: less while the machine is short of memory.
    pub limit: u64,
    /// What it takes, bytes.
    pub used: u64,
    /// Segments in use.
    pub segments: u32,
    /// Whether it is locked, and never paged out.
    pub locked: bool,
    /// How often it was halved because memory was short.
    pub shrinks: u64,
    /// Whether it shrinks under memory pressure: the kernel reports it (PSI).
    #[serde(alias = "heeds_pressure")]
    pub shrinks_under_pressure: bool,
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
    /// How a segment that is absent is read after the decision.
    #[serde(default)]
    pub miss: Miss,
    /// With `adaptive`, what the trial says of the cost of the window as it was served, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_ms: Option<f64>,
    /// What it cost, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_ms: Option<f64>,
}

/// A decision as it is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusCheck {
    pub(super) at: Nanos,
    pub(super) with_cache_ms: f64,
    pub(super) without_cache_ms: f64,
    pub(super) predicted_ms: Option<f64>,
    pub(super) measured_ms: Option<f64>,
    pub(super) before: bool,
    pub(super) after: bool,
    pub(super) off_percent: f64,
    pub(super) geometry: CacheGeometry,
    pub(super) miss: Miss,
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
            miss: self.miss,
            predicted_ms: self.predicted_ms,
            measured_ms: self.measured_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redcap::DryRunReport;

    #[test]
    fn what_an_older_version_tells_is_read() {
        let old = r#"{"cap":1,"limit":1,"used":1,"segments":1,"locked":true,"shrinks":0,"heeds_pressure":true}"#;
        let memory: MemoryUse = serde_json::from_str(old).unwrap();
        assert!(memory.shrinks_under_pressure);
        assert!(serde_json::to_string(&memory).unwrap().contains(r#""shrinks_under_pressure":true"#));
        let report = DryRunReport { model_incomplete: Some("why".to_owned()), ..DryRunReport::default() };
        let new = serde_json::to_string(&report).unwrap();
        let read: DryRunReport = serde_json::from_str(&new.replace("model_incomplete", "lacks")).unwrap();
        assert_eq!(read, report);
    }
}
