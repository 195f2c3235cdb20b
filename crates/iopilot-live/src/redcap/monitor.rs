//! [`Monitor`]: makes the status of a cache.

use super::body::now;
use super::cached_disk::CachedDisk;
use super::disagreement;
use super::pilot::SharedNotes;
use super::pressure::CacheLimit;
use super::status::{MemoryUse, RedcapStatus, StatusCheck};
use super::tally::DiskTraffic;
use super::warmer::SharedWarmth;
use iopilot_block::Nanos;
use iopilot_redcap::{ActivationCheck, CacheGeometry, Miss, RedcapSpec};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// The most checks of the thesis' algorithms in a status.
const CHECKS: usize = 64;

/// Makes the status of a cache.
pub(super) struct Monitor {
    spec: RedcapSpec,
    pub(super) disk: Arc<CachedDisk>,
    pub(super) notes: SharedNotes,
    pub(super) limit: CacheLimit,
    /// The state of the warm restart.
    pub(super) warmth: Option<SharedWarmth>,
    began: Nanos,
    shrinks_under_pressure: bool,
}

impl Monitor {
    /// A monitor of the cache `spec` over `disk`.
    pub(super) fn new(
        spec: &RedcapSpec,
        disk: &Arc<CachedDisk>,
        shrinks_under_pressure: bool,
        warmth: Option<SharedWarmth>,
    ) -> Self {
        Self {
            spec: spec.clone(),
            disk: Arc::clone(disk),
            notes: SharedNotes::default(),
            limit: CacheLimit::new(spec.most_bytes()),
            warmth,
            began: now(),
            shrinks_under_pressure,
        }
    }

    /// The status of the cache.
    pub(super) fn status(&self) -> RedcapStatus {
        let now = now();
        let body = self.disk.lock();
        let (application, disk) = body.tally.traffic(body.pending(), body.in_flight());
        let disk = DiskTraffic { given_up: body.cache.counters().given_up, ..disk };
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let decided = notes.checks.iter().copied();
        let from = body.cache.checks().len().saturating_sub(CHECKS);
        let geometry = body.geometry();
        let checked = body.cache.checks().range(from..).map(|check| of_policy(check, geometry, body.cache.miss()));
        RedcapStatus {
            up_s: now.since(self.began).as_secs_f64(),
            state: body.cache.state(),
            geometry,
            off_percent: 100.0 * body.cache.off_share(),
            model_incomplete: notes.model_incomplete.clone(),
            warnings: disagreement::warnings(disk.prefetches, body.cache.counters(), &notes.checks),
            application,
            disk,
            cache: *body.cache.counters(),
            memory: MemoryUse {
                cap: self.spec.most_bytes(),
                limit: self.limit.now.load(Ordering::Relaxed).min(geometry.bytes()),
                used: body.frames.bytes(),
                segments: body.cache.segments(),
                locked: body.frames.is_locked(),
                shrinks: self.limit.shrinks.load(Ordering::Relaxed),
                shrinks_under_pressure: self.shrinks_under_pressure,
            },
            warm: self.warmth.as_ref().map(|warmth| *warmth.lock().unwrap_or_else(PoisonError::into_inner)),
            checks: decided.chain(checked).map(|check| check.note(self.began)).collect(),
        }
    }
}

fn of_policy(check: &ActivationCheck, geometry: CacheGeometry, miss: Miss) -> StatusCheck {
    StatusCheck {
        at: check.at,
        with_cache_ms: 1e3 * check.with_cache.as_secs_f64(),
        without_cache_ms: 1e3 * check.without_cache.as_secs_f64(),
        before: check.before.is_active(),
        after: check.after.is_active(),
        off_percent: 0.0,
        geometry,
        miss,
        predicted_ms: None,
        measured_ms: None,
    }
}
