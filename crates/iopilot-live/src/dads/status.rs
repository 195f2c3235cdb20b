//! [`Status`]: the status of a daemon and its disks.

use super::load::DiskLoad;
use iopilot_dads::{DecisionReason, SchedulerCheck};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The status of a daemon.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// Its process identifier.
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
    /// Somebody else installed a scheduler that is no candidate.
    StandingBy,
    /// The disk is gone, or flying it failed.
    Ended,
}

/// The status of the autopilot of one disk.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DiskStatus {
    /// The disk.
    pub device: String,
    /// What it is doing.
    pub phase: Phase,
    /// Whether it is a dry run.
    pub dry_run: bool,
    /// The scheduler in use.
    pub scheduler: String,
    /// Its tunables.
    pub tunables: BTreeMap<String, String>,
    /// The scheduler to restore at the end.
    pub original: String,
    /// The candidates.
    pub candidates: Vec<String>,
    /// The objective.
    pub objective: String,
    /// The time from check to check, in seconds.
    pub interval_s: f64,
    /// The model.
    pub model: String,
    /// The backend of the capture.
    pub capture: String,
    /// Further notes for the user.
    pub notes: Vec<String>,
    /// Requests that completed so far.
    pub requests: u64,
    /// The bytes of these requests.
    pub bytes: u64,
    /// Completed requests per second, over the last second or the last pause of the capture.
    #[serde(default)]
    pub iops: f64,
    /// The mean time from arrival to completion of the captured ones of them, in milliseconds.
    #[serde(default)]
    pub latency_ms: f64,
    /// Requests in flight at the last poll.
    pub pending: usize,
    /// Events for which the kernel's buffers had no room.
    pub lost_events: u64,
    /// Checks so far.
    pub checks: u64,
    /// Intervals so far without a check.
    #[serde(default)]
    pub skips: u64,
    /// Why the last interval had no check; `None` if it had one.
    #[serde(default)]
    pub skipped: Option<String>,
    /// Changes of scheduler so far.
    pub changes: u64,
    /// Changes that took back the one before.
    pub taken_back: u64,
    /// How often the scheduler in use was reinstalled.
    pub renewals: u64,
    /// The total time of changes and reinstallations, draining included, in seconds.
    pub changing_s: f64,
    /// The total time of simulating, in seconds.
    pub simulating_s: f64,
    /// The total time of capture pauses, in which requests were only counted, in seconds.
    #[serde(default, alias = "away_s")]
    pub counted_only_s: f64,
    /// Lines that could not be written to the audit file.
    pub audit_failures: u64,
    /// The last check.
    pub last: Option<SchedulerCheck>,
    /// The last change, with the gain that the next check measured.
    pub last_change: Option<SchedulerCheck>,
    /// The last decisions that did something, or kept what was on trial, the newest last.
    #[serde(default)]
    pub actions: Vec<SchedulerCheck>,
    /// How many of these there were.
    #[serde(default)]
    pub acted: u64,
    /// The last checks in short, the newest last.
    pub history: Vec<CheckSummary>,
    /// The error that ended it.
    pub error: Option<String>,
}

/// A check in short.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckSummary {
    /// When, in seconds.
    pub at_s: f64,
    /// The scheduler in use before the check.
    pub scheduler: String,
    /// The measured cost.
    pub measured: Option<f64>,
    /// The predicted cost of the scheduler in use.
    pub predicted: Option<f64>,
    /// The lowest predicted cost.
    pub best: Option<f64>,
    /// Requests collected.
    pub requests: u64,
    /// Requests per second since the check before.
    #[serde(default)]
    pub iops: f64,
    /// Their mean time from arrival to completion, in milliseconds.
    #[serde(default)]
    pub latency_ms: f64,
}

/// How many checks are remembered.
const REMEMBERED: usize = 240;
/// How many decisions that did something are remembered.
const ACTIONS: usize = 16;

impl DiskStatus {
    /// Notes that an interval passed without a check.
    pub(super) fn skipped(&mut self, why: &str) {
        self.skips += 1;
        self.skipped = Some(why.to_owned());
    }

    /// Notes a check.
    pub(super) fn checked(&mut self, check: &SchedulerCheck, load: DiskLoad) {
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
            iops: load.iops,
            latency_ms: load.latency_ms,
        });
        if self.history.len() > REMEMBERED {
            self.history.remove(0);
        }
        if check.acts() || matches!(check.reason, DecisionReason::Adopted { .. }) {
            self.acted += 1;
            self.actions.push(check.clone());
            if self.actions.len() > ACTIONS {
                self.actions.remove(0);
            }
        }
        if let Some(change) = self.last_change.as_mut().filter(|_| check.measured_gain_percent.is_some()) {
            change.predicted_gain_percent = check.predicted_gain_percent;
            change.measured_gain_percent = check.measured_gain_percent;
        }
        self.last = Some(check.clone());
    }
}

/// The status of a disk, shared between threads.
#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<DiskStatus>);

impl Shared {
    pub(super) fn new(status: DiskStatus) -> Self {
        Self(Mutex::new(status))
    }

    /// Calls `f` with the status. One that a panic interrupted is still good enough to read.
    pub(super) fn with<T>(&self, f: impl FnOnce(&mut DiskStatus) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_an_older_daemon_is_read() {
        let new = serde_json::to_string(&DiskStatus { counted_only_s: 2.5, ..DiskStatus::default() }).unwrap();
        let old = new.replace("counted_only_s", "away_s");
        assert_ne!(old, new);
        assert_eq!(serde_json::from_str::<DiskStatus>(&old).unwrap().counted_only_s.to_bits(), 2.5f64.to_bits());
        let reason: DecisionReason = serde_json::from_str(r#"{"reason":"astray","times":2.5}"#).unwrap();
        assert_eq!(reason, DecisionReason::Degraded { times: 2.5 });
        assert_eq!(serde_json::to_string(&reason).unwrap(), r#"{"reason":"degraded","times":2.5}"#);
    }
}
