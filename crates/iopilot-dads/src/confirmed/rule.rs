//! [`ConfirmedRule`]: simulation proposes, short trials on the disk confirm, watching goes on.

use super::belief::RateBelief;
use super::experience::Experience;
use super::installation::Installation;
use super::memory::LoadMemory;
use super::progress::ClassProgress;
use super::settling::CandidateTraits;
use super::signature::LoadSignature;
use super::trust::{InstallOdds, PredictionError, TrialBudget};
use std::collections::VecDeque;

/// How much better another candidate must be to be worth leaving the one in use (ln rate).
pub(super) const MARGIN: f64 = 0.05;
/// The least expected gain of a trial.
pub(super) const LEAST_GAIN: f64 = 0.02;
/// What two changes cost, in seconds of work.
pub(super) const TWO_CHANGES: f64 = 0.04;
/// What leaving a candidate that needs an early start costs on a sequential load: it may not work when it comes back.
pub(super) const LEAVING: f64 = 1.0;
/// How much better the home candidate counts in comparisons: near-equals are not worth leaving it.
const HOME: f64 = 0.05;
/// An installation is left alone for this long, in seconds.
pub(super) const REST: f64 = 1.0;
/// A load is expected to last as long as it has lasted, within these bounds in seconds.
const LASTS: (f64, f64) = (5.0, 120.0);
/// A trial that has lost this many seconds of work ends.
pub(super) const MOST_LOST: f64 = 2.0;
/// A new prediction that moves a contrast by more than this (ln rate) is of another load.
const OTHER_LOAD: f64 = 0.4;
/// So many predictions in a row must say so: a short window may show a part of the processes only.
const CONTRADICTIONS: u32 = 2;
/// If the candidate in use does better than predicted by more than this (ln rate), the prediction is doubted…
const DOUBTED: f64 = 0.5;
/// …so many times for a load; then its error counts as that large.
pub(super) const DOUBTS: u32 = 3;
/// How sure a prediction is that a candidate is better at all, where it needs an early start.
const PREDICTION_HOLDS: f64 = 0.9;
/// Only with this predicted contrast is an installation that needs an early start repeated.
pub(super) const WORTH_REPEATING: f64 = 0.2;
pub(super) const MOST_ATTEMPTS: u32 = 8;
/// A candidate that failed once is barred for this long, in seconds; three times as long with each further failure.
pub(super) const BARRED: f64 = 5.0;
/// After failed installations a candidate is barred for this long, in seconds.
pub(super) const BARRED_SHORTLY: f64 = 2.0;
/// A rate below this share of its best says that a scheduler has degraded.
pub(super) const DEGRADED: f64 = 0.5;
/// The windows over which a degraded scheduler is seen: 4 s.
pub(super) const RENEWAL_WINDOWS: usize = 8;
pub(super) const RENEWAL_S: f64 = 4.0;
/// How much slower a candidate that may not be home is on most loads (ln rate).
const SLOWER: f64 = 0.5;

/// Why the rule wants what it wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ConfirmedReason {
    /// No load, or none that is known yet.
    NoLoad,
    /// The installation is young, or a trial goes on.
    Settling,
    /// No trial would pay.
    Best,
    /// A trial would pay, but the budget is spent.
    Budget,
    /// The candidate gets a trial: the expected contrast (ln rate), and for how many seconds at first.
    Trial { contrast: f64, seconds: f64 },
    /// The candidate on trial is kept: how much better it is (ln rate).
    Adopted { contrast: f64 },
    /// The candidate on trial is not better: by how much it was off the one before (ln rate).
    Aborted { contrast: f64 },
    /// The installation did not work, and is repeated.
    Retry { attempt: u32 },
    /// The scheduler in use has degraded, to this share of what it did.
    Degraded { share: f64 },
    /// Trials are not allowed: it is predicted to be better, by this (ln rate).
    Predicted { contrast: f64 },
    /// Nothing is in flight: the candidate that suits all loads is put in place.
    Home,
}

/// What the rule wants: a candidate to be installed, or nothing; and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConfirmedStep {
    /// The candidate to install; the one in use is to be reinstalled.
    pub(crate) install: Option<usize>,
    pub(crate) reason: ConfirmedReason,
}

pub(super) const fn stay(reason: ConfirmedReason) -> ConfirmedStep {
    ConfirmedStep { install: None, reason }
}

/// The state of the present load.
#[derive(Clone, Debug)]
pub(super) struct PresentLoad {
    pub(super) signature: LoadSignature,
    /// The ln rates that it began with.
    pub(super) prediction: Vec<f64>,
    /// The mean of the latest predictions.
    pub(super) latest: Vec<f64>,
    pub(super) is_open: bool,
    /// Whether the prediction is doubted: nothing is tried until there is another.
    pub(super) is_doubted: bool,
    pub(super) doubts: u32,
    /// What was measured when it was doubted (ln rate).
    pub(super) level: f64,
    /// Predictions in a row that were of another load.
    pub(super) contradictions: u32,
    pub(super) belief: RateBelief,
    /// In seconds.
    pub(super) age: f64,
    pub(super) next_choice: f64,
    /// When each candidate may be tried again, on this load's clock.
    pub(super) barred_until: Vec<f64>,
    pub(super) failures: Vec<u32>,
    /// How sure it is that the prediction of each candidate that needs an early start holds.
    pub(super) holds: Vec<f64>,
    /// Whether it was checked that the candidate in use works as predicted.
    pub(super) is_checked: bool,
    /// The last windows, and the best of them, of a candidate that needs an early start.
    pub(super) recent: VecDeque<ClassProgress>,
    pub(super) peak: f64,
    pub(super) renewals: i32,
    pub(super) next_renewal: f64,
}

/// A trial on the disk.
#[derive(Clone, Debug)]
pub(super) struct DiskTrial {
    /// The candidate before.
    pub(super) before: usize,
    /// Its expected ln rate then.
    pub(super) level: f64,
    /// The expected contrast then, and its variance.
    pub(super) contrast: f64,
    pub(super) variance: f64,
    pub(super) belief: RateBelief,
    /// Seconds since the installation was asked for, and the work done since, in units of the level.
    pub(super) elapsed: f64,
    pub(super) done: f64,
    pub(super) attempts: u32,
}

/// The rule: a pure state machine for one disk. It sees what the classes of processes get done in windows of half a
/// second, and predictions; it asks for installations.
///
/// It keeps a belief of how fast each candidate would serve the present load. The belief begins with a prediction by
/// simulation, and what the candidates do on the disk corrects it. A trial on the disk is made where it is expected to
/// pay: the gain over the time that the load is expected to last, against the work that is lost.
#[derive(Clone, Debug)]
pub(crate) struct ConfirmedRule {
    pub(super) traits: Vec<CandidateTraits>,
    pub(super) current: usize,
    pub(super) error: PredictionError,
    pub(super) odds: InstallOdds,
    pub(super) budget: TrialBudget,
    pub(super) memory: LoadMemory,
    pub(super) home: Option<usize>,
    /// The home candidate until a load is known: the one in use at the start.
    pub(super) first: usize,
    /// Whether the candidate in use was put in place while a load was on.
    pub(super) under_load: bool,
    /// Whether it was put in place during the present load.
    pub(super) during_load: bool,
    pub(super) installation: Installation,
    pub(super) load: Option<PresentLoad>,
    pub(super) trial: Option<DiskTrial>,
    pub(super) excluded: Vec<bool>,
    /// Seconds until the next action, after somebody else's change.
    pub(super) hands_off: f64,
    /// Requests a second, roughly.
    pub(super) rate: f64,
    pub(super) trials_allowed: bool,
    pub(super) busy_enough: bool,
    pub(super) promised: Option<f64>,
}

impl ConfirmedRule {
    /// A rule for candidates with these traits, the `current` one in use. Predictions have an error of this standard
    /// deviation (ln rate) at first. Without `trials` it keeps to predictions.
    pub(crate) fn new(traits: Vec<CandidateTraits>, current: usize, deviation: f64, trials: bool) -> Self {
        let n = traits.len();
        Self {
            traits,
            current,
            error: PredictionError::new(deviation),
            odds: InstallOdds::default(),
            budget: TrialBudget::default(),
            memory: LoadMemory::default(),
            home: Some(current),
            first: current,
            under_load: false,
            during_load: false,
            installation: Installation::settled(0.0),
            load: None,
            trial: None,
            excluded: vec![false; n],
            hands_off: 0.0,
            rate: 1.0,
            trials_allowed: trials,
            busy_enough: true,
            promised: None,
        }
    }

    /// What it has learned.
    pub(crate) fn experience(&self) -> Experience {
        let mut loads = self.memory.clone();
        if let Some(load) = self.load.as_ref().filter(|load| !load.is_open) {
            loads.keep(&load.signature, &load.belief, self.current, load.age);
        }
        Experience { error: self.error, odds: self.odds, loads }
    }

    /// Begins with what an earlier rule has learned.
    pub(crate) fn recall(&mut self, experience: Experience) {
        (self.error, self.odds, self.memory) = (experience.error, experience.odds, experience.loads);
    }

    /// The candidate in use.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Whether a candidate is on trial.
    pub(crate) fn is_on_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// How long the candidate in use has been in place, in seconds.
    pub(crate) fn installed_for(&self) -> f64 {
        self.installation.age
    }

    /// The expected ln rates of the present load.
    pub(crate) fn believed(&self) -> Option<&[f64]> {
        self.load.as_ref().map(|load| load.belief.mean())
    }

    /// The kind of the present load.
    pub(crate) fn signature(&self) -> Option<LoadSignature> {
        self.load.as_ref().map(|load| load.signature)
    }

    /// The contrast (ln rate) that was expected of the last trial.
    pub(crate) fn promised(&self) -> Option<f64> {
        self.promised
    }

    /// Whether the disk is busy enough for trials to show something. A trial under way goes on.
    pub(crate) fn allow_trials(&mut self, busy_enough: bool) {
        self.busy_enough = busy_enough;
    }

    /// The load seems to be another: a trial under way is void, and its candidate stays until the new load is known.
    pub(crate) fn pause_trial(&mut self) {
        self.trial = None;
    }

    /// Never chooses `which` again.
    pub(crate) fn exclude(&mut self, which: usize) {
        self.excluded[which] = true;
    }

    /// What is expected of candidates of which nothing is known, where the one in use has the ln rate `y`.
    pub(crate) fn unknown(&self, y: f64) -> Vec<f64> {
        self.traits.iter().map(|traits| if traits.may_be_home { y } else { y - SLOWER }).collect()
    }

    /// Begins a load, for which simulation predicts these ln rates. If it `is_open`, its requests come when they come:
    /// only predictions of waits tell candidates apart.
    pub(crate) fn begin_load(&mut self, signature: LoadSignature, prediction: &[f64], is_open: bool) {
        self.remember();
        self.home = self.memory.home(&self.traits).or(Some(self.first));
        // A load whose prediction was doubted begins anew with another prediction.
        let doubted = self.load.as_ref().filter(|load| load.is_doubted).map(|load| (load.doubts, load.level));
        let doubts = doubted.map_or(0, |(doubts, _)| doubts);
        let mut deviation = self.error.deviation();
        let mut prediction = prediction.to_vec();
        if let Some((DOUBTS.., level)) = doubted {
            // The model is of another disk: half of the differences that it predicts is believed.
            let of_current = prediction[self.current];
            prediction.iter_mut().for_each(|rate| *rate = level + (*rate - of_current) / 2.0);
            deviation = deviation.max(DOUBTED);
        }
        let (rates, deviations) = self.memory.combined(&signature, &prediction, deviation);
        let n = self.traits.len();
        self.load = Some(PresentLoad {
            signature,
            latest: prediction.clone(),
            prediction,
            is_open,
            is_doubted: false,
            level: 0.0,
            doubts,
            contradictions: 0,
            belief: RateBelief::new(&rates, &deviations),
            age: 0.0,
            next_choice: 0.0,
            barred_until: vec![0.0; n],
            failures: vec![0; n],
            holds: vec![PREDICTION_HOLDS; n],
            is_checked: false,
            recent: VecDeque::new(),
            peak: 0.0,
            renewals: 0,
            next_renewal: 0.0,
        });
        self.trial = None;
        self.during_load = false;
        self.installation = Installation::settled(self.installation.age);
    }

    /// Takes in another prediction for the present load. Returns whether it is certainly of another load: then the belief
    /// begins anew with it.
    pub(crate) fn predict_again(&mut self, signature: LoadSignature, prediction: &[f64], is_open: bool) -> bool {
        let Some(load) = &mut self.load else { return false };
        if load.is_open && is_open {
            load.latest.iter_mut().zip(prediction).for_each(|(latest, new)| *latest = (*latest + new) / 2.0);
            return false;
        }
        let c = self.current;
        let moved =
            |i: usize| ((prediction[i] - prediction[c]) - (load.prediction[i] - load.prediction[c])).abs() > OTHER_LOAD;
        let is_other = load.is_open != is_open || (0..prediction.len()).any(moved);
        if load.is_doubted {
            self.begin_load(signature, prediction, is_open);
            return true;
        }
        load.contradictions = if is_other { load.contradictions + 1 } else { 0 };
        let is_certain = load.contradictions >= CONTRADICTIONS;
        if is_certain {
            self.begin_load(signature, prediction, is_open);
        }
        is_certain
    }

    /// The load has ended: nothing is in flight. The home candidate is put in place before the next one.
    pub(crate) fn idle(&mut self) -> ConfirmedStep {
        self.remember();
        (self.load, self.trial) = (None, None);
        self.installation = Installation::settled(self.installation.age);
        self.home = self.memory.home(&self.traits).or(Some(self.first));
        let again = |home: usize| self.under_load && self.traits[home].needs_early_start;
        match self.home.filter(|&home| self.may_act(home) && (home != self.current || again(home))) {
            Some(home) => ConfirmedStep { install: Some(home), reason: ConfirmedReason::Home },
            None => stay(ConfirmedReason::NoLoad),
        }
    }

    /// The installation that was asked for took `seconds`. `under_load` says whether requests were in flight.
    pub(crate) fn installed(&mut self, which: usize, seconds: f64, under_load: bool) {
        self.pass(seconds);
        if let Some(trial) = &mut self.trial {
            trial.elapsed += seconds;
        }
        (self.current, self.under_load, self.during_load) = (which, under_load, self.load.is_some());
        self.installation = if under_load { Installation::default() } else { Installation::settled(0.0) };
    }

    /// The installation of `which` did not happen; the candidate before is still in use.
    pub(crate) fn refused(&mut self, which: usize) {
        self.trial = None;
        if let Some(load) = &mut self.load {
            load.failures[which] += 1;
            load.barred_until[which] = load.age + BARRED;
        }
        self.installation = Installation::settled(self.installation.age);
    }

    /// Somebody else put `which` in place. Nothing is changed for `seconds`.
    pub(crate) fn adopt(&mut self, which: usize, seconds: f64) {
        (self.current, self.trial, self.hands_off) = (which, None, seconds);
        self.installation = if self.load.is_some() { Installation::default() } else { Installation::settled(0.0) };
    }

    /// Takes in a window of the present load, and says what to do.
    pub(crate) fn window(&mut self, window: &ClassProgress) -> ConfirmedStep {
        let seconds = window.seconds;
        self.pass(seconds);
        self.installation.age += seconds;
        self.hands_off = (self.hands_off - seconds).max(0.0);
        self.rate = window.requests() / seconds.max(1e-3);
        let Some(load) = &mut self.load else { return stay(ConfirmedReason::NoLoad) };
        if load.is_open {
            // Rates follow the arrivals, whatever the scheduler.
            return self.choose_by_prediction();
        }
        let (c, is_sequential) = (self.current, load.signature.is_sequential());
        let settling = self.traits[c].settling;
        let deviation = |age: f64| settling.deviation(age, is_sequential);
        let y = self.installation.observe(window, c, &mut load.belief, deviation);
        if let Some(trial) = &mut self.trial {
            trial.elapsed += seconds;
            trial.done += seconds * (window.value() - trial.level).exp();
        }
        let may_doubt = self.trial.is_none() && !load.is_doubted;
        if may_doubt && load.doubts < DOUBTS && y - load.prediction[c] > DOUBTED {
            (load.is_doubted, load.doubts, load.level) = (true, load.doubts + 1, y);
        }
        if load.is_doubted {
            return stay(ConfirmedReason::Settling);
        }
        let by_prediction = !self.trials_allowed || !self.busy_enough;
        if self.trial.is_none() && by_prediction {
            return self.choose_by_prediction();
        }
        if let Some(step) = self.renewed(window).or_else(|| self.checked(y)) {
            return step;
        }
        match self.trial.take() {
            Some(trial) => self.judge(trial, window, y),
            None => self.choose(),
        }
    }

    fn pass(&mut self, seconds: f64) {
        self.budget.pass(seconds);
        if let Some(load) = &mut self.load {
            load.age += seconds;
            load.belief.drift(seconds);
        }
    }

    fn remember(&mut self) {
        if let Some(load) = self.load.as_ref().filter(|load| !load.is_open) {
            self.memory.keep(&load.signature, &load.belief, self.current, load.age);
        }
    }

    pub(super) fn may_act(&self, which: usize) -> bool {
        self.hands_off <= 0.0 && !self.excluded[which]
    }

    pub(super) fn bonus(&self, which: usize) -> f64 {
        if self.home == Some(which) { HOME } else { 0.0 }
    }

    /// Whether candidate `which` may have to be installed several times on the present load.
    pub(super) fn is_fickle(&self, which: usize) -> bool {
        self.traits[which].needs_early_start && self.load.as_ref().is_some_and(|load| load.signature.is_sequential())
    }

    /// How much longer the present load is expected to last, in seconds.
    pub(super) fn lasts(&self) -> f64 {
        self.load.as_ref().map_or(LASTS.0, |load| load.age.clamp(LASTS.0, LASTS.1))
    }
}
