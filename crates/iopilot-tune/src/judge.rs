//! [`Finals`]: the finalists on every load, over several replays, as `iopilot compare` runs them.

use crate::settings::TunedSettings;
use crate::trial_pair::{TrialPair, log_cost};
use crate::trials::{Trials, TuneTrial};
use iopilot_compare::{Measure, replayed};
use iopilot_redcap::RedcapSpec;
use iopilot_sim::{RunOptions, RunReport, SimError};

/// Differences up to this do not count: 0.5 %.
const TIE: f64 = 0.005;
/// The most rows that are added for the front.
const FRONT: usize = 5;

/// Settings, with or without a cache above the queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finalist {
    pub(crate) settings: TunedSettings,
    pub(crate) redcap: Option<RedcapSpec>,
}

impl From<TunedSettings> for Finalist {
    fn from(settings: TunedSettings) -> Self {
        Self { settings, redcap: None }
    }
}

/// The finalists with their runs.
pub(crate) struct Finals {
    pub(crate) finalists: Vec<Finalist>,
    /// For each load, the median run of each finalist with its spread.
    pub(crate) runs: Vec<Vec<RunReport>>,
    measures: Vec<Measure>,
    /// For each load, what long waits add to the cost of each finalist.
    charges: Vec<Vec<f64>>,
}

impl Finals {
    /// Runs `finalists`, of which the first are the kernel's defaults.
    pub(crate) fn of(trials: &Trials<'_>, finalists: Vec<Finalist>) -> Result<Self, SimError> {
        let mut finals = Self {
            finalists: Vec::new(),
            runs: trials.pairs.iter().map(|_| Vec::new()).collect(),
            charges: trials.pairs.iter().map(|_| Vec::new()).collect(),
            measures: trials.pairs.iter().map(|pair| pair.measure).collect(),
        };
        finals.add(trials, finalists)?;
        Ok(finals)
    }

    /// Runs some more.
    pub(crate) fn add(&mut self, trials: &Trials<'_>, finalists: Vec<Finalist>) -> Result<(), SimError> {
        for ((pair, runs), charges) in trials.pairs.iter().zip(&mut self.runs).zip(&mut self.charges) {
            let options = RunOptions { seed: pair.seed, ..RunOptions::default() };
            let run = |finalist: &Finalist, workload: &_, options: &_| {
                let cached = TrialPair { machine: pair.machine.with_redcap(finalist.redcap.clone()), ..pair.clone() };
                let on = if finalist.redcap.is_some() { &cached } else { pair };
                on.run(&finalist.settings, workload, options, (trials.run, trials.progress))
            };
            let (of_pair, _) = replayed(&pair.workload, &finalists, (None, Some(pair.measure)), &options, run)?;
            let replays = u64::from(of_pair.first().and_then(|run| run.spread).map_or(1, |spread| spread.replays));
            (0..replays).for_each(|_| trials.add_spent(&of_pair));
            runs.extend(of_pair);
            let base = &runs[0];
            charges.extend(runs[charges.len()..].iter().map(|run| pair.charge(run, base)));
        }
        self.finalists.extend(finalists);
        Ok(())
    }

    /// The mean over the loads of the logarithm of the cost over that of the defaults.
    pub(crate) fn cost(&self, row: usize) -> f64 {
        self.mean(row, |load| self.measures[load])
    }

    /// The cost, and what long waits add to it.
    fn charged_cost(&self, row: usize) -> f64 {
        self.cost(row) + self.charges.iter().map(|charges| charges[row]).sum::<f64>() / self.charges.len() as f64
    }

    fn mean(&self, row: usize, measure: impl Fn(usize) -> Measure) -> f64 {
        let of_load = |(load, runs): (usize, &Vec<RunReport>)| log_cost(measure(load), &runs[row], &runs[0]);
        self.runs.iter().enumerate().map(of_load).sum::<f64>() / self.runs.len() as f64
    }

    /// How much less `cost` is than the defaults', or how much more it serves, in percent.
    pub(crate) fn gain_percent(&self, cost: f64) -> f64 {
        gain_percent(&self.measures, cost)
    }

    /// Of those without a cache the best; of those within 0.5 % of it, the one with the fewest changes.
    pub(crate) fn best(&self) -> usize {
        let plain: Vec<usize> = (0..self.finalists.len()).filter(|&row| self.finalists[row].redcap.is_none()).collect();
        let least = plain.iter().map(|&row| self.charged_cost(row)).fold(f64::INFINITY, f64::min);
        let near = plain.into_iter().filter(|&row| self.charged_cost(row) <= least + TIE);
        let order = |&row: &usize| (self.finalists[row].settings.changes(), row != 0, row);
        near.min_by_key(order).unwrap_or(0)
    }

    /// The best with a cache, if on each load it is better than `best` beyond doubt.
    pub(crate) fn cached(&self, best: usize) -> Option<usize> {
        let is_better = |row: &usize| {
            let of_load = |(runs, measure): (&Vec<RunReport>, &Measure)| {
                log_cost(*measure, &runs[*row], &runs[best]) < -TIE && !measure.overlap(&runs[*row], &runs[best])
            };
            self.finalists[*row].redcap.is_some() && self.runs.iter().zip(&self.measures).all(of_load)
        };
        let better = (0..self.finalists.len()).filter(is_better);
        better.min_by(|&a, &b| self.cost(a).total_cmp(&self.cost(b)))
    }

    /// Drops the finalists with a cache, except for `kept`. Returns the row that `kept` then is.
    pub(crate) fn drop_caches(&mut self, kept: Option<usize>) -> Option<usize> {
        let stays: Vec<bool> =
            (0..self.finalists.len()).map(|row| Some(row) == kept || self.finalists[row].redcap.is_none()).collect();
        let mut of_finalists = stays.iter();
        self.finalists.retain(|_| of_finalists.next() != Some(&false));
        for runs in &mut self.runs {
            let mut of_runs = stays.iter();
            runs.retain(|_| of_runs.next() != Some(&false));
        }
        for charges in &mut self.charges {
            let mut of_charges = stays.iter();
            charges.retain(|_| of_charges.next() != Some(&false));
        }
        kept.map(|row| stays[..row].iter().filter(|stays| **stays).count())
    }

    /// The rows that no other row beats in throughput and in the 99th percentile of waiting, from the highest throughput down.
    pub(crate) fn front(&self) -> Vec<usize> {
        let figures = |row| (self.mean(row, |_| Measure::Throughput), self.mean(row, |_| Measure::TailWaiting));
        let all: Vec<(f64, f64)> = (0..self.finalists.len()).map(figures).collect();
        front(&all)
    }

    pub(crate) fn measure(&self, load: usize) -> Measure {
        self.measures[load]
    }
}

/// See [`Finals::gain_percent`].
pub(crate) fn gain_percent(measures: &[Measure], cost: f64) -> f64 {
    let more = measures.iter().all(|measure| measure.is_more_better());
    100.0 * if more { (-cost).exp() - 1.0 } else { 1.0 - cost.exp() }
}

/// The indices of the points of which no other is at least as low in both figures, from the lowest first figure up.
fn front(points: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        points[a].0.total_cmp(&points[b].0).then(points[a].1.total_cmp(&points[b].1)).then(a.cmp(&b))
    });
    let mut least = f64::INFINITY;
    order.retain(|&at| {
        let is_lower = points[at].1 < least;
        least = least.min(points[at].1);
        is_lower
    });
    order
}

/// The settings to be compared: the kernel's defaults first, then the best, the best of each scheduler, a few of the front, the other
/// defaults, the next best; at most `most` of them, and at least three.
pub(crate) fn finalists(trials: &Trials<'_>, best: &TunedSettings, ranked: &[TuneTrial], most: usize) -> Vec<Finalist> {
    let points: Vec<(f64, f64)> = ranked.iter().map(|trial| (-trial.throughput, trial.tail)).collect();
    let front = front(&points);
    let step = front.len().div_ceil(FRONT).max(1);
    let on_front = front.iter().rev().step_by(step).rev().map(|&at| &ranked[at].settings);
    let mut schedulers = Vec::new();
    let is_first = |trial: &&TuneTrial| {
        let name = trial.settings.scheduler.name;
        let new = !schedulers.contains(&name);
        schedulers.push(name);
        new
    };
    let of_each: Vec<&TunedSettings> = ranked.iter().filter(is_first).map(|trial| &trial.settings).collect();
    let defaults = ranked.iter().map(|trial| &trial.settings).filter(|settings| settings.changes() == 0);
    let next = ranked.iter().map(|trial| &trial.settings).take(6);
    let mut all: Vec<Finalist> = Vec::new();
    let wanted = [&trials.defaults, best].into_iter().chain(of_each).chain(on_front).chain(defaults).chain(next);
    for settings in wanted {
        if all.len() < most.max(3) && !all.iter().any(|finalist| finalist.settings == *settings) {
            all.push(settings.clone().into());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_has_what_no_other_beats_in_both() {
        assert_eq!(front(&[(1.0, 5.0), (2.0, 6.0), (0.5, 9.0), (3.0, 1.0), (3.0, 2.0)]), [2, 0, 3]);
        assert_eq!(front(&[]), Vec::<usize>::new());
    }

    #[test]
    fn a_gain_is_more_of_what_is_served_or_less_of_what_it_costs() {
        let half = 0.5f64.ln();
        assert!((gain_percent(&[Measure::Throughput], half) - 100.0).abs() < 1e-9);
        assert!((gain_percent(&[Measure::Waiting], half) - 50.0).abs() < 1e-9);
        assert!((gain_percent(&[Measure::Waiting, Measure::Throughput], half) - 50.0).abs() < 1e-9);
    }
}
