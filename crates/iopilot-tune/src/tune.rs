//! [`tune()`]: the settings that serve given loads best, for each class of disks.

use crate::judge::{Finalist, Finals, finalists, gain_percent};
use crate::report::{DiskClass, HeldOut, TuneReport, TuneRow, TunedClass, TunedLoad};
use crate::search::search;
use crate::settings::TunedSettings;
use crate::space::TuneSpace;
use crate::trial_pair::{TrialPair, WHOLE, log_cost};
use crate::trials::Trials;
use crate::{advice, udev};
use iopilot_block::InputError;
use iopilot_compare::{Measure, Runner};
use iopilot_device::Device;
use iopilot_redcap::RedcapSpec;
use iopilot_sched::{KERNEL_DEFAULT, NO_SCHEDULER};
use iopilot_sim::{Machine, Progress, RunOptions, SimError};
use iopilot_workload::Workload;

/// The simulated requests for which a budget of a second of time stands. An estimate made beforehand, so that a result does not
/// depend on the machine: one CPU of 2020 does about twice as many of a disk's or an SSD's simple model.
pub const REQUESTS_PER_SECOND: u64 = 200_000;

/// A whole run may take this part of the budget at most; a longer load is cut.
const RUNS: u64 = 64;
/// The fewest requests of a run.
const FEWEST: u64 = 500;
/// Shares of the budget, in percent: the search, and the search on one part of the loads. The finalists have the rest.
const SEARCH_PERCENT: u64 = 50;
const HELD_OUT_PERCENT: u64 = 20;
/// The runs of a finalist, for the budget.
const REPLAYS: u64 = 5;
/// Finalists at most.
const FINALISTS: usize = 15;
/// What is added to a seed where loads have no halves.
const OTHER_SEED: u64 = 1000;
/// The caches that are tried: 8 and 64 MiB.
const CACHES: [&str; 2] = ["64x128k", "512x128k"];

/// A load on a machine.
#[derive(Clone, Debug)]
pub struct TuneLoad {
    /// The machine.
    pub machine: Machine,
    /// The load.
    pub workload: Workload,
    /// The two halves of a trace, if it is long enough.
    pub halves: Option<(Workload, Workload)>,
}

/// How to search.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// What decides. `None`: what decides in a comparison of the load.
    pub objective: Option<Measure>,
    /// The budget, in simulated requests.
    pub requests: u64,
    /// The seed of all random choices.
    pub seed: u64,
    /// Whether there is a class for each model of disk, not one for all that turn and one for all others.
    pub each_model: bool,
    /// Whether a cache is tried, too.
    pub redcap: bool,
}

/// Searches settings for `loads`. `run` makes a whole run. Parallel on rayon's threads; the result does not depend on their number,
/// nor on the time that it takes.
///
/// # Errors
/// If the budget is too small for so many loads, or as [`iopilot_sim::simulate`].
pub fn tune(
    loads: &[TuneLoad],
    options: &TuneOptions,
    run: Runner,
    progress: &Progress,
) -> Result<TuneReport, SimError> {
    // A class has its share of the budget, and divides it among its loads.
    let class_of = |load: &TuneLoad| DiskClass {
        rotational: load.machine.is_rotational(),
        model: options.each_model.then(|| load.machine.disk.model.clone()),
    };
    let mut classes: Vec<(DiskClass, Vec<&TuneLoad>)> = Vec::new();
    for load in loads {
        let class = class_of(load);
        match classes.iter_mut().find(|(known, _)| *known == class) {
            Some((_, of_class)) => of_class.push(load),
            None => classes.push((class, vec![load])),
        }
    }
    let most_loads = classes.iter().map(|(_, loads)| loads.len()).max().unwrap_or(0);
    let least = RUNS * FEWEST * (most_loads * classes.len()) as u64;
    if options.requests < least {
        let expected = format!("at least {least} requests for these loads and disks");
        return Err(InputError::new("budget", format!("{} requests", options.requests), expected).into());
    }
    let budget = options.requests / classes.len().max(1) as u64;
    let mut spent = 0;
    let mut tuned = Vec::new();
    for (class, loads) in classes {
        let (class, requests) = ClassSearch { class, loads, options, budget, run, progress }.tuned()?;
        spent += requests;
        tuned.push(class);
    }
    Ok(TuneReport { budget_requests: options.requests, requests: spent, seed: options.seed, classes: tuned })
}

/// The search for one class of disks.
struct ClassSearch<'a> {
    class: DiskClass,
    loads: Vec<&'a TuneLoad>,
    options: &'a TuneOptions,
    budget: u64,
    run: Runner,
    progress: &'a Progress,
}

impl<'a> ClassSearch<'a> {
    /// The settings of the class, and the requests simulated.
    fn tuned(self) -> Result<(TunedClass, u64), SimError> {
        let space = self.space();
        let trials =
            self.trials(self.budget * SEARCH_PERCENT / 100, |load| (load.workload.clone(), self.options.seed))?;
        let found = search(&trials, &space, self.budget * SEARCH_PERCENT / 100, self.options.seed)?;
        // With halves it is a search of its own. Else it judges the final choice.
        let has_halves = self.loads.iter().any(|load| load.halves.is_some());
        let (mut held_out, mut elsewhere) =
            if has_halves { self.held_out(&space, &trials, &found.best)? } else { (None, 0) };
        let rest = self.budget.saturating_sub(trials.spent() + elsewhere);
        let most = (rest / (trials.whole() * REPLAYS).max(1)) as usize;
        let most = if self.options.redcap && self.class.rotational { most.saturating_sub(CACHES.len()) } else { most };
        let mut finals = Finals::of(&trials, finalists(&trials, &found.best, &found.ranked, most.min(FINALISTS)))?;
        let best = finals.best();
        if self.options.redcap && self.tries_caches(&trials, elsewhere) {
            finals.add(&trials, caches(&finals.finalists[best].settings)?)?;
        }
        let cached = finals.cached(best);
        let cached = finals.drop_caches(cached);
        let settings = &finals.finalists[best].settings;
        if !has_halves {
            (held_out, elsewhere) = self.held_out(&space, &trials, settings)?;
        }
        // The best of the finals comes first, then the order of the search.
        let ranked = std::iter::once(settings).chain(found.ranked.iter().map(|trial| &trial.settings));
        let tuned = TunedClass {
            loads: (0..trials.pairs.len()).map(|load| rows(&trials, &finals, load)).collect(),
            defaults: 0,
            best,
            gain_percent: finals.gain_percent(finals.cost(best)),
            front: finals.front(),
            cached,
            held_out,
            shell: advice::shell(settings),
            udev_rule: udev::rule(&self.class, settings),
            dads_candidates: advice::candidates(ranked),
            class: self.class,
        };
        Ok((tuned, trials.spent() + elsewhere))
    }

    fn space(&self) -> TuneSpace {
        let machines: Vec<&Machine> = self.loads.iter().map(|load| &load.machine).collect();
        let has_files =
            |load: &&TuneLoad| matches!(load.workload, Workload::BuiltinPrograms(_) | Workload::UserPrograms { .. });
        TuneSpace::of(&machines, self.loads.iter().all(has_files))
    }

    /// The kernel gives a disk with several hardware queues no scheduler, and others mq-deadline (`elevator_get_default`).
    fn kernel_defaults(&self) -> TunedSettings {
        let several = self.loads.iter().all(|load| load.machine.device().hardware_queues() > 1);
        TunedSettings::defaults_of(if several { NO_SCHEDULER } else { KERNEL_DEFAULT })
    }

    /// The loads of the class, each as `part` says, for a search with this budget.
    fn trials(&self, budget: u64, part: impl Fn(&TuneLoad) -> (Workload, u64)) -> Result<Trials<'a>, SimError> {
        let defaults = self.kernel_defaults();
        let most = (self.budget / (RUNS * self.loads.len() as u64)).max(FEWEST);
        let run = (&defaults, self.run, self.progress);
        let pair = |load: &&TuneLoad| {
            let (workload, seed) = part(load);
            TrialPair::new((&load.machine, &workload, seed), self.options.objective, most, run)
        };
        let pairs = self.loads.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        Ok(Trials::new(pairs, defaults, budget, (self.run, self.progress)))
    }

    /// Chooses settings on the first halves of traces and judges them on the second halves. Loads without halves have other seeds;
    /// if no load has halves, `best` is what was chosen. Also returns the requests simulated.
    fn held_out(
        &self,
        space: &TuneSpace,
        all: &Trials<'_>,
        best: &TunedSettings,
    ) -> Result<(Option<HeldOut>, u64), SimError> {
        let has_halves = self.loads.iter().any(|load| load.halves.is_some());
        let is_short_trace = |load: &&TuneLoad| load.halves.is_none() && matches!(load.workload, Workload::Trace(_));
        if self.loads.iter().any(is_short_trace) {
            return Ok((None, 0));
        }
        let half = |load: &TuneLoad, second: bool| match &load.halves {
            Some((_, other)) if second => (other.clone(), self.options.seed),
            Some((one, _)) => (one.clone(), self.options.seed),
            None => (load.workload.clone(), self.options.seed + u64::from(second) * OTHER_SEED),
        };
        let mut spent = 0;
        let (settings, chosen) = if has_halves {
            let first = self.trials(self.budget * HELD_OUT_PERCENT / 100, |load| half(load, false))?;
            let found = search(&first, space, self.budget * HELD_OUT_PERCENT / 100, self.options.seed)?;
            let cost = first.of(std::slice::from_ref(&found.best), WHOLE)?[0].plain_cost;
            spent += first.spent();
            (found.best, cost)
        } else {
            (best.clone(), all.of(std::slice::from_ref(best), WHOLE)?[0].plain_cost)
        };
        let second = self.trials(self.budget * HELD_OUT_PERCENT / 100, |load| half(load, true))?;
        let judged = second.of(std::slice::from_ref(&settings), WHOLE)?[0].plain_cost;
        spent += second.spent();
        let measures: Vec<Measure> = all.pairs.iter().map(|pair| pair.measure).collect();
        let (chosen, judged) = (gain_percent(&measures, chosen), gain_percent(&measures, judged));
        let held_out = HeldOut {
            settings,
            judged_on: if has_halves { "second half" } else { "other seeds" }.to_owned(),
            chosen_gain_percent: chosen,
            judged_gain_percent: judged,
            luck_points: (chosen - judged).max(0.0),
        };
        Ok((Some(held_out), spent))
    }

    /// A cache prefetches what the arm passes by. With it, a run cannot be cut.
    fn tries_caches(&self, trials: &Trials<'_>, elsewhere: u64) -> bool {
        let has_room = trials.spent() + elsewhere + trials.whole() * REPLAYS * CACHES.len() as u64 <= self.budget;
        let has_none = |pair: &TrialPair| !pair.is_clipped && pair.machine.redcap.is_none();
        self.class.rotational && has_room && trials.pairs.iter().all(has_none)
    }
}

/// `settings` under each of the caches.
fn caches(settings: &TunedSettings) -> Result<Vec<Finalist>, SimError> {
    let cache = |text: &&str| Ok(Finalist { settings: settings.clone(), redcap: Some(RedcapSpec::parse(text)?) });
    CACHES.iter().map(cache).collect()
}

/// The rows of the finalists on one load.
fn rows(trials: &Trials<'_>, finals: &Finals, load: usize) -> TunedLoad {
    let (pair, runs, measure) = (&trials.pairs[load], &finals.runs[load], finals.measure(load));
    let options = RunOptions { seed: pair.seed, ..RunOptions::default() };
    let row = |(finalist, run): (&Finalist, &_)| {
        let (value, range) = (measure.value(run), measure.range(run));
        TuneRow {
            settings: finalist.settings.clone(),
            redcap: finalist.redcap.as_ref().map(ToString::to_string),
            value,
            spread_percent: range.percent_of(value),
            min: range.min,
            max: range.max,
            gain_percent: gain_percent(&[measure], log_cost(measure, run, &runs[0])),
            beyond_spread: !measure.overlap(run, &runs[0]),
            throughput_mb_s: run.throughput_mb_s,
            wait_ms_p99: run.wait_ms_p99(),
        }
    };
    TunedLoad {
        load: pair.workload.summary(options.seed).name,
        disk: pair.machine.disk_name.clone(),
        measure: measure.key().to_owned(),
        measure_words: measure.words().0.to_owned(),
        requests: pair.requests,
        clipped: pair.is_clipped,
        replays: runs[0].spread.map_or(1, |spread| spread.replays),
        rows: finals.finalists.iter().zip(runs).map(row).collect(),
    }
}

#[cfg(test)]
mod tests;
