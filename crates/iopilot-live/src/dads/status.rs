//! [`Status`]: what a daemon tells of itself.

use iopilot_dads::Check;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What a daemon tells of itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Seconds since it started.
    pub up_s: f64,
    /// Every disk, in the order in which they were given.
    pub disks: Vec<DiskStatus>,
}

/// What the autopilot of a disk is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Requests are collected.
    #[default]
    Collecting,
    /// Candidates are tried, while collecting goes on.
    Simulating,
    /// The scheduler is being changed.
    Changing,
    /// Somebody put a scheduler in place that is no candidate.
    StandingBy,
    /// The disk is gone, or flying it failed.
    Ended,
}

/// How the autopilot of one disk is doing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DiskStatus {
    /// The disk.
    pub device: String,
    /// What is being done.
    pub phase: Phase,
    /// Whether it only says what it would do.
    pub dry_run: bool,
    /// The scheduler in use.
    pub scheduler: String,
    /// Its tunables.
    pub tunables: BTreeMap<String, String>,
    /// The scheduler that is put back at the end.
    pub original: String,
    /// What it chooses from.
    pub candidates: Vec<String>,
    /// What makes one better.
    pub objective: String,
    /// From check to check, in seconds.
    pub interval_s: f64,
    /// What is simulated.
    pub model: String,
    /// How requests are seen.
    pub capture: String,
    /// What else is to be known.
    pub notes: Vec<String>,
    /// Requests that completed so far.
    pub requests: u64,
    /// And their bytes.
    pub bytes: u64,
    /// Requests inside at the last look.
    pub pending: usize,
    /// Events that the kernel's buffers had no room for.
    pub lost_events: u64,
    /// Checks so far.
    pub checks: u64,
    /// Intervals so far that no check was made after.
    #[serde(default)]
    pub skips: u64,
    /// Why none was made after the last; `None` where one was.
    #[serde(default)]
    pub skipped: Option<String>,
    /// Changes of scheduler so far.
    pub changes: u64,
    /// Those of them that took back one that did not deliver.
    pub taken_back: u64,
    /// How often the scheduler in use was put in place anew.
    pub renewals: u64,
    /// Seconds that changes and renewals took in all, draining included.
    pub changing_s: f64,
    /// Seconds that simulating took in all.
    pub simulating_s: f64,
    /// Seconds in which requests were counted only, as more came than are tried.
    #[serde(default)]
    pub away_s: f64,
    /// Lines that the audit file had no room for.
    pub audit_failures: u64,
    /// The last check.
    pub last: Option<Check>,
    /// The last change, and what the next check found of it.
    pub last_change: Option<Check>,
    /// Costs of the last checks, the newest last: what was measured, and what was predicted of the scheduler in use.
    pub history: Vec<CheckSummary>,
    /// The error that ended it.
    pub error: Option<String>,
}

/// A check of the past, in short.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckSummary {
    /// When, in seconds.
    pub at_s: f64,
    /// The scheduler that the check found.
    pub scheduler: String,
    /// What was measured.
    pub measured: Option<f64>,
    /// What was predicted of it.
    pub predicted: Option<f64>,
    /// What was predicted of the best.
    pub best: Option<f64>,
    /// Requests collected.
    pub requests: u64,
}

/// So many checks are remembered.
const REMEMBERED: usize = 240;

impl DiskStatus {
    /// Notes that an interval passed without a check.
    pub(super) fn skipped(&mut self, why: &str) {
        self.skips += 1;
        self.skipped = Some(why.to_owned());
    }

    /// Notes a check.
    pub(super) fn checked(&mut self, check: &Check) {
        self.checks += 1;
        self.skipped = None;
        let of = |name: &str| check.candidates.iter().find(|c| c.scheduler == name).map(|c| c.cost);
        self.history.push(CheckSummary {
            at_s: check.at_s,
            scheduler: check.scheduler.clone(),
            measured: check.measured_cost,
            predicted: of(&check.scheduler),
            best: check.candidates.iter().map(|c| c.cost).min_by(f64::total_cmp),
            requests: check.requests,
        });
        if self.history.len() > REMEMBERED {
            self.history.remove(0);
        }
        if let Some(change) = self.last_change.as_mut().filter(|_| check.measured_gain_percent.is_some()) {
            change.predicted_gain_percent = check.predicted_gain_percent;
            change.measured_gain_percent = check.measured_gain_percent;
        }
        self.last = Some(check.clone());
    }
}

/// The status of a disk, which its threads write and others read.
#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<DiskStatus>);

impl Shared {
    pub(super) fn new(status: DiskStatus) -> Self {
        Self(Mutex::new(status))
    }

    /// A panic while writing leaves a status that is good enough to be read.
    pub(super) fn with<T>(&self, f: impl FnOnce(&mut DiskStatus) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
