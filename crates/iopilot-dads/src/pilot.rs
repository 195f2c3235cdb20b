//! [`Pilot`]: collects, tries, decides (GF 4.4.1), check after check.

use crate::change_cost::ChangeCost;
use crate::confidence::confidence;
use crate::judge::{Decision, Judge, Reason, Rule, Situation};
use crate::objective::Objective;
use crate::rig::{Rig, Trial};
use iopilot_block::{InputError, Nanos};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, SimError};
use iopilot_trace::TraceRecord;
use serde::Serialize;

/// What a pilot is told once.
#[derive(Clone, Debug)]
pub struct PilotConfig {
    /// The schedulers to choose from.
    pub candidates: Vec<SchedulerSpec>,
    /// The one in use at the start.
    pub initial: usize,
    /// The administrator's, to which too many changes in a row return.
    pub default: usize,
    /// What makes one better.
    pub objective: Objective,
    /// When to change.
    pub rule: Rule,
    /// What a change takes on an idle disk.
    pub change_fixed: Nanos,
}

/// What a candidate would have cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateCost {
    /// The candidate.
    pub scheduler: String,
    /// Its cost: seconds, or for fairness the inverse of Jain's index; less is better.
    pub cost: f64,
}

/// One check: what was seen, and what was decided. The record of an audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// When, in seconds.
    pub at_s: f64,
    /// Requests that were collected and tried.
    pub requests: u64,
    /// The scheduler in use so far.
    pub scheduler: String,
    /// The candidates, in the order in which they were given; empty where nothing was collected.
    pub candidates: Vec<CandidateCost>,
    /// What was measured of the scheduler in use, in the same unit, where the requests tell.
    pub measured_cost: Option<f64>,
    /// By how many percent of the measured cost the predicted one of the scheduler in use is off.
    pub model_error_percent: Option<f64>,
    /// What a change was estimated to take, in seconds.
    pub change_estimate_s: f64,
    /// After a change: the gain that had been predicted, in percent.
    pub predicted_gain_percent: Option<f64>,
    /// And what it turned out to be: what was measured against what the scheduler before would have cost now.
    pub measured_gain_percent: Option<f64>,
    /// The scheduler in use from here on.
    pub decision: String,
    /// Why.
    #[serde(flatten)]
    pub reason: Reason,
    /// The same in words.
    pub why: String,
}

impl Check {
    /// Whether the scheduler is to be changed.
    pub fn changes(&self) -> bool {
        self.decision != self.scheduler
    }
}

/// The autopilot of one disk: the same for a replay and for a live disk.
#[derive(Clone, Debug)]
pub struct Pilot<D> {
    config: PilotConfig,
    rig: Rig<D>,
    judge: Judge,
    change_cost: ChangeCost,
    current: usize,
    /// The scheduler before the last change, and the gain that was predicted, until a check has seen the outcome.
    before: Option<(usize, f64)>,
}

impl<D: Device + Clone + Send + Sync> Pilot<D> {
    /// A pilot that tries its candidates on `device`, with the block layer of `run`.
    ///
    /// # Errors
    /// Where there is no candidate, or they are not all of one kernel: no disk could change between them.
    pub fn new(config: PilotConfig, device: D, run: &RunConfig) -> Result<Self, InputError> {
        let Some(first) = config.candidates.first() else {
            return Err(InputError::new("candidates", "", "at least one scheduler"));
        };
        if let Some(other) = config.candidates.iter().find(|c| c.lineage() != first.lineage()) {
            let expected = format!("schedulers of one kernel, as {} is", first.name);
            return Err(InputError::new("candidates", other.to_string(), expected));
        }
        Ok(Self {
            rig: Rig::new(device, run),
            judge: Judge::new(config.rule),
            change_cost: ChangeCost::new(config.change_fixed),
            current: config.initial.min(config.candidates.len() - 1),
            before: None,
            config,
        })
    }

    /// The scheduler in use, as far as the pilot knows.
    pub fn current(&self) -> &SchedulerSpec {
        &self.config.candidates[self.current]
    }

    /// A change with `pending` requests inside took `took`.
    pub fn changed(&mut self, pending: usize, took: Nanos) {
        self.change_cost.changed(pending, took);
    }

    /// The third phase: `records`, in order of arrival, are what completed since the last check; `pending` requests are
    /// inside. The caller carries out what is decided.
    ///
    /// # Errors
    /// As [`Rig::try_all`].
    pub fn check(&mut self, records: &[TraceRecord], pending: usize, at: Nanos) -> Result<Check, SimError> {
        let PilotConfig { candidates, objective, default, .. } = &self.config;
        let trials = self.rig.try_all(records, candidates, self.current, *objective)?;
        let costs: Vec<f64> = trials.iter().map(|trial| trial.cost).collect();
        let present = trials.get(self.current);
        let each = present.map_or(Nanos::ZERO, |t| Nanos::from_millis_f64(t.report.service_ms.mean));
        let estimate = self.change_cost.estimate(pending, each);
        let measured = objective.measured(records);
        let error = measured.zip(present).filter(|(m, _)| *m > 0.0).map(|(m, t)| t.cost / m - 1.0);
        let (margin, current) = (self.judge.rule().margin, self.current);
        let change = match objective.is_time() {
            true => estimate.as_secs_f64(),
            // As a share of the time that the check looks back on.
            false => present.map_or(0.0, |t| t.cost * estimate.as_secs_f64() / t.report.elapsed_s.max(1e-9)),
        };
        let situation = Situation {
            costs: &costs,
            current,
            default: *default,
            change,
            confidence: &|to| sureness(&trials, current, to, *objective, 1.0 - margin),
            error,
        };
        let decision = self.judge.check(&situation);
        let outcome = self.before.take_if(|_| measured.is_some() && !trials.is_empty());
        let measured_gain = outcome
            .zip(measured)
            .and_then(|((old, _), m)| trials.get(old).filter(|t| t.cost > 0.0).map(|t| 100.0 * (1.0 - m / t.cost)));
        let scheduler = self.current().to_string();
        let (to, reason) = match decision {
            Decision::Keep(reason) => (current, reason),
            Decision::Change { to, reason } => (to, reason),
        };
        if to != current {
            let gain = costs.get(to).map_or(0.0, |cost| 1.0 - cost / costs[current]);
            self.before = Some((current, 100.0 * gain));
            self.current = to;
        }
        let decision = self.current().to_string();
        Ok(Check {
            at_s: at.as_secs_f64(),
            requests: records.len() as u64,
            candidates: self
                .config
                .candidates
                .iter()
                .zip(&costs)
                .map(|(candidate, &cost)| CandidateCost { scheduler: candidate.to_string(), cost })
                .collect(),
            measured_cost: measured,
            model_error_percent: error.map(|e| 100.0 * e),
            change_estimate_s: estimate.as_secs_f64(),
            predicted_gain_percent: outcome.map(|(_, gain)| gain),
            measured_gain_percent: measured_gain,
            why: words(&reason, &scheduler, &decision, *objective, estimate),
            scheduler,
            decision,
            reason,
        })
    }
}

/// How sure it is that `to` costs less than `share` of what `current` does.
fn sureness(trials: &[Trial], current: usize, to: usize, objective: Objective, share: f64) -> Option<f64> {
    let shares = |i: usize| -> Option<Vec<f64>> {
        trials.get(i)?.report.outcomes.as_ref()?.iter().map(|outcome| objective.share(outcome)).collect()
    };
    confidence(&shares(current)?, &shares(to)?, share)
}

/// The decision in plain words.
fn words(reason: &Reason, from: &str, to: &str, objective: Objective, change: Nanos) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let what = match objective {
        Objective::ServiceTime => "the disk's time",
        Objective::P99 => "the 99th percentile of response times",
        Objective::Throughput => "the time the whole takes",
        Objective::Fairness => "unfairness",
        Objective::BlockedTime => "the time that processes wait",
    };
    match reason {
        Reason::Idle => format!("Nothing was served: {from} stays."),
        Reason::Best => format!("{from} is the best of the candidates."),
        Reason::TooSmall { gain } => format!(
            "The best candidate would save {} of {what}, which is not worth a change of {:.0} ms: {from} stays.",
            percent(*gain),
            change.as_millis_f64()
        ),
        Reason::NotSure { gain, confidence: Some(sure) } => format!(
            "The best candidate seems to save {} of {what}, but that is only {} sure: {from} stays.",
            percent(*gain),
            percent(*sure)
        ),
        Reason::NotSure { gain, confidence: None } => format!(
            "The best candidate seems to save {} of {what}, but there were too few requests to be sure: {from} stays.",
            percent(*gain)
        ),
        Reason::ModelOff { error: Some(error) } => {
            format!("What was predicted for {from} is {} off what was measured: it stays.", percent(error.abs()))
        }
        Reason::ModelOff { error: None } => {
            format!("What was predicted for {from} could not be compared with what was measured: it stays.")
        }
        Reason::Better { gain } => {
            format!("{to} would have saved {} of {what}: it takes over from {from}.", percent(*gain))
        }
        Reason::TooManyChanges => format!("Too many changes in a row: the default, {to}, is put in place and stays."),
        Reason::Pinned { left: 0 } => {
            format!("The default, {to}, stays; from the next check on, changes are allowed again.")
        }
        Reason::Pinned { left } => {
            format!("The default, {to}, stays until {left} more checks in a row would change nothing.")
        }
    }
}
