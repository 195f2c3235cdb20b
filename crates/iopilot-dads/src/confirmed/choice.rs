//! Which candidate [`ConfirmedRule`] tries next, and for how long.

use super::belief::expected_gain;
use super::installation::NOISE;
use super::rule::{
    ConfirmedReason, ConfirmedRule, ConfirmedStep, DOUBTS, DiskTrial, LEAST_GAIN, LEAVING, MARGIN, REST, TWO_CHANGES,
    stay,
};
use super::settling::AGES;

/// How long the candidate in use is watched before the first trial of a load, in seconds. What a window shows in which a
/// load begins depends on the load before.
const FIRST_LOOK: f64 = 0.9;
/// With this contrast (ln rate) there is no need to look: twice as fast.
const OBVIOUS: f64 = 0.7;

/// The shortest time between two changes that only predictions ask for, in seconds.
const BY_PREDICTION: f64 = 5.0;

/// A trial that may be worth it.
#[derive(Clone, Copy, Debug)]
struct Proposal {
    which: usize,
    seconds: f64,
    contrast: f64,
    cost: f64,
    /// The net gain for each second of the trial.
    worth: f64,
}

impl ConfirmedRule {
    /// Begins the trial that is worth most, if one is.
    pub(super) fn choose(&mut self) -> ConfirmedStep {
        let Some(load) = &mut self.load else { return stay(ConfirmedReason::NoLoad) };
        if self.installation.age < REST || load.age < load.next_choice {
            return stay(ConfirmedReason::Settling);
        }
        let (age, next) = (load.age, load.age + (load.age / 20.0).max(0.5));
        let Some(best) = self.proposals().reduce(|best, other| if other.worth > best.worth { other } else { best })
        else {
            self.choose_later(next);
            return stay(ConfirmedReason::Best);
        };
        if age < FIRST_LOOK && best.contrast < OBVIOUS {
            return stay(ConfirmedReason::Settling);
        }
        self.choose_later(next);
        if !self.budget.allows(best.seconds, best.cost, best.contrast) {
            return stay(ConfirmedReason::Budget);
        }
        let Some(load) = &self.load else { return stay(ConfirmedReason::NoLoad) };
        let c = self.current;
        self.promised = Some(best.contrast);
        self.trial = Some(DiskTrial {
            before: c,
            level: load.belief.mean()[c],
            contrast: best.contrast,
            variance: load.belief.variance(best.which, c),
            belief: load.belief.clone(),
            elapsed: 0.0,
            done: 0.0,
            attempts: 1,
        });
        let reason = ConfirmedReason::Trial { contrast: best.contrast, seconds: best.seconds };
        ConfirmedStep { install: Some(best.which), reason }
    }

    fn choose_later(&mut self, age: f64) {
        if let Some(load) = &mut self.load {
            load.next_choice = age;
        }
    }

    /// All trials that are expected to pay.
    fn proposals(&self) -> impl Iterator<Item = Proposal> + '_ {
        let c = self.current;
        let all = 0..self.traits.len();
        all.filter(move |&j| j != c && self.may_act(j)).flat_map(move |j| self.proposals_of(j))
    }

    fn proposals_of(&self, j: usize) -> Vec<Proposal> {
        let Some(load) = &self.load else { return Vec::new() };
        if load.age < load.barred_until[j] {
            return Vec::new();
        }
        let c = self.current;
        let is_sequential = load.signature.is_sequential();
        let ages = if is_sequential { &AGES[..] } else { &AGES[..3] };
        let (contrast, variance) = (load.belief.contrast(j, c), load.belief.variance(j, c));
        let likely = if self.is_fickle(j) { load.holds[j] * self.odds.share() } else { 1.0 };
        let least = MARGIN + self.bonus(c) - self.bonus(j);
        let leaving = if self.is_fickle(c) { LEAVING } else { 0.0 };
        let lasts = self.lasts();
        let propose = |&seconds: &f64| {
            let off = self.traits[j].settling.deviation(seconds, is_sequential);
            let requests = (self.rate * contrast.min(1.0).exp() * seconds / 2.0).max(1.0);
            let seen = variance / (variance + NOISE / requests + off * off).sqrt();
            let gain = likely * expected_gain(contrast - least, seen);
            let cost = seconds * (1.0 - contrast.exp()).max(0.0) + TWO_CHANGES + leaving;
            let net = gain * (lasts - seconds).max(0.0) - cost;
            let worth = net / seconds;
            (gain >= LEAST_GAIN && net > 0.0).then_some(Proposal { which: j, seconds, contrast, cost, worth })
        };
        ages.iter().filter_map(propose).collect()
    }

    /// Without trials: the candidate that is predicted to be better by the margin.
    pub(super) fn choose_by_prediction(&mut self) -> ConfirmedStep {
        let Some(load) = &self.load else { return stay(ConfirmedReason::NoLoad) };
        if load.age < load.next_choice {
            return stay(ConfirmedReason::Settling);
        }
        if load.doubts >= DOUBTS {
            // The disk is not like the model.
            return stay(ConfirmedReason::Best);
        }
        let c = self.current;
        let contrast = |j: usize| load.latest[j] - load.latest[c];
        let all = (0..self.traits.len()).filter(|&j| self.may_act(j) && load.age >= load.barred_until[j]);
        let best = all.max_by(|&a, &b| contrast(a).total_cmp(&contrast(b)));
        let better = best.filter(|&j| j != c && contrast(j) > MARGIN + self.bonus(c) - self.bonus(j));
        let Some(j) = better else { return stay(ConfirmedReason::Best) };
        let contrast = contrast(j);
        if let Some(load) = &mut self.load {
            load.next_choice = load.age + BY_PREDICTION;
        }
        ConfirmedStep { install: Some(j), reason: ConfirmedReason::Predicted { contrast } }
    }
}
