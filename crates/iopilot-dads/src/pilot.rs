//! [`Pilot`]: collects, tries, decides (GF 4.4.1), check after check.

use crate::autopilot_settings::AutopilotSettings;
use crate::candidates::check_candidates;
use crate::change_cost::ChangeCost;
use crate::check::{CandidateCost, SchedulerCheck};
use crate::confidence::confidence;
use crate::degradation::DegradationDetector;
use crate::explanation::explain;
use crate::judge::{ChangeJudge, Decision, DecisionReason, Rule, Situation};
use crate::smoothed_costs::SmoothedCosts;
use crate::trial::Trial;
use crate::trial_runner::{TrialMode, TrialRunner};
use iopilot_block::{InputError, Nanos, ProcessId};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, SimError};
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;

/// Checks window after window, and decides by a rule on the simulated costs, as the thesis does.
#[derive(Clone, Debug)]
pub struct Pilot<D> {
    config: AutopilotSettings,
    runner: TrialRunner<D>,
    judge: ChangeJudge,
    change_cost: ChangeCost,
    current: usize,
    /// The last change, until a check has seen the outcome.
    last: Option<LastChange>,
    /// For how many more checks each candidate is left out, after a change to it was taken back.
    barred: Vec<u32>,
    /// The state before the last check.
    before: Option<(usize, ChangeJudge, DegradationDetector)>,
    /// With extended trials: the costs smoothed over windows.
    smoothed: Option<SmoothedCosts>,
    /// How many windows in a row were short because processes came or went.
    unsettled: u32,
    /// Whether the scheduler in use has degraded.
    degradation: DegradationDetector,
}

/// A change whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
struct LastChange {
    from: usize,
    /// The predicted gain, as a share.
    promised: f64,
    /// The error of the model then, as a share.
    error: f64,
    /// At how many checks since then the change had not paid for itself.
    missed: u32,
}

/// A change is taken back after it has not paid for itself at this many checks in a row: a scheduler may need time to
/// adapt.
const PATIENCE: u32 = 3;

/// The first consecutive windows in which processes come or go are not decided on. From this many on, coming and going
/// is a part of the load.
const UNSETTLED: u32 = 3;

/// The outcome of a change.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    from: usize,
    promised: f64,
    /// The measured gain, as a share.
    gain: f64,
    /// Whether changing back pays for itself.
    take_back: bool,
}

/// What a window shows: the trials of all candidates, and what was measured.
struct Evaluation {
    trials: Vec<Trial>,
    /// The cost of each trial.
    costs: Vec<f64>,
    /// The measured cost of the scheduler in use.
    measured: Option<f64>,
    /// The error of its predicted cost, as a share of the measured cost.
    error: Option<f64>,
    /// The time that a change takes.
    change_time: Nanos,
    /// What a change costs, in the unit of `costs`.
    change: f64,
}

impl<D: Device + Clone + Send + Sync> Pilot<D> {
    /// A pilot that decides by `rule` and tries its candidates on `device`, with the block layer of `run`.
    ///
    /// # Errors
    /// Where there is no candidate, or they are not all of one kernel: no disk could change between them.
    pub fn new(config: AutopilotSettings, rule: Rule, device: D, run: &RunConfig) -> Result<Self, InputError> {
        check_candidates(&config.candidates)?;
        Ok(Self {
            runner: TrialRunner::new(device, run).with_min_requests(config.trial_requests.min(max_requests(&config))),
            judge: ChangeJudge::new(rule),
            change_cost: ChangeCost::new(config.change_fixed),
            current: config.initial.min(config.candidates.len() - 1),
            last: None,
            before: None,
            barred: vec![0; config.candidates.len()],
            smoothed: (config.trial_requests > 0).then(SmoothedCosts::default),
            unsettled: 0,
            degradation: DegradationDetector::new(),
            config,
        })
    }

    /// The scheduler in use, as far as the pilot knows.
    pub fn current(&self) -> &SchedulerSpec {
        &self.config.candidates[self.current]
    }

    /// Replaces the model that candidates are tried on, by one that has learned.
    pub fn replace_model(&mut self, device: D) {
        self.runner.replace(device);
    }

    /// The model that candidates are tried on, for it to learn from the real disk between two checks (GF 4.3.1,
    /// "Dynamic behavior").
    pub fn model_mut(&mut self) -> &mut D {
        self.runner.device_mut()
    }

    /// Notes how many requests processes keep in flight, as an observer of them reports. It matters while the scheduler
    /// in use lets them sleep for the device's tags.
    pub fn tell_in_flight(&mut self, in_flight: BTreeMap<ProcessId, u32>) {
        self.runner.tell_in_flight(in_flight);
    }

    /// Notes how late time-limited requests have been: the share of their responses for which a process
    /// waited. `None` keeps the last known share; before there is one, one half counts.
    pub fn tell_lateness(&mut self, lateness: Option<f64>) {
        self.runner.tell_lateness(lateness);
    }

    /// Notes whether the cache above the block layer is in use.
    pub fn tell_redcap_active(&mut self, active: bool) {
        self.runner.tell_redcap_active(active);
    }

    /// Notes that somebody else installed candidate `to`. The pilot no longer waits for the outcome of its own last
    /// change.
    ///
    /// # Panics
    /// Where there is no such candidate.
    pub fn adopt(&mut self, to: usize) {
        assert!(to < self.config.candidates.len(), "one of the candidates");
        (self.current, self.last) = (to, None);
        self.degradation.changed();
    }

    /// Notes that the change the last check decided on was not carried out: it does not count.
    pub fn declined(&mut self) {
        if let Some((current, judge, degradation)) = self.before.take() {
            (self.current, self.judge, self.degradation, self.last) = (current, judge, degradation, None);
        }
    }

    /// Bars candidate `which` for good.
    ///
    /// # Panics
    /// Where there is no such candidate.
    pub fn exclude(&mut self, which: usize) {
        self.barred[which] = u32::MAX;
    }

    /// Notes that a change with `pending` requests inside took `took`.
    pub fn changed(&mut self, pending: usize, took: Nanos) {
        self.change_cost.changed(pending, took);
    }

    /// Makes a check, the third phase of GF 4.4.1. `records`, in order of arrival, completed since the last check;
    /// `pending` requests are inside the disk and its queue. The caller carries out the decision.
    ///
    /// # Errors
    /// Where the dependencies of the records cannot be inferred, a setting is not accepted, or a run gets stuck.
    pub fn check(&mut self, records: &[TraceRecord], pending: usize, at: Nanos) -> Result<SchedulerCheck, SimError> {
        let collected = records.len() as u64;
        let records = &records[collected.saturating_sub(max_requests(&self.config)) as usize..];
        self.before = Some((self.current, self.judge.clone(), self.degradation));
        let seen = self.evaluate(records, pending)?;
        let unsettled = self.is_unsettled();
        let last = self.last;
        let outcome = if unsettled { None } else { self.outcome(&seen.costs, seen.measured, seen.change) };
        let degraded = self.degraded(&seen);
        let judged = self.judged_costs(&seen, records);
        let decision = match unsettled {
            true => Decision::Keep(DecisionReason::Unsettled),
            false => self.decide(&seen, &judged),
        };
        let scheduler = self.current().to_string();
        let (to, reason) = self.correct(decision, degraded, outcome, last);
        if !seen.trials.is_empty() {
            self.count_down_bars();
        }
        if to != self.current {
            self.change_to(to, &reason, &judged, seen.error);
        }
        let decision = self.current().to_string();
        Ok(SchedulerCheck {
            at_s: at.as_secs_f64(),
            requests: collected,
            tried: records.len() as u64,
            candidates: (self.config.candidates.iter().zip(seen.costs.iter().zip(&judged)))
                .map(|(candidate, (&cost, &judged))| CandidateCost { scheduler: candidate.to_string(), cost, judged })
                .collect(),
            measured_cost: seen.measured,
            model_error_percent: seen.error.map(|e| 100.0 * e),
            change_estimate_s: seen.change_time.as_secs_f64(),
            predicted_gain_percent: outcome.map(|o| 100.0 * o.promised),
            measured_gain_percent: outcome.map(|o| 100.0 * o.gain),
            why: explain(&reason, &scheduler, &decision, self.config.objective, seen.change_time),
            scheduler,
            decision,
            reason,
        })
    }

    /// Tries all candidates on `records`, and compares what was measured with the trial of the scheduler in use.
    fn evaluate(&mut self, records: &[TraceRecord], pending: usize) -> Result<Evaluation, SimError> {
        let objective = self.config.objective;
        let trials = self.runner.try_all(records, pending, &self.config.candidates, self.current, objective)?;
        let costs = trials.iter().map(|trial| trial.cost).collect();
        let present = trials.get(self.current);
        let each = present.map_or(Nanos::ZERO, |t| Nanos::from_millis_f64(t.report.service_ms.mean));
        let change_time = self.change_cost.estimate(pending, each);
        let measured = self.runner.measured(records, objective);
        let error = measured.zip(present).filter(|(m, _)| *m > 0.0).map(|(m, t)| t.cost / m - 1.0);
        let change = match objective.is_time() {
            true => change_time.as_secs_f64(),
            // As a share of the window's time.
            false => present.map_or(0.0, |t| t.cost * change_time.as_secs_f64() / t.window_s.max(1e-9)),
        };
        Ok(Evaluation { trials, costs, measured, error, change_time, change })
    }

    /// Decides by the rule, on the costs `judged`; barred candidates are left out.
    fn decide(&mut self, seen: &Evaluation, judged: &[f64]) -> Decision {
        let (margin, current) = (self.judge.rule().margin, self.current);
        let allowed: Vec<f64> = (judged.iter().zip(&self.barred).enumerate())
            .map(|(i, (&cost, &barred))| if barred > 0 && i != current { f64::INFINITY } else { cost })
            .collect();
        self.judge.check(&Situation {
            costs: &allowed,
            current,
            default: self.config.default,
            change: seen.change,
            confidence: &|to| confidence_of_change(&seen.trials, current, to, 1.0 - margin),
            error: seen.error,
        })
    }
}

impl<D: Device + Clone + Send + Sync> Pilot<D> {
    /// Whether this window decides nothing, because processes came or went in it.
    fn is_unsettled(&mut self) -> bool {
        let short = self.runner.mode() == TrialMode::ShortReplay;
        self.unsettled = if short { (self.unsettled + 1).min(UNSETTLED) } else { 0 };
        (1..UNSETTLED).contains(&self.unsettled)
    }

    /// How many times its trial's cost the scheduler in use costs, where it has degraded and may be reinstalled.
    fn degraded(&mut self, seen: &Evaluation) -> Option<f64> {
        let learns = self.config.candidates[self.current].info().features.learns;
        let can_show = self.config.renew && self.runner.mode() == TrialMode::Extended && learns;
        let (measured, trial) = seen.measured.zip(seen.trials.get(self.current)).filter(|_| can_show)?;
        self.degradation.check(measured, trial.cost, 2.0 * seen.change).then(|| measured / trial.cost)
    }

    /// The costs to decide on: smoothed over windows after extended trials, else those of this window.
    fn judged_costs(&mut self, seen: &Evaluation, records: &[TraceRecord]) -> Vec<f64> {
        match &mut self.smoothed {
            Some(smoothed) if self.runner.mode() == TrialMode::Extended && !seen.costs.is_empty() => {
                let learns = self.config.candidates[self.current].info().features.learns;
                smoothed.update(&seen.costs, (self.current, learns), seen.measured, records)
            }
            _ => seen.costs.clone(),
        }
    }

    /// The scheduler to use from here on. Where the rule would keep the one in use, it may be reinstalled because it
    /// has `degraded`, or the last change may be taken back. `last` is that change before this check.
    fn correct(
        &mut self,
        decision: Decision,
        degraded: Option<f64>,
        outcome: Option<Outcome>,
        last: Option<LastChange>,
    ) -> (usize, DecisionReason) {
        let current = self.current;
        let reason = match decision {
            Decision::Change { to, reason } => return (to, reason),
            Decision::Keep(
                reason @ (DecisionReason::Best
                | DecisionReason::TooSmall { .. }
                | DecisionReason::NotSure { .. }
                | DecisionReason::ModelOff { .. }),
            ) => reason,
            Decision::Keep(reason) => return (current, reason),
        };
        if let Some(times) = degraded {
            self.degradation.reinstalled();
            // The reinstalled scheduler gets a new chance before the change to it is taken back.
            self.last = last.map(|last| LastChange { missed: 0, ..last });
            return (current, DecisionReason::Degraded { times });
        }
        match outcome.filter(|o| self.config.revert && o.take_back) {
            Some(o) => {
                self.barred[current] = self.judge.rule().quiet_checks + 1;
                (o.from, DecisionReason::Undelivered { promised: o.promised, measured: o.gain })
            }
            None => (current, reason),
        }
    }

    fn count_down_bars(&mut self) {
        self.barred.iter_mut().for_each(|checks| {
            *checks -= u32::from((1..u32::MAX).contains(checks));
        });
    }

    /// Makes candidate `to` the scheduler in use; later checks see the outcome.
    fn change_to(&mut self, to: usize, reason: &DecisionReason, judged: &[f64], error: Option<f64>) {
        let promised = judged.get(to).map_or(0.0, |cost| 1.0 - cost / judged[self.current]);
        // A change that is taken back has no outcome to wait for.
        let taken_back = matches!(reason, DecisionReason::Undelivered { .. });
        let change = LastChange { from: self.current, promised, error: error.unwrap_or(0.0), missed: 0 };
        self.last = (!taken_back).then_some(change);
        self.current = to;
        self.degradation.changed();
    }

    /// The outcome of the last change, where it is known by now. The model gives `costs`, the scheduler in use cost
    /// `measured`, and another change would cost `change`.
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

/// The largest number of requests that a candidate is tried on.
fn max_requests(config: &AutopilotSettings) -> u64 {
    config.budget.map_or(u64::MAX, |all| (all / config.candidates.len() as u64).max(1))
}

/// How sure it is, from 0 to 1, that `to` costs less than `share` of what `current` does.
fn confidence_of_change(trials: &[Trial], current: usize, to: usize, share: f64) -> Option<f64> {
    let shares = |i: usize| trials.get(i)?.shares.as_deref();
    confidence(shares(current)?, shares(to)?, share)
}
