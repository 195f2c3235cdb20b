//! [`ConfirmedPilot`]: the rule of confirmed decisions with what it needs: windows, predictions, the kind of load.

use super::experience::Experience;
use super::load_watch::{LoadWatch, LoadWindow};
use super::progress::ClassProgress;
use super::rule::{ConfirmedReason, ConfirmedRule, ConfirmedStep};
use super::settling::CandidateTraits;
use crate::autopilot_job::{AutopilotOutput, Prediction, PredictionJob};
use crate::autopilot_settings::AutopilotSettings;
use crate::check::{CandidateCost, SchedulerCheck};
use crate::explanation::explain;
use crate::judge::DecisionReason;
use crate::request_window::RequestWindow;
use crate::trial::Trial;
use crate::trial_runner::{TrialMode, TrialRunner};
use iopilot_block::Nanos;
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_trace::TraceRecord;

/// A disk without a request for this long is idle.
const IDLE: Nanos = Nanos::from_millis(100);
/// A load is predicted once it is this old, and its last process as well.
const NEW: Nanos = Nanos::from_millis(600);
/// What a scheduler serves in this time after its installation is not predicted from.
const TURNS: Nanos = Nanos::from_secs(1);
/// A prediction needs this many requests…
const ENOUGH: u64 = 64;
/// …or, of a load that is this old, this many.
const PATIENCE: Nanos = Nanos::from_secs(4);
const FEW: u64 = 8;
/// How often a load is predicted at first, and later.
const AT_FIRST: Nanos = Nanos::from_secs(1);
const FIRST: Nanos = Nanos::from_secs(10);
const LATER: Nanos = Nanos::from_secs(5);
/// A load has changed if this many windows in a row are of another kind.
const OTHER_WINDOWS: u32 = 2;
/// The first predictions in which processes come or go are not taken.
const UNSETTLED: u32 = 2;
/// A disk that is less busy than this shows nothing in a trial.
const BUSY: f64 = 0.5;
/// If candidates differ by less than this in what processes get done (ln rate), the load is open: requests come when
/// they come, and only waits differ.
const OPEN: f64 = 0.02;
/// Nothing is changed for this many seconds after somebody else's change.
const HANDS_OFF: f64 = 60.0;

/// What is known of the present load.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LoadState {
    None,
    /// Since when.
    New(Nanos),
    /// Since when, and when it was first predicted.
    Known(Nanos, Nanos),
}

/// The rule with its windows and predictions.
#[derive(Clone, Debug)]
pub(crate) struct ConfirmedPilot<M> {
    settings: AutopilotSettings,
    names: Vec<String>,
    rule: ConfirmedRule,
    watch: LoadWatch,
    window: RequestWindow,
    runner: Option<TrialRunner<M>>,
    state: LoadState,
    next_prediction: Nanos,
    /// Requests that arrived earlier are not predicted from.
    not_before: Nanos,
    /// Windows in a row of another kind than the load.
    other: u32,
    unsettled: u32,
    /// The kind that the present load had when it was predicted.
    last: Option<LoadWindow>,
    /// The installation that was asked for.
    asked: Option<usize>,
    /// Predicted costs of the last prediction.
    predicted: Vec<f64>,
    tried: u64,
    change: Nanos,
    /// Whether it was told that the budget is spent.
    told_budget: bool,
}

impl<M> ConfirmedPilot<M> {
    pub(crate) fn new(settings: AutopilotSettings, runner: TrialRunner<M>, current: usize, trials: bool) -> Self {
        let traits = settings.candidates.iter().map(CandidateTraits::of).collect();
        let kept = usize::try_from(settings.requests_per_trial()).unwrap_or(usize::MAX / 4);
        Self {
            names: settings.candidates.iter().map(ToString::to_string).collect(),
            rule: ConfirmedRule::new(traits, current, settings.prediction_error, trials),
            watch: LoadWatch::default(),
            window: RequestWindow::new(kept.min(usize::MAX / 4)),
            runner: Some(runner),
            state: LoadState::None,
            next_prediction: Nanos::ZERO,
            not_before: Nanos::ZERO,
            other: 0,
            unsettled: 0,
            last: None,
            asked: None,
            predicted: Vec::new(),
            tried: 0,
            change: settings.change_fixed,
            told_budget: false,
            settings,
        }
    }

    pub(crate) fn experience(&self) -> Experience {
        self.rule.experience()
    }

    pub(crate) fn recall(&mut self, experience: Experience) {
        self.rule.recall(experience);
    }

    pub(crate) fn candidate_in_use(&self) -> &SchedulerSpec {
        &self.settings.candidates[self.rule.current()]
    }

    pub(crate) fn runner_mut(&mut self) -> Option<&mut TrialRunner<M>> {
        self.runner.as_mut()
    }

    /// Takes in requests that have completed.
    pub(crate) fn observe(&mut self, records: impl Iterator<Item = TraceRecord>) {
        let (watch, not_before) = (&mut self.watch, self.not_before);
        let records = records.inspect(|record| watch.observe(std::slice::from_ref(record)));
        self.window.add(records.filter(|record| record.arrival >= not_before));
    }

    /// The installation that was asked for took `took`, with `pending` requests in flight; it ended at `now`.
    pub(crate) fn installed(&mut self, pending: usize, took: Nanos, now: Nanos) {
        let Some(which) = self.asked.take() else { return };
        self.rule.installed(which, took.as_secs_f64(), pending > 0);
        self.change = Nanos((self.change.0 * 3 + took.0) / 4);
        // At first it serves what its predecessor left, and that in long turns: such a window predicts nothing.
        self.not_before = if pending > 0 { now + TURNS } else { now };
        self.begin_window(now);
    }

    /// The installation that was asked for did not happen.
    pub(crate) fn refused(&mut self, now: Nanos) {
        let Some(which) = self.asked.take() else { return };
        self.rule.refused(which);
        self.begin_window(now);
    }

    /// Somebody else put `which` in place.
    pub(crate) fn adopt(&mut self, which: usize, now: Nanos) {
        self.asked = None;
        self.rule.adopt(which, HANDS_OFF);
        self.begin_window(now);
    }

    pub(crate) fn exclude(&mut self, which: usize) {
        self.rule.exclude(which);
    }

    /// Requests were missed until `now`: windows and predictions begin anew.
    pub(crate) fn missed(&mut self, now: Nanos) {
        self.begin_window(now);
    }

    fn begin_window(&mut self, now: Nanos) {
        self.watch.restart(now);
        self.window.clear();
        self.next_prediction = self.next_prediction.max(now + AT_FIRST);
    }
}

impl<M: Device + Clone + Send + Sync> ConfirmedPilot<M> {
    /// What to do at `now`, with `pending` requests in flight.
    pub(crate) fn tick(&mut self, now: Nanos, pending: usize) -> Option<AutopilotOutput<M>> {
        if self.asked.is_some() {
            return None;
        }
        self.watch.look(pending);
        if pending == 0 && now >= self.watch.last_completion() + IDLE {
            return self.idle(now).map(AutopilotOutput::Check);
        }
        if self.state == LoadState::None {
            self.state = LoadState::New(now);
            self.watch.restart(now);
            self.window.clear();
        }
        if self.watch.is_over(now, self.rule.is_on_trial()) {
            if let Some(check) = self.end_window(now) {
                return Some(AutopilotOutput::Check(check));
            }
        }
        self.prediction_is_due(now)
            .then(|| self.job(now, pending))
            .flatten()
            .map(|job| AutopilotOutput::Job(job.into()))
    }

    fn idle(&mut self, now: Nanos) -> Option<SchedulerCheck> {
        if self.state == LoadState::None {
            return None;
        }
        (self.state, self.other) = (LoadState::None, 0);
        let step = self.rule.idle();
        self.window.clear();
        step.install.is_some().then(|| self.check(step, now, None))
    }

    fn end_window(&mut self, now: Nanos) -> Option<SchedulerCheck> {
        let LoadState::Known(since, _) = self.state else {
            self.last = Some(self.watch.close(now));
            return None;
        };
        let thin = self.watch.is_thin() && !self.rule.is_on_trial();
        let window = self.watch.close(now);
        let is_other = self.rule.signature().is_some_and(|known| known.is_other_work(&window.signature)) && !thin;
        self.other = if is_other { self.other + 1 } else { 0 };
        let (new, all) = self.watch.newcomers(since);
        let came = self.watch.last_came();
        let are_others = 2 * new >= all && now >= came + NEW && new > 0;
        self.last = Some(window);
        if self.other >= OTHER_WINDOWS || are_others {
            // Until it is predicted, the belief stays.
            let since = if are_others { came } else { now };
            (self.state, self.other) = (LoadState::New(since), 0);
            self.window.forget_before(since);
            self.rule.pause_trial();
            return None;
        }
        if thin {
            return None;
        }
        self.rule.allow_trials(window.busy >= BUSY || self.rule.is_on_trial());
        let step = self.rule.window(&window.progress);
        let is_news = match step.reason {
            ConfirmedReason::Adopted { .. } => true,
            // Once for a load.
            ConfirmedReason::Budget => !std::mem::replace(&mut self.told_budget, true),
            _ => false,
        };
        let tells = step.install.is_some() || is_news;
        tells.then(|| self.check(step, now, Some(&window.progress)))
    }

    fn prediction_is_due(&mut self, now: Nanos) -> bool {
        if self.runner.is_none() || self.rule.is_on_trial() {
            return false;
        }
        let count = self.window.count();
        match self.state {
            LoadState::None => false,
            LoadState::New(since) => {
                let is_settled = now >= since + NEW && now >= self.watch.last_came() + NEW;
                let waited = now >= since + PATIENCE;
                is_settled && count >= ENOUGH || waited && count >= FEW
            }
            LoadState::Known(..) => now >= self.next_prediction && self.rule.installed_for() >= 1.0 && count >= ENOUGH,
        }
    }

    fn job(&mut self, now: Nanos, pending: usize) -> Option<PredictionJob<M>> {
        let runner = self.runner.take()?;
        let window = self.window.take();
        Some(PredictionJob {
            runner,
            window,
            pending,
            at: now,
            candidates: self.settings.candidates.clone(),
            current: self.rule.current(),
            objective: self.settings.objective,
        })
    }

    /// A change is under way at `now`: what completes says nothing about either scheduler.
    pub(crate) fn changing(&mut self, now: Nanos) -> Option<AutopilotOutput<M>> {
        self.begin_window(now);
        None
    }

    /// The simulations of a prediction failed.
    pub(crate) fn failed(&mut self, runner: TrialRunner<M>, at: Nanos) {
        self.runner = Some(runner);
        self.next_prediction = at + LATER;
    }

    /// No prediction can be made at `at`, as the model has not learned enough. Of a new load nothing is known then; it
    /// is tried.
    pub(crate) fn unpredicted(&mut self, runner: TrialRunner<M>, at: Nanos) -> Option<SchedulerCheck> {
        (self.runner, self.next_prediction) = (Some(runner), at + AT_FIRST);
        let LoadState::New(since) = self.state else { return None };
        let window = self.last?;
        let rates = self.rule.unknown(window.progress.value());
        self.rule.begin_load(window.signature, &rates, false);
        self.state = LoadState::Known(since, at);
        self.watch.restart(at);
        self.predicted = rates.iter().map(|rate| (-rate).exp()).collect();
        Some(self.check(ConfirmedStep { install: None, reason: ConfirmedReason::Settling }, at, None))
    }

    /// When requests are needed next; `None` for now.
    pub(crate) fn next_need(&self) -> Option<Nanos> {
        let is_watched = self.rule.is_on_trial() || self.asked.is_some() || self.rule.installed_for() < 5.0;
        match self.state {
            LoadState::Known(_, first) if !is_watched && self.next_prediction >= first + FIRST => {
                Some(self.next_prediction)
            }
            _ => None,
        }
    }

    /// Takes in a prediction.
    pub(crate) fn predicted(&mut self, prediction: Prediction<M>) -> Option<SchedulerCheck> {
        let Prediction { runner, mut window, at, trials, measured, current } = prediction;
        let mode = runner.mode();
        self.runner = Some(runner);
        let requests = window.count();
        window.clear();
        self.next_prediction = match self.state {
            LoadState::Known(_, first) if at >= first + FIRST => at + LATER,
            _ => at + AT_FIRST,
        };
        if trials.is_empty() || current != self.rule.current() {
            return None;
        }
        self.tried = requests;
        if mode == TrialMode::ShortReplay && self.unsettled < UNSETTLED {
            self.unsettled += 1;
            return None;
        }
        self.unsettled = 0;
        let (rates, is_open) = self.rates(&trials);
        let signature = self.last.map(|window| window.signature).unwrap_or_default();
        match self.state {
            LoadState::None => return None,
            LoadState::New(since) => {
                self.rule.begin_load(signature, &rates, is_open);
                self.told_budget = false;
                self.state = LoadState::Known(since, at);
                self.watch.restart(at);
            }
            LoadState::Known(since, _) => {
                if self.rule.predict_again(signature, &rates, is_open) {
                    self.state = LoadState::Known(since, at);
                }
            }
        }
        self.predicted = rates.iter().map(|rate| (-rate).exp()).collect();
        let step = ConfirmedStep { install: None, reason: ConfirmedReason::Best };
        let mut check = self.check(step, at, None);
        check.requests = requests;
        check.model_error_percent =
            measured.zip(trials.get(current)).filter(|(m, _)| *m > 0.0).map(|(m, t)| 100.0 * (t.cost / m - 1.0));
        Some(check)
    }

    /// The predicted ln rate of each candidate, and whether the load is open.
    fn rates(&self, trials: &[Trial]) -> (Vec<f64>, bool) {
        let of = |trial: &Trial| {
            let rates = trial.rates.iter().map(|(process, rate)| (self.watch.class(*process), *rate));
            ClassProgress::of_rates(rates, 1.0).value()
        };
        let rates: Vec<f64> = trials.iter().map(of).collect();
        let (low, high) = rates.iter().fold((f64::MAX, f64::MIN), |(low, high), &r| (low.min(r), high.max(r)));
        match self.settings.objective.is_progress() && high - low > OPEN {
            true => (rates, false),
            false => (trials.iter().map(|trial| -trial.cost.max(1e-12).ln()).collect(), true),
        }
    }

    /// A step as a check. Costs are seconds per request: what was predicted, and what is believed.
    fn check(&mut self, step: ConfirmedStep, now: Nanos, progress: Option<&ClassProgress>) -> SchedulerCheck {
        let from = self.rule.current();
        let to = step.install.unwrap_or(from);
        self.asked = step.install;
        let saved = |contrast: f64| 1.0 - (-contrast).exp();
        let reason = match step.reason {
            ConfirmedReason::NoLoad => DecisionReason::Idle,
            ConfirmedReason::Settling => DecisionReason::Settling,
            ConfirmedReason::Best => DecisionReason::Best,
            ConfirmedReason::Budget => DecisionReason::Budget,
            ConfirmedReason::Trial { contrast, seconds } => DecisionReason::Trial { gain: saved(contrast), seconds },
            ConfirmedReason::Adopted { contrast } => DecisionReason::Adopted { gain: saved(contrast) },
            ConfirmedReason::Aborted { contrast } => DecisionReason::Aborted { gain: saved(contrast) },
            ConfirmedReason::Retry { attempt } => DecisionReason::Retry { attempt },
            ConfirmedReason::Degraded { share } => DecisionReason::Degraded { times: 1.0 / share.max(1e-9) },
            ConfirmedReason::Predicted { contrast } => DecisionReason::Better { gain: saved(contrast) },
            ConfirmedReason::Home => DecisionReason::Home,
        };
        let believed = self.rule.believed().map(<[f64]>::to_vec).unwrap_or_default();
        let costs = self.predicted.iter().zip(&believed);
        let candidates = self.names.iter().zip(costs).map(|(name, (&cost, &rate))| CandidateCost {
            scheduler: name.clone(),
            cost,
            judged: (-rate).exp(),
        });
        let scheduler = self.names[from].clone();
        let decision = self.names[to].clone();
        let (promised, delivered) = match step.reason {
            ConfirmedReason::Adopted { contrast } | ConfirmedReason::Aborted { contrast } => {
                (self.rule.promised(), Some(contrast))
            }
            _ => (None, None),
        };
        SchedulerCheck {
            at_s: now.as_secs_f64(),
            requests: progress.map_or(self.tried, |progress| progress.requests() as u64),
            tried: self.tried,
            candidates: candidates.collect(),
            measured_cost: progress.map(|progress| (-progress.value()).exp()),
            model_error_percent: None,
            change_estimate_s: self.change.as_secs_f64(),
            predicted_gain_percent: promised.map(|contrast| 100.0 * saved(contrast)),
            measured_gain_percent: delivered.map(|contrast| 100.0 * saved(contrast)),
            why: explain(&reason, &scheduler, &decision, self.settings.objective, self.change),
            scheduler,
            decision,
            reason,
        }
    }
}
