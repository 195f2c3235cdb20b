//! [`Trials`]: runs settings on loads, in whole or in part, and scores them against the kernel's defaults.

use crate::settings::TunedSettings;
use crate::trial_pair::{TrialPair, limited, log_cost};
use iopilot_compare::{Measure, Runner};
use iopilot_sim::{Progress, RunOptions, RunReport, SimError};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Settings are tried on several replays of each load if the budget allows so many trials of that.
const TRIALS: u64 = 300;
/// The most replays of a trial.
const MOST_REPLICAS: u64 = 5;

/// What became of settings in a trial. Figures are logarithms of the ratio to the kernel's defaults, means over all loads.
#[derive(Clone, Debug)]
pub(crate) struct TuneTrial {
    pub(crate) settings: TunedSettings,
    /// What decides: the cost, with what long waits add to it ([`TrialPair::charge`]); below 0 is better than the defaults.
    pub(crate) cost: f64,
    /// The cost alone.
    pub(crate) plain_cost: f64,
    pub(crate) throughput: f64,
    /// The 99th percentile of waiting.
    pub(crate) tail: f64,
}

/// The loads on which settings are tried.
#[derive(Debug)]
pub(crate) struct Trials<'a> {
    pub(crate) pairs: Vec<TrialPair>,
    /// The pairs as settings are tried on them: as often as the budget allows, with other think times or seeds.
    replicas: Vec<TrialPair>,
    /// The kernel's defaults.
    pub(crate) defaults: TunedSettings,
    pub(crate) run: Runner,
    pub(crate) progress: &'a Progress,
    spent: AtomicU64,
    /// The runs of the defaults, by share.
    references: Mutex<BTreeMap<u64, Arc<Vec<RunReport>>>>,
}

impl<'a> Trials<'a> {
    pub(crate) fn new(
        pairs: Vec<TrialPair>,
        defaults: TunedSettings,
        budget: u64,
        (run, progress): (Runner, &'a Progress),
    ) -> Self {
        let whole: u64 = pairs.iter().map(|pair| pair.requests).sum();
        let replays = (budget / (whole * TRIALS).max(1)).clamp(1, MOST_REPLICAS);
        let more = (1..replays).flat_map(|n| pairs.iter().filter_map(move |pair| pair.replica(n)));
        let replicas = pairs.iter().cloned().chain(more).collect();
        let spent = AtomicU64::new(whole);
        Self { pairs, replicas, defaults, run, progress, spent, references: Mutex::default() }
    }

    /// The requests simulated so far.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    /// The requests of one run of each load.
    pub(crate) fn whole(&self) -> u64 {
        self.pairs.iter().map(|pair| pair.requests).sum()
    }

    /// The requests that a trial of `share` of a run takes.
    pub(crate) fn requests_of(&self, share: u64) -> u64 {
        self.replicas.iter().map(|pair| pair.limit(share)).sum()
    }

    /// Tries each of `candidates` on `share` of a run of each load. Parallel on rayon's threads; the result does not depend on
    /// their number.
    pub(crate) fn of(&self, candidates: &[TunedSettings], share: u64) -> Result<Vec<TuneTrial>, SimError> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let reference = self.reference(share)?;
        let reports = self.reports(candidates, share)?;
        let of_candidate = |(settings, reports): (&TunedSettings, &[RunReport])| {
            let mean = |ratio: &dyn Fn(&TrialPair, &RunReport, &RunReport) -> f64| {
                let ratios = self
                    .replicas
                    .iter()
                    .zip(reports)
                    .zip(reference.iter())
                    .map(|((pair, run), base)| ratio(pair, run, base));
                ratios.sum::<f64>() / self.replicas.len() as f64
            };
            TuneTrial {
                settings: settings.clone(),
                cost: mean(&|pair, run, base| log_cost(pair.measure, run, base) + pair.charge(run, base)),
                plain_cost: mean(&|pair, run, base| log_cost(pair.measure, run, base)),
                throughput: mean(&|_, run, base| -log_cost(Measure::Throughput, run, base)),
                tail: mean(&|_, run, base| log_cost(Measure::TailWaiting, run, base)),
            }
        };
        Ok(candidates.iter().zip(reports.chunks(self.replicas.len())).map(of_candidate).collect())
    }

    /// The reports of the defaults on `share` of each load, which are run once.
    fn reference(&self, share: u64) -> Result<Arc<Vec<RunReport>>, SimError> {
        let known = || self.references.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reports) = known().get(&share) {
            return Ok(reports.clone());
        }
        let reports = Arc::new(self.reports(std::slice::from_ref(&self.defaults), share)?);
        known().insert(share, reports.clone());
        Ok(reports)
    }

    /// The reports of each of `candidates` on each load.
    fn reports(&self, candidates: &[TunedSettings], share: u64) -> Result<Vec<RunReport>, SimError> {
        let all: Vec<_> =
            candidates.iter().flat_map(|settings| self.replicas.iter().map(move |pair| (settings, pair))).collect();
        let run = |&(settings, pair): &(&TunedSettings, &TrialPair)| {
            let options = RunOptions { seed: pair.seed, ..RunOptions::default() };
            let limit = pair.limit(share);
            match limit < pair.requests {
                true => limited(&pair.machine, &pair.workload, settings, &options, limit).map(|(report, _)| report),
                false => pair.run(settings, &pair.workload, &options, (self.run, self.progress)),
            }
        };
        let reports: Vec<Result<RunReport, SimError>> = all.par_iter().map(run).collect();
        let reports = reports.into_iter().collect::<Result<Vec<_>, _>>()?;
        self.add_spent(&reports);
        Ok(reports)
    }

    /// Counts the requests of `reports`.
    pub(crate) fn add_spent(&self, reports: &[RunReport]) {
        self.spent.fetch_add(reports.iter().map(|report| report.requests).sum(), Ordering::Relaxed);
    }
}
