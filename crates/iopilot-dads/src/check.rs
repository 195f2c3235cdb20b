//! [`SchedulerCheck`]: what one check saw and decided.

use crate::judge::DecisionReason;
use serde::{Deserialize, Serialize};

/// What a candidate would have cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateCost {
    /// The candidate.
    pub scheduler: String,
    /// Its cost in this window: seconds, or for fairness the inverse of Jain's index; less is better. With confirmed
    /// decisions: predicted seconds per request of a class of processes, the inverse of its rate.
    pub cost: f64,
    /// The cost that the decision used. It equals `cost`, except after extended trials: then the windows before and the
    /// measured cost count, too. With confirmed decisions: the believed seconds per request.
    pub judged: f64,
}

/// One check: what it saw and what it decided. The audit file records it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchedulerCheck {
    /// When, in seconds.
    pub at_s: f64,
    /// Requests collected since the check before.
    pub requests: u64,
    /// The requests that candidates were tried on: the last ones, as many as the budget allows.
    pub tried: u64,
    /// The scheduler in use so far.
    pub scheduler: String,
    /// The candidates, in the order in which they were given; empty where nothing was collected.
    pub candidates: Vec<CandidateCost>,
    /// The measured cost of the scheduler in use, in the same unit; `None` where the records have no times for it, and
    /// with confirmed decisions where the check is a prediction.
    pub measured_cost: Option<f64>,
    /// The error of the predicted objective of the scheduler in use, in percent of the measured one.
    pub model_error_percent: Option<f64>,
    /// The estimated time of a change, in seconds.
    pub change_estimate_s: f64,
    /// After a change, or at the end of a trial on the disk: the gain that had been predicted, in percent.
    pub predicted_gain_percent: Option<f64>,
    /// The gain that was measured then, in percent. After a trial on the disk it compares what both schedulers did. After
    /// a change it compares the measured cost with the cost that the model gives the scheduler before, corrected by the
    /// model's error while that scheduler was in use.
    pub measured_gain_percent: Option<f64>,
    /// The scheduler in use from here on.
    pub decision: String,
    /// Why.
    #[serde(flatten)]
    pub reason: DecisionReason,
    /// The reason in words.
    pub why: String,
}

impl SchedulerCheck {
    /// Whether the scheduler is to be changed.
    pub fn changes(&self) -> bool {
        self.decision != self.scheduler
    }

    /// Whether the scheduler in use is to be reinstalled, so that it starts with nothing learned.
    pub fn renews(&self) -> bool {
        let reinstalls = matches!(
            self.reason,
            DecisionReason::Degraded { .. } | DecisionReason::Retry { .. } | DecisionReason::Home
        );
        reinstalls && !self.changes()
    }

    /// Whether there is something to carry out.
    pub fn acts(&self) -> bool {
        self.changes() || self.renews()
    }
}
