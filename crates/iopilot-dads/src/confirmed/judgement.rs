//! How [`ConfirmedRule`] judges a candidate on trial, and the one in use.

use super::belief::{RateBelief, expected_gain};
use super::installation::NOISE;
use super::progress::ClassProgress;
use super::rule::{
    BARRED, BARRED_SHORTLY, ConfirmedReason, ConfirmedRule, ConfirmedStep, DEGRADED, DiskTrial, MOST_ATTEMPTS,
    MOST_LOST, RENEWAL_S, RENEWAL_WINDOWS, TWO_CHANGES, WORTH_REPEATING, stay,
};

/// How a trial ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TrialEnd {
    Adopt,
    Back,
    /// The installation did not work.
    Fail,
}

/// How many standard deviations of its contrast a candidate must be better by to be adopted early.
const CLEARLY: f64 = 2.0;
/// An installation that needs an early start is judged at this age, in seconds.
const VERDICT: f64 = 1.0;
/// A prediction is checked by trials of at least this age, in seconds.
const TELLING: f64 = 0.9;

impl ConfirmedRule {
    /// Judges the candidate on trial after another window, whose observed progress is `y`.
    pub(super) fn judge(&mut self, trial: DiskTrial, window: &ClassProgress, y: f64) -> ConfirmedStep {
        let lost = trial.elapsed - trial.done;
        match self.end_of(&trial, window, y, lost) {
            None => {
                self.trial = Some(trial);
                stay(ConfirmedReason::Settling)
            }
            Some(end) => self.end(trial, end, window, lost),
        }
    }

    fn end_of(&self, trial: &DiskTrial, window: &ClassProgress, y: f64, lost: f64) -> Option<TrialEnd> {
        let load = self.load.as_ref()?;
        let (c, b, age) = (self.current, trial.before, self.installation.age);
        let is_sequential = load.signature.is_sequential();
        let contrast = load.belief.contrast(c, b) + self.bonus(c) - self.bonus(b);
        let variance = load.belief.variance(c, b);
        let short = trial.contrast / 2.0;
        let falls_short = y - trial.level < short && y - load.prediction[c] < -short;
        if self.is_fickle(c) && trial.contrast > WORTH_REPEATING && falls_short {
            return (age >= VERDICT - 0.01).then_some(TrialEnd::Fail);
        }
        let whole = if is_sequential { 3.99 } else { 1.99 };
        let is_clear = contrast > 0.0 && contrast > CLEARLY * variance.sqrt() && y - trial.level > contrast / 2.0;
        if age >= whole || is_clear {
            return Some(if contrast > 0.0 { TrialEnd::Adopt } else { TrialEnd::Back });
        }
        if contrast >= 0.0 {
            return None;
        }
        // Whether it pays to see how it does at twice its age.
        let next = (2.0 * age).min(4.0);
        let off = self.traits[c].settling.deviation(next, is_sequential);
        let error = NOISE / (window.requests() * next).max(1.0) + off * off;
        let gain = expected_gain(contrast, variance / (variance + error).sqrt()) * self.lasts();
        let cost = (next - age) * (1.0 - contrast.exp());
        (gain < cost || lost > MOST_LOST).then_some(TrialEnd::Back)
    }

    fn end(&mut self, trial: DiskTrial, end: TrialEnd, window: &ClassProgress, lost: f64) -> ConfirmedStep {
        let (c, b, age) = (self.current, trial.before, self.installation.age);
        let is_fickle = self.is_fickle(c) && trial.contrast > WORTH_REPEATING;
        let lasts = self.lasts();
        let share = self.odds.share();
        self.budget.charge(trial.elapsed, lost, end == TrialEnd::Adopt);
        let Some(load) = &mut self.load else { return stay(ConfirmedReason::NoLoad) };
        let contrast = load.belief.contrast(c, b);
        if age >= TELLING && end != TrialEnd::Fail {
            self.error.checked(contrast - trial.contrast);
        }
        if is_fickle {
            self.odds.tried(end == TrialEnd::Adopt);
        }
        if end == TrialEnd::Adopt {
            load.next_choice = load.age;
            return stay(ConfirmedReason::Adopted { contrast });
        }
        load.failures[c] += 1;
        load.next_choice = load.age;
        if end == TrialEnd::Fail {
            load.belief = trial.belief.clone();
            let holds = load.holds[c];
            load.holds[c] = holds * (1.0 - share) / (holds * (1.0 - share) + 1.0 - holds);
            let short = (1.0 - (window.value() - trial.level).exp()).clamp(0.0, 1.0);
            let gain = load.holds[c] * share * expected_gain(trial.contrast, trial.variance.sqrt()) * (lasts - 0.5);
            let pays = gain > 0.5 * short + TWO_CHANGES && self.budget.credit() > -2.0;
            if trial.attempts < MOST_ATTEMPTS && pays {
                let attempts = trial.attempts + 1;
                self.trial = Some(DiskTrial { elapsed: 0.0, done: 0.0, attempts, ..trial });
                return ConfirmedStep { install: Some(c), reason: ConfirmedReason::Retry { attempt: attempts } };
            }
        }
        let barred = match end {
            TrialEnd::Fail => BARRED_SHORTLY * 1.2f64.powi((load.failures[c] / trial.attempts) as i32),
            _ => BARRED * 3f64.powi(load.failures[c].min(12) as i32 - 1),
        };
        load.barred_until[c] = load.age + barred;
        ConfirmedStep { install: Some(b), reason: ConfirmedReason::Aborted { contrast } }
    }

    /// Reinstalls a candidate that was put in place under this load and has fallen below half of what it did.
    pub(super) fn renewed(&mut self, window: &ClassProgress) -> Option<ConfirmedStep> {
        let c = self.current;
        let watched = self.trial.is_none() && self.is_fickle(c) && self.during_load && self.may_act(c);
        let is_old_enough = self.installation.age > 1.0;
        let load = self.load.as_mut().filter(|load| watched && is_old_enough && load.age > 1.0)?;
        load.recent.push_back(*window);
        if load.recent.len() > RENEWAL_WINDOWS {
            load.recent.pop_front();
        }
        let mut sum = ClassProgress::default();
        load.recent.iter().for_each(|window| sum.add(window));
        let now = sum.value().exp();
        if load.recent.len() < RENEWAL_WINDOWS {
            return None;
        }
        load.peak = load.peak.max(now);
        if now >= DEGRADED * load.peak || load.age < load.next_renewal {
            return None;
        }
        load.renewals += 1;
        load.next_renewal = load.age + RENEWAL_S * 2f64.powi(load.renewals.min(10));
        load.recent.clear();
        load.belief.raise(c, load.peak.ln() - 0.3, 0.25);
        let share = now / load.peak;
        Some(ConfirmedStep { install: Some(c), reason: ConfirmedReason::Degraded { share } })
    }

    /// Checks, once a load has begun, whether a candidate that was put in place under an earlier load does what was
    /// predicted. If it does not, its installation is repeated, as after a failed trial.
    pub(super) fn checked(&mut self, y: f64) -> Option<ConfirmedStep> {
        let c = self.current;
        let is_watched = self.trial.is_none() && self.is_fickle(c) && self.under_load && self.may_act(c);
        let (share, deviation) = (self.odds.share(), self.error.deviation());
        let load = self.load.as_mut().filter(|load| is_watched && !load.is_checked && load.age >= 0.5)?;
        load.is_checked = true;
        let others = (0..load.prediction.len()).filter(|&i| i != c);
        let next = others.max_by(|&a, &b| load.prediction[a].total_cmp(&load.prediction[b]))?;
        let contrast = load.prediction[c] - load.prediction[next];
        if y - load.prediction[c] >= DEGRADED.ln() || contrast <= WORTH_REPEATING {
            return None;
        }
        // The others give at least what is measured now.
        let level = load.prediction[next].min(y);
        let mut belief = RateBelief::new(&load.prediction, &vec![deviation; load.prediction.len()]);
        belief.observe(next, level, 0.04);
        load.belief = belief.clone();
        load.holds[c] = load.holds[c] * (1.0 - share) / (load.holds[c] * (1.0 - share) + 1.0 - load.holds[c]);
        let variance = 2.0 * deviation * deviation;
        self.promised = Some(contrast);
        self.trial =
            Some(DiskTrial { before: next, level, contrast, variance, belief, elapsed: 0.0, done: 0.0, attempts: 1 });
        Some(ConfirmedStep { install: Some(c), reason: ConfirmedReason::Retry { attempt: 1 } })
    }
}
