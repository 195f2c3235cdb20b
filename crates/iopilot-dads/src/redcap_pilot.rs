//! [`RedcapPilot`]: decides how a REDCAP cache is used, by trials in virtual time.

use crate::cache_setting::CacheSetting;
use crate::confidence::confidence;
use crate::objective::Objective;
use crate::region_gains::RegionGains;
use crate::regions::Regions;
use crate::rig::{Candidate, Rig, Trial};
use iopilot_block::Op;
use iopilot_device::Device;
use iopilot_redcap::{Algorithm, RedcapSpec};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, SimError};
use iopilot_trace::TraceRecord;

/// A window with fewer reads decides nothing.
const LEAST: usize = 32;
/// A change must save this share of the cost…
const LEAST_GAIN: f64 = 0.01;
/// …and be so sure.
const SURE: f64 = 0.95;

/// Decides how a cache is used. It begins off: nothing is risked before it was tried. Each window of requests is replayed,
/// with the causes of the requests, on a model of the disk: without the cache, with it, and with it for those regions of the
/// disk where it has saved time in the windows before ([`RedcapSpec::regions`]). The cache is empty at the beginning of each
/// trial, so that a small gain of a large cache is not seen.
///
/// The trials count what processes waited for and what nobody waited for alike: the total service time (GF 4.2).
#[derive(Clone, Debug)]
pub struct RedcapPilot<D> {
    scheduler: SchedulerSpec,
    /// The cache, always on.
    cache: RedcapSpec,
    rig: Rig<D>,
    setting: CacheSetting,
    gains: RegionGains,
}

/// A decision, and what it was made on.
#[derive(Clone, Debug, PartialEq)]
pub struct RedcapCheck {
    /// The total service time of the window with the cache, in seconds: as it is to be used, or, if it is not to be, at its best.
    pub with_s: f64,
    /// The same without it.
    pub without_s: f64,
    /// The same with a cache that is on everywhere.
    pub everywhere_s: f64,
    /// The same as the cache was used before this decision.
    pub before_s: f64,
    /// How the cache is to be used.
    pub setting: CacheSetting,
    /// Whether that is a change.
    pub changes: bool,
}

impl<D: Device + Clone + Send + Sync> RedcapPilot<D> {
    /// For the cache `spec` above a disk of `capacity` sectors that `model` models, under `scheduler`.
    pub fn new(spec: &RedcapSpec, model: D, scheduler: &SchedulerSpec, config: &RunConfig, capacity: u64) -> Self {
        let regions = Regions::new(spec.regions, capacity);
        Self {
            scheduler: scheduler.clone(),
            cache: RedcapSpec { algorithm: Algorithm::Always, ..spec.clone() },
            rig: Rig::new(model, config),
            gains: RegionGains::new(&regions),
            setting: CacheSetting { active: false, regions },
        }
    }

    /// How the cache is to be used.
    pub const fn setting(&self) -> &CacheSetting {
        &self.setting
    }

    /// Replaces the model by one that has learned.
    pub fn replace_model(&mut self, model: D) {
        self.rig.replace(model);
    }

    /// Decides on `records`, the requests of the last window in order of arrival, with `pending` requests under way after
    /// them. `None` for a window of fewer than 32 reads.
    ///
    /// # Errors
    /// As [`Rig::try_all`].
    pub fn check(&mut self, records: &[TraceRecord], pending: usize) -> Result<Option<RedcapCheck>, SimError> {
        if records.iter().filter(|record| record.op == Op::Read).count() < LEAST {
            return Ok(None);
        }
        let (settings, current) = self.settings();
        let learns = self.setting.regions.states().len() > 1;
        let candidate = |(n, setting): (usize, &CacheSetting)| {
            let candidate = self.candidate(setting);
            // Of the first two, off and on everywhere, regions are learned.
            Candidate { keeps_disk: learns && n < 2, ..candidate }
        };
        let candidates: Vec<Candidate> = settings.iter().enumerate().map(candidate).collect();
        let trials = self.rig.try_candidates(records, pending, &candidates, current, Objective::ServiceTime)?;
        let [without, everywhere, ..] = &trials[..] else { return Ok(None) };
        if learns {
            self.gains.learn(&self.setting.regions, &without.disk, &everywhere.disk);
        }
        let chosen = best(&trials, current);
        let cost = |n: usize| trials[n].cost;
        let with_s = match settings[chosen].active {
            true => cost(chosen),
            false => (1..trials.len()).map(cost).fold(f64::INFINITY, f64::min),
        };
        let check = RedcapCheck {
            with_s,
            without_s: without.cost,
            everywhere_s: everywhere.cost,
            before_s: cost(current),
            setting: settings[chosen].clone(),
            changes: chosen != current,
        };
        self.setting = check.setting.clone();
        Ok(Some(check))
    }

    /// What is tried, and which of it is in use: off; on everywhere; on as it is; on as the last windows say.
    fn settings(&self) -> (Vec<CacheSetting>, usize) {
        let CacheSetting { active, regions } = &self.setting;
        let on = |regions| CacheSetting { active: true, regions };
        let mut settings = vec![CacheSetting { active: false, ..self.setting.clone() }, on(regions.all_on())];
        let said = self.gains.applied(regions);
        let further =
            [regions, &said].into_iter().filter(|regions| regions.any_off()).map(|regions| on(regions.clone()));
        settings.extend(further);
        settings.dedup();
        let current = if *active { settings.iter().position(|setting| setting == &self.setting) } else { Some(0) };
        (settings, current.unwrap_or(0))
    }

    fn candidate(&self, setting: &CacheSetting) -> Candidate {
        let off = if setting.active { setting.regions.off() } else { Vec::new() };
        let redcap = setting.active.then(|| self.cache.clone());
        Candidate { off, ..Candidate::new(self.scheduler.clone(), redcap) }
    }
}

/// The cheapest trial of those that are surely cheaper than that of what is in use; else that one.
fn best(trials: &[Trial], current: usize) -> usize {
    let old = &trials[current];
    let is_better = |new: &Trial| new.cost < (1.0 - LEAST_GAIN) * old.cost && is_sure(old, new);
    let better = trials.iter().enumerate().filter(|(_, new)| is_better(new));
    better.min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost)).map_or(current, |(n, _)| n)
}

/// Whether `new` surely costs less than `old` by the least gain.
fn is_sure(old: &Trial, new: &Trial) -> bool {
    let (Some(old), Some(new)) = (&old.shares, &new.shares) else { return false };
    confidence(old, new, 1.0 - LEAST_GAIN).is_some_and(|sure| sure >= SURE)
}
