//! [`search`]: successive halving. Many settings are tried on few requests, and those that are left on more.

use crate::settings::TunedSettings;
use crate::space::TuneSpace;
use crate::trial_pair::WHOLE;
use crate::trials::{Trials, TuneTrial};
use iopilot_sim::SimError;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};

/// The shares of a run on which the first population is tried, in sixteenths, and those of later ones.
const FIRST_RUNGS: &[u64] = &[1, 4, WHOLE];
const LATER_RUNGS: &[u64] = &[4, WHOLE];
/// One in so many is left after a rung.
const LEFT: usize = 4;
/// At least so many are left.
const LEAST_LEFT: usize = 4;
/// The share of the budget of the first population, in percent.
const FIRST_PERCENT: u64 = 50;
/// The share of the budget that is kept for making the best simpler, in percent.
const SLACK_PERCENT: u64 = 15;
/// The settings of a later population.
const LATER: usize = 24;
/// The settings from which a later population is made.
const ELITE: usize = 6;
/// A search ends after so many populations without a gain.
const PATIENCE: usize = 6;
/// A smaller difference in cost is no gain: 0.1 %.
const NO_GAIN: f64 = 0.001;
/// Changes are dropped as long as that costs less than this in all: 0.5 %.
const NEGLIGIBLE: f64 = 0.005;

/// From best to worst; of equals, the simplest first.
pub(crate) fn rank(trials: &mut [TuneTrial]) {
    trials.sort_by(|a, b| {
        let simple = |trial: &TuneTrial| (trial.settings.changes(), trial.settings.to_string());
        a.cost.total_cmp(&b.cost).then_with(|| simple(a).cmp(&simple(b)))
    });
}

/// The state of a search.
struct Search<'a, 'p> {
    trials: &'a Trials<'p>,
    space: &'a TuneSpace,
    /// No population begins after so many requests.
    end: u64,
    /// The requests that may go to making the best simpler, after the end.
    slack: u64,
    /// All that were tried on whole runs.
    whole: BTreeMap<String, TuneTrial>,
    /// All that were tried at all.
    seen: BTreeSet<String>,
}

/// What a search has found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The best settings, without changes that hardly matter.
    pub(crate) best: TunedSettings,
    /// All that were tried on whole runs, best first.
    pub(crate) ranked: Vec<TuneTrial>,
}

/// Searches `space` with about `budget` requests. A pure function of its arguments.
///
/// # Errors
/// As [`iopilot_sim::simulate`].
pub(crate) fn search(trials: &Trials<'_>, space: &TuneSpace, budget: u64, seed: u64) -> Result<Found, SimError> {
    let slack = budget * SLACK_PERCENT / 100;
    let end = trials.spent() + budget - slack;
    let mut search = Search { trials, space, end, slack, whole: BTreeMap::new(), seen: BTreeSet::new() };
    let first = (budget * FIRST_PERCENT / 100 / search.requests_of_each(FIRST_RUNGS)) as usize;
    let defaults = space.defaults();
    let singles = space.single_changes().into_iter().take(first.saturating_sub(defaults.len()));
    search.halve(defaults.into_iter().chain(singles).collect(), FIRST_RUNGS)?;
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut without_gain = 0;
    while without_gain < PATIENCE {
        let best = search.ranked().first().map_or(0.0, |trial| trial.cost);
        let room = end.saturating_sub(trials.spent()) / search.requests_of_each(LATER_RUNGS);
        let mut population = search.population(&mut rng);
        population.truncate(room as usize);
        if population.is_empty() || !search.halve(population, LATER_RUNGS)? {
            break;
        }
        let now = search.ranked().first().map_or(0.0, |trial| trial.cost);
        without_gain = if now < best - NO_GAIN { 0 } else { without_gain + 1 };
    }
    let best = search.simplified()?;
    Ok(Found { best, ranked: search.ranked() })
}

impl Search<'_, '_> {
    /// The requests that each of a population takes on these rungs.
    fn requests_of_each(&self, rungs: &[u64]) -> u64 {
        // Where runs have no parts, there is one rung.
        if self.trials.requests_of(1) == self.trials.requests_of(WHOLE) {
            return self.trials.requests_of(WHOLE).max(1);
        }
        let rungs = rungs.iter().zip(0..).map(|(&share, n)| self.trials.requests_of(share) / (LEFT as u64).pow(n));
        rungs.sum::<u64>().max(1)
    }

    fn ranked(&self) -> Vec<TuneTrial> {
        let mut ranked: Vec<TuneTrial> = self.whole.values().cloned().collect();
        rank(&mut ranked);
        ranked
    }

    /// Tries `population` on more and more requests; one in four is left after each rung. False if the budget has ended before.
    fn halve(&mut self, mut population: Vec<TunedSettings>, rungs: &[u64]) -> Result<bool, SimError> {
        let is_first = self.seen.is_empty();
        self.seen.extend(population.iter().map(ToString::to_string));
        for (n, &share) in rungs.iter().enumerate() {
            // Where runs have no parts, one rung is enough.
            let is_last = n + 1 == rungs.len() || self.trials.requests_of(share) == self.trials.requests_of(WHOLE);
            let share = if is_last { WHOLE } else { share };
            if is_last {
                let room = self.end.saturating_sub(self.trials.spent()) / self.trials.requests_of(WHOLE).max(1);
                // The defaults come first in the first population, and are always tried.
                let least = if is_first { self.space.defaults().len() } else { 0 };
                population.truncate((room as usize).max(least));
            }
            if population.is_empty() {
                return Ok(false);
            }
            let mut trials = self.trials.of(&population, share)?;
            if is_last {
                self.whole.extend(trials.into_iter().map(|trial| (trial.settings.to_string(), trial)));
                return Ok(self.trials.spent() < self.end);
            }
            rank(&mut trials);
            population = left(&trials);
        }
        Ok(true)
    }

    /// New settings, made of the best so far: what two of one scheduler change, and one more change of one.
    fn population(&self, rng: &mut Pcg64Mcg) -> Vec<TunedSettings> {
        let ranked = self.ranked();
        let elite: Vec<&TunedSettings> =
            left_of_each(&ranked, ELITE).into_iter().map(|trial| &trial.settings).collect();
        let mut population: Vec<TunedSettings> = Vec::new();
        let mut add = |settings: TunedSettings| {
            let name = settings.to_string();
            if population.len() < LATER && !self.seen.contains(&name) && !population.contains(&settings) {
                population.push(settings);
            }
        };
        let Some(best) = elite.first() else { return population };
        let alike = |a: &TunedSettings, b: &TunedSettings| a.scheduler.name == b.scheduler.name;
        let others = ranked.iter().map(|trial| &trial.settings).filter(|other| alike(best, other));
        others.take(LATER / 2).for_each(|other| add(other.merged(best)));
        for _ in 0..8 * LATER {
            let start = elite[rng.random_range(0..elite.len())];
            let changes = self.space.changes_of(start);
            if changes.is_empty() {
                continue;
            }
            let changed = &changes[rng.random_range(0..changes.len())];
            let other = elite[rng.random_range(0..elite.len())];
            add(if rng.random_bool(0.5) && alike(changed, other) { changed.merged(other) } else { changed.clone() });
        }
        population
    }

    /// The best without changes that hardly matter, which are dropped one after the other.
    fn simplified(&mut self) -> Result<TunedSettings, SimError> {
        let Some(best) = self.ranked().into_iter().next() else { return Ok(self.trials.defaults.clone()) };
        let mut present = best.settings;
        loop {
            let less = present.with_less();
            let is_new = |settings: &&TunedSettings| !self.whole.contains_key(&settings.to_string());
            let new: Vec<TunedSettings> = less.iter().filter(is_new).cloned().collect();
            if self.trials.spent() + new.len() as u64 * self.trials.requests_of(WHOLE) > self.end + self.slack {
                return Ok(present);
            }
            let tried = self.trials.of(&new, WHOLE)?;
            self.whole.extend(tried.into_iter().map(|trial| (trial.settings.to_string(), trial)));
            let mut tried: Vec<TuneTrial> =
                less.iter().filter_map(|settings| self.whole.get(&settings.to_string()).cloned()).collect();
            rank(&mut tried);
            match tried.into_iter().next().filter(|trial| trial.cost <= best.cost + NEGLIGIBLE) {
                Some(simpler) => present = simpler.settings,
                None => return Ok(present),
            }
        }
    }
}

/// The best quarter of `trials`, which are ranked, and the best of each scheduler.
fn left(trials: &[TuneTrial]) -> Vec<TunedSettings> {
    let most = trials.len().div_ceil(LEFT).max(LEAST_LEFT);
    left_of_each(trials, most).into_iter().map(|trial| trial.settings.clone()).collect()
}

/// The first `most` of `trials`, which are ranked, and the first of each scheduler.
fn left_of_each(trials: &[TuneTrial], most: usize) -> Vec<&TuneTrial> {
    let mut schedulers = BTreeSet::new();
    let mut keep = |(n, trial): &(usize, &TuneTrial)| schedulers.insert(trial.settings.scheduler.name) || *n < most;
    trials.iter().enumerate().filter(|item| keep(item)).map(|(_, trial)| trial).collect()
}
