//! [`RedcapPilot`]: decides how a REDCAP cache is used, by trials in virtual time.

use crate::cache_setting::CacheSetting;
use crate::cache_sizes::SizeTrials;
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
/// Other segments, this share: what the cache holds is dropped.
const LEAST_GAIN_OF_SIZES: f64 = 0.05;
/// A cache of half the size costs no more than this share more.
const EQUAL: f64 = 0.001;
/// …and be so sure.
const SURE: f64 = 0.95;

/// Decides how a cache is used. It begins off: nothing is risked before it was tried. Each window of requests is replayed,
/// with the causes of the requests, on a model of the disk: without the cache, with it, and with it for those regions of the
/// disk where it has saved time in the windows before ([`RedcapSpec::regions`]). Several windows together are replayed with
/// other segments ([`RedcapSpec::resize`]). The cache is empty at the beginning of each
/// trial, so that a small gain of a large cache is not seen.
///
/// The trials count what processes waited for and what nobody waited for alike: the total service time (GF 4.2).
#[derive(Clone, Debug)]
pub struct RedcapPilot<D> {
    scheduler: SchedulerSpec,
    /// The cache, always on.
    cache: RedcapSpec,
    rig: Rig<D>,
    /// The virtual disk for trials of several windows together.
    size_rig: Rig<D>,
    sizes: SizeTrials,
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
            rig: Rig::new(model.clone(), config),
            size_rig: Rig::new(model, config),
            sizes: SizeTrials::new(spec),
            gains: RegionGains::new(&regions),
            setting: CacheSetting { active: false, geometry: spec.geometry, regions },
        }
    }

    /// How the cache is to be used.
    pub const fn setting(&self) -> &CacheSetting {
        &self.setting
    }

    /// Replaces the model by one that has learned.
    pub fn replace_model(&mut self, model: D) {
        self.rig.replace(model.clone());
        self.size_rig.replace(model);
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
        let chosen = best(&trials, current, LEAST_GAIN);
        let cost = |n: usize| trials[n].cost;
        let with_s = match settings[chosen].active {
            true => cost(chosen),
            false => (1..trials.len()).map(cost).fold(f64::INFINITY, f64::min),
        };
        let (without_s, everywhere_s, before_s) = (without.cost, everywhere.cost, cost(current));
        let old = std::mem::replace(&mut self.setting, settings[chosen].clone());
        let resized = match self.try_sizes(records, pending) {
            Ok(resized) => resized,
            Err(e) => {
                // The caller carries out nothing.
                self.setting = old;
                return Err(e);
            }
        };
        Ok(Some(RedcapCheck {
            with_s,
            without_s,
            everywhere_s,
            before_s,
            setting: self.setting.clone(),
            changes: chosen != current || resized,
        }))
    }

    /// Tries other segments, once there are enough requests. Whether the cache is to have others.
    fn try_sizes(&mut self, records: &[TraceRecord], pending: usize) -> Result<bool, SimError> {
        let geometry = self.setting.geometry;
        let Some(records) = self.sizes.add(records, geometry) else { return Ok(false) };
        let with = |geometry| CacheSetting { active: true, geometry, ..self.setting.clone() };
        let off = CacheSetting { active: false, ..self.setting.clone() };
        let mut settings = vec![off, with(geometry)];
        settings.extend(self.sizes.others(geometry).into_iter().map(with));
        // A larger one may be of use also where this one was too small.
        let everywhere = |geometry| CacheSetting { regions: self.setting.regions.all_on(), ..with(geometry) };
        settings.extend(self.sizes.double(geometry).filter(|_| self.setting.regions.any_off()).map(everywhere));
        let half = self.sizes.half(geometry).map(|_| settings.len());
        settings.extend(self.sizes.half(geometry).map(with));
        let candidates: Vec<Candidate> = settings.iter().map(|setting| self.candidate(setting)).collect();
        let current = usize::from(self.setting.active);
        let trials = self.size_rig.try_candidates(&records, pending, &candidates, current, Objective::ServiceTime)?;
        let [_, same, ..] = &trials[..] else { return Ok(false) };
        let is_as_good = |half: &usize| trials[*half].cost <= (1.0 + EQUAL) * same.cost;
        let winner = match best(&trials, current, LEAST_GAIN_OF_SIZES) {
            0 | 1 => half.filter(is_as_good).filter(|_| self.setting.active),
            other => Some(other),
        };
        let winner = winner.map(|winner| settings[winner].clone());
        let changes = self.sizes.won(winner.as_ref().map(|setting| setting.geometry));
        if let Some(setting) = winner.filter(|_| changes) {
            // What each region gains depends on the segments.
            self.gains = RegionGains::new(&setting.regions);
            self.setting = setting;
        }
        Ok(changes)
    }

    /// What is tried, and which of it is in use: off; on everywhere; on as it is; on as the last windows say.
    fn settings(&self) -> (Vec<CacheSetting>, usize) {
        let &CacheSetting { active, geometry, ref regions } = &self.setting;
        let on = |regions| CacheSetting { active: true, geometry, regions };
        let mut settings = vec![CacheSetting { active: false, ..self.setting.clone() }, on(regions.all_on())];
        let said = self.gains.applied(regions);
        let further =
            [regions, &said].into_iter().filter(|regions| regions.any_off()).map(|regions| on(regions.clone()));
        settings.extend(further);
        settings.dedup();
        let current = if active { settings.iter().position(|setting| setting == &self.setting) } else { Some(0) };
        (settings, current.unwrap_or(0))
    }

    fn candidate(&self, setting: &CacheSetting) -> Candidate {
        let off = if setting.active { setting.regions.off() } else { Vec::new() };
        let redcap = setting.active.then(|| RedcapSpec { geometry: setting.geometry, cap: None, ..self.cache.clone() });
        Candidate { off, ..Candidate::new(self.scheduler.clone(), redcap) }
    }
}

/// The cheapest trial of those that are surely cheaper than that of what is in use; else that one.
fn best(trials: &[Trial], current: usize, least_gain: f64) -> usize {
    let old = &trials[current];
    let share = 1.0 - least_gain;
    let is_better = |new: &Trial| new.cost < share * old.cost && is_sure(old, new, share);
    let better = trials.iter().enumerate().filter(|(_, new)| is_better(new));
    better.min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost)).map_or(current, |(n, _)| n)
}

/// Whether `new` surely costs less than `share` of what `old` does.
fn is_sure(old: &Trial, new: &Trial, share: f64) -> bool {
    let (Some(old), Some(new)) = (&old.shares, &new.shares) else { return false };
    confidence(old, new, share).is_some_and(|sure| sure >= SURE)
}
