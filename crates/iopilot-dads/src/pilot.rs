//! [`Pilot`]: collects, tries, decides (GF 4.4.1), check after check.

use crate::astray::Astray;
use crate::change_cost::ChangeCost;
use crate::confidence::confidence;
use crate::judge::{Decision, Judge, Reason, Rule, Situation};
use crate::objective::Objective;
use crate::rig::{Rig, Trial, Way};
use crate::steady::Steady;
use crate::words::words;
use iopilot_block::{InputError, Nanos};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, SimError};
use iopilot_trace::TraceRecord;
use serde::{Deserialize, Serialize};

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
    /// Whether a change that made things worse is taken back, and not tried again for as many checks as release a pinned
    /// default.
    pub revert: bool,
    /// Whether a scheduler that learns is put in place anew where it costs more than twice what its own trial does, which begins anew,
    /// at three checks in a row. Only trials that last tell.
    pub renew: bool,
    /// How many requests a check may simulate, over all candidates: of a window with more, only the last are tried.
    /// `None` for all.
    pub budget: Option<u64>,
    /// In a window with fewer requests the processes go on in a trial as they did ([`Rig::lasting`]), and what the windows
    /// before told counts, too; 0, as in the thesis: each window is tried once, alone.
    pub trial_requests: u64,
}

/// What a candidate would have cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateCost {
    /// The candidate.
    pub scheduler: String,
    /// Its cost in this window: seconds, or for fairness the inverse of Jain's index; less is better.
    pub cost: f64,
    /// What the decision took it to cost: the same, but where trials last heeding the windows before, and what was measured.
    pub judged: f64,
}

/// One check: what was seen, and what was decided. The record of an audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// When, in seconds.
    pub at_s: f64,
    /// Requests that were collected.
    pub requests: u64,
    /// The last of them, which the candidates were tried on: all, unless that would take too long.
    pub tried: u64,
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
    /// And what it turned out to be: what was measured against what the scheduler before would have cost now, by the
    /// model, less what the model was off when that scheduler was in use.
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

    /// Whether the scheduler in use is to be put in place anew.
    pub fn renews(&self) -> bool {
        matches!(self.reason, Reason::Astray { .. })
    }

    /// Whether there is something to carry out.
    pub fn acts(&self) -> bool {
        self.changes() || self.renews()
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
    /// The last change, until a check has seen the outcome.
    last: Option<LastChange>,
    /// For so many checks a candidate that did not keep its promise is left out.
    barred: Vec<u32>,
    /// How things stood before the last check.
    before: Option<(usize, Judge, Astray)>,
    /// Where trials last, what the windows before tell.
    steady: Option<Steady>,
    /// So many windows in a row told of no load as a whole.
    unsettled: u32,
    /// Whether the scheduler in use does worse than it would if it began.
    astray: Astray,
}

/// A change whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
struct LastChange {
    from: usize,
    /// By what share it was to be better.
    promised: f64,
    /// By what share the model was off then.
    error: f64,
    /// At so many checks since then it had not paid.
    missed: u32,
}

/// A change is taken back that has not paid at so many checks in a row: a scheduler may need a while.
const PATIENCE: u32 = 3;

/// So many windows in a row in which processes come or go decide nothing; then that is what the load is like.
const UNSETTLED: u32 = 3;

/// What came of a change.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    from: usize,
    promised: f64,
    /// By what share it was better.
    gain: f64,
    /// Whether changing back pays for itself.
    take_back: bool,
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
            rig: Rig::new(device, run).lasting(config.trial_requests.min(most(&config))),
            judge: Judge::new(config.rule),
            change_cost: ChangeCost::new(config.change_fixed),
            current: config.initial.min(config.candidates.len() - 1),
            last: None,
            before: None,
            barred: vec![0; config.candidates.len()],
            steady: (config.trial_requests > 0).then(Steady::default),
            unsettled: 0,
            astray: Astray::new(),
            config,
        })
    }

    /// The scheduler in use, as far as the pilot knows.
    pub fn current(&self) -> &SchedulerSpec {
        &self.config.candidates[self.current]
    }

    /// Candidates are tried on `device` from now on: a model that has learned.
    pub fn replace_model(&mut self, device: D) {
        self.rig.replace(device);
    }

    /// The disk that candidates are tried on, for it to learn from the real one between two checks (GF 4.3.1, "Dynamic
    /// behavior").
    pub fn model_mut(&mut self) -> &mut D {
        self.rig.device_mut()
    }

    /// Somebody else put candidate `to` in place; what the pilot expected of its own last change is void.
    ///
    /// # Panics
    /// Where there is no such candidate.
    pub fn adopt(&mut self, to: usize) {
        assert!(to < self.config.candidates.len(), "one of the candidates");
        (self.current, self.last) = (to, None);
        self.astray.changed();
    }

    /// The change that the last check decided on was not carried out: it does not count.
    pub fn declined(&mut self) {
        if let Some((current, judge, astray)) = self.before.take() {
            (self.current, self.judge, self.astray, self.last) = (current, judge, astray, None);
        }
    }

    /// Candidate `which` is not to be chosen any more.
    ///
    /// # Panics
    /// Where there is no such candidate.
    pub fn exclude(&mut self, which: usize) {
        self.barred[which] = u32::MAX;
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
        let PilotConfig { objective, default, revert, renew, .. } = self.config;
        let collected = records.len() as u64;
        let records = &records[collected.saturating_sub(most(&self.config)) as usize..];
        self.before = Some((self.current, self.judge.clone(), self.astray));
        let trials = self.rig.try_all(records, pending, &self.config.candidates, self.current, objective)?;
        let costs: Vec<f64> = trials.iter().map(|trial| trial.cost).collect();
        let present = trials.get(self.current);
        let each = present.map_or(Nanos::ZERO, |t| Nanos::from_millis_f64(t.report.service_ms.mean));
        let estimate = self.change_cost.estimate(pending, each);
        let measured = self.rig.measured(records, objective);
        let error = measured.zip(present).filter(|(m, _)| *m > 0.0).map(|(m, t)| t.cost / m - 1.0);
        let (margin, current) = (self.judge.rule().margin, self.current);
        let change = match objective.is_time() {
            true => estimate.as_secs_f64(),
            // As a share of the time that the check looks back on.
            false => present.map_or(0.0, |t| t.cost * estimate.as_secs_f64() / t.window_s.max(1e-9)),
        };
        let way = self.rig.way();
        self.unsettled = if way == Way::CutShort { (self.unsettled + 1).min(UNSETTLED) } else { 0 };
        let unsettled = (1..UNSETTLED).contains(&self.unsettled);
        let last = self.last;
        let outcome = if unsettled { None } else { self.outcome(&costs, measured, change) };
        let astray =
            measured.zip(present).filter(|_| renew && way == Way::Lasting && self.current().info().features.learns);
        let astray = astray
            .map(|(measured, trial)| (measured, trial.cost))
            .filter(|&(measured, cost)| self.astray.check(measured, cost, 2.0 * change));
        let judged = match &mut self.steady {
            Some(steady) if way == Way::Lasting && !costs.is_empty() => {
                steady.costs(&costs, current, measured, records)
            }
            _ => costs.clone(),
        };
        let allowed: Vec<f64> = (judged.iter().zip(&self.barred).enumerate())
            .map(|(i, (&cost, &barred))| if barred > 0 && i != current { f64::INFINITY } else { cost })
            .collect();
        let situation = Situation {
            costs: &allowed,
            current,
            default,
            change,
            confidence: &|to| sureness(&trials, current, to, 1.0 - margin),
            error,
        };
        let decision = match unsettled {
            true => Decision::Keep(Reason::Unsettled),
            false => self.judge.check(&situation),
        };
        let scheduler = self.current().to_string();
        let (to, reason) = match (decision, outcome.filter(|o| revert && o.take_back)) {
            (
                Decision::Keep(
                    Reason::Best | Reason::TooSmall { .. } | Reason::NotSure { .. } | Reason::ModelOff { .. },
                ),
                _,
            ) if astray.is_some() => {
                self.astray.renewed();
                // Before it is taken back it may show what it can do.
                self.last = last.map(|last| LastChange { missed: 0, ..last });
                (current, Reason::Astray { times: astray.map_or(1.0, |(measured, cost)| measured / cost) })
            }
            (
                Decision::Keep(
                    Reason::Best | Reason::TooSmall { .. } | Reason::NotSure { .. } | Reason::ModelOff { .. },
                ),
                Some(o),
            ) => {
                self.barred[current] = self.judge.rule().quiet_checks + 1;
                (o.from, Reason::Undelivered { promised: o.promised, measured: o.gain })
            }
            (Decision::Keep(reason), _) => (current, reason),
            (Decision::Change { to, reason }, _) => (to, reason),
        };
        if !trials.is_empty() {
            self.barred.iter_mut().for_each(|checks| {
                *checks -= u32::from((1..u32::MAX).contains(checks));
            });
        }
        if to != current {
            let promised = judged.get(to).map_or(0.0, |cost| 1.0 - cost / judged[current]);
            // Taking back promises nothing that could be broken.
            let taken_back = matches!(reason, Reason::Undelivered { .. });
            self.last =
                (!taken_back).then_some(LastChange { from: current, promised, error: error.unwrap_or(0.0), missed: 0 });
            self.current = to;
            self.astray.changed();
        }
        let decision = self.current().to_string();
        Ok(Check {
            at_s: at.as_secs_f64(),
            requests: collected,
            tried: records.len() as u64,
            candidates: self
                .config
                .candidates
                .iter()
                .zip(costs.iter().zip(&judged))
                .map(|(candidate, (&cost, &judged))| CandidateCost { scheduler: candidate.to_string(), cost, judged })
                .collect(),
            measured_cost: measured,
            model_error_percent: error.map(|e| 100.0 * e),
            change_estimate_s: estimate.as_secs_f64(),
            predicted_gain_percent: outcome.map(|o| 100.0 * o.promised),
            measured_gain_percent: outcome.map(|o| 100.0 * o.gain),
            why: words(&reason, &scheduler, &decision, objective, estimate),
            scheduler,
            decision,
            reason,
        })
    }
}

impl<D> Pilot<D> {
    /// What came of the last change, where it is known by now: `costs` are those that the model gives, `measured` is what
    /// the scheduler in use did cost, and `change` what another change would.
    fn outcome(&mut self, costs: &[f64], measured: Option<f64>, change: f64) -> Option<Outcome> {
        let measured = measured?;
        let old = self.last.and_then(|last| costs.get(last.from).copied()).filter(|&cost| cost > 0.0)?;
        let mut last = self.last.take()?;
        let expected = old / (1.0 + last.error).max(f64::EPSILON);
        let paid = expected + change >= measured;
        last.missed += u32::from(!paid);
        let outcome = Outcome {
            from: last.from,
            promised: last.promised,
            gain: 1.0 - measured / expected,
            take_back: last.missed >= PATIENCE,
        };
        self.last = (!paid && last.missed < PATIENCE).then_some(last);
        Some(outcome)
    }
}

/// How many requests a candidate is tried on at most.
fn most(config: &PilotConfig) -> u64 {
    config.budget.map_or(u64::MAX, |all| (all / config.candidates.len() as u64).max(1))
}

/// How sure it is that `to` costs less than `share` of what `current` does.
fn sureness(trials: &[Trial], current: usize, to: usize, share: f64) -> Option<f64> {
    let shares = |i: usize| trials.get(i)?.shares.as_deref();
    confidence(shares(current)?, shares(to)?, share)
}
