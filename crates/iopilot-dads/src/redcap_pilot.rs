//! [`RedcapPilot`]: decides how a REDCAP cache is used, by trials in virtual time: the algorithm `adaptive`.

use crate::cache_setting::CacheSetting;
use crate::cache_sizes::SizeTrials;
use crate::candidate::TrialCandidate;
use crate::confidence::confidence;
use crate::disk_regions::DiskRegions;
use crate::evidence::{DiskWork, Evidence, PLANS, TriedWindow};
use crate::objective::Objective;
use crate::patience::Patience;
use crate::region_gains::RegionGains;
use crate::trial::Trial;
use crate::trial_runner::{TrialDisk, TrialRunner};
use iopilot_block::Op;
use iopilot_device::Device;
use iopilot_redcap::{Algorithm, Contents, Miss, RedcapSpec};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, RunReport, SimError};
use iopilot_trace::TraceRecord;
use std::sync::Arc;

/// A window with fewer reads is not decided on.
const LEAST: usize = 32;
/// A change must certainly save this share of the cost.
const LEAST_GAIN: f64 = 0.01;
/// A change of the segments drops what the cache holds, so it must save this share…
const LEAST_GAIN_OF_SIZES: f64 = 0.05;
/// …with this confidence in one trial.
const SURE: f64 = 0.95;
/// A cache of half the size is as good if it costs at most this share more.
const EQUAL: f64 = 0.001;

/// Decides how a cache is used. The cache starts off, because nothing has been tried yet.
///
/// Each window of requests is replayed with its dependencies on a model of the disk: without the cache, with it, with
/// it only for the regions where it saved time in earlier windows ([`RedcapSpec::regions`]), and with the other way to
/// read an absent segment, unless [`RedcapSpec::miss`] is set. The results of several windows are pooled. Other
/// segments are tried on several windows at once ([`RedcapSpec::resize`]).
///
/// A trial continues from the last trial of the same plan. The cache holds what that trial left, as if it had been used
/// by this plan all the time. The disk is in the state that it left, too: without a cache above, the disk's own cache
/// reads ahead.
///
/// The cost of a trial is the total service time of all requests, whether or not a process waits for them (GF 4.2).
#[derive(Clone, Debug)]
pub struct RedcapPilot<D> {
    scheduler: SchedulerSpec,
    /// The cache, always on.
    cache: RedcapSpec,
    /// Whether the way to read an absent segment is chosen, too ([`RedcapSpec::miss`] is not set).
    chooses_miss: bool,
    runner: TrialRunner<D>,
    /// Runs the trials of several windows together.
    size_runner: TrialRunner<D>,
    sizes: SizeTrials,
    setting: CacheSetting,
    gains: RegionGains,
    evidence: Evidence,
    patience: Patience<Kind>,
    /// What the cache of each plan held at the end of its last trial.
    contents: [Option<Arc<Contents>>; PLANS],
    /// The simulated disk of each plan.
    disks: [TrialDisk<D>; PLANS],
}

/// The plans for the cache that each window is tried with. Two plans may be the same setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Off,
    /// On for the whole disk.
    Everywhere,
    /// On for the regions of the setting in use; while the cache is off, of the last setting in use.
    Kept,
    /// On for the regions where it saved time in the last windows.
    Learned,
    /// As [`Plan::Kept`], with the other way to read an absent segment.
    OtherMiss,
}

impl Plan {
    const ALL: [Self; PLANS] = [Self::Off, Self::Everywhere, Self::Kept, Self::Learned, Self::OtherMiss];
}

/// Whether a setting has the cache on, and whether for a part of the disk only. A change back to the kind before counts
/// as taken back.
type Kind = (bool, bool);

fn kind(setting: &CacheSetting) -> Kind {
    (setting.active, setting.active && setting.regions.any_off())
}

/// A decision, and the costs that it is based on.
#[derive(Clone, Debug, PartialEq)]
pub struct RedcapCheck {
    /// The total service time of the window with the cache, in seconds: by the chosen plan, or by the best one if the
    /// cache is to be off.
    pub with_s: f64,
    /// The same without it.
    pub without_s: f64,
    /// The same with a cache that is on everywhere.
    pub everywhere_s: f64,
    /// The same by the plan in use before this decision, with which the window was served.
    pub before_s: f64,
    /// What the window cost on the disk itself; `None` if its records do not tell.
    pub measured_s: Option<f64>,
    /// How the cache is to be used.
    pub setting: CacheSetting,
    /// Whether that is a change.
    pub changes: bool,
}

impl<D: Device + Clone + Send + Sync> RedcapPilot<D> {
    /// A pilot for the cache `spec` above a disk of `capacity` sectors, which `model` simulates, under `scheduler`.
    pub fn new(spec: &RedcapSpec, model: D, scheduler: &SchedulerSpec, config: &RunConfig, capacity: u64) -> Self {
        let regions = DiskRegions::new(spec.regions, capacity);
        Self {
            scheduler: scheduler.clone(),
            cache: RedcapSpec { algorithm: Algorithm::Always, ..spec.clone() },
            runner: TrialRunner::new(model.clone(), config),
            disks: std::array::from_fn(|_| TrialDisk::new(model.clone())),
            size_runner: TrialRunner::new(model, config),
            sizes: SizeTrials::new(spec),
            gains: RegionGains::new(&regions),
            evidence: Evidence::default(),
            patience: Patience::new(),
            contents: Default::default(),
            setting: CacheSetting { active: false, geometry: spec.geometry, miss: spec.miss_or_default(), regions },
            chooses_miss: spec.miss.is_none(),
        }
    }

    /// How the cache is to be used.
    pub const fn setting(&self) -> &CacheSetting {
        &self.setting
    }

    /// Notes the scheduler in use, and the settings of the queue.
    pub fn set_queue(&mut self, scheduler: &SchedulerSpec, config: &RunConfig) {
        self.scheduler = scheduler.clone();
        self.runner.set_config(config);
        self.size_runner.set_config(config);
    }

    /// Replaces the model by one that has learned more. The evidence of trials on the old one is kept.
    pub fn replace_model(&mut self, model: D) {
        self.disks = std::array::from_fn(|_| TrialDisk::new(model.clone()));
        self.runner.replace(model.clone());
        self.size_runner.replace(model);
    }

    /// Decides on `records`, the requests of the last window in order of arrival, with `pending` requests in flight
    /// after them. `None` for a window of fewer than 32 reads.
    ///
    /// # Errors
    /// Where the dependencies of the records cannot be inferred, a setting is not accepted, or a run gets stuck.
    pub fn check(&mut self, records: &[TraceRecord], pending: usize) -> Result<Option<RedcapCheck>, SimError> {
        if records.iter().filter(|record| record.op == Op::Read).count() < LEAST {
            return Ok(None);
        }
        let settings = self.settings();
        // Each distinct setting is tried once. `tried` holds the plans to try, `place` the trial of each plan.
        let mut tried: Vec<usize> = Vec::with_capacity(PLANS);
        let mut place = [0; PLANS];
        for (plan, setting) in settings.iter().enumerate() {
            place[plan] = tried.iter().position(|other| settings[*other] == *setting).unwrap_or(tried.len());
            if place[plan] == tried.len() {
                tried.push(plan);
            }
        }
        let current = if self.setting.active { Plan::Kept } else { Plan::Off };
        let learns = self.setting.regions.states().len() > 1;
        // The gains of regions are learned from the first two trials: off, and on everywhere.
        let candidate = |(n, plan): (usize, &usize)| {
            let contents = self.contents[*plan].clone();
            TrialCandidate { keeps_disk: learns && n < 2, ..self.candidate(&settings[*plan], contents) }
        };
        let candidates: Vec<TrialCandidate> = tried.iter().enumerate().map(candidate).collect();
        let disks: Vec<TrialDisk<D>> = tried.iter().map(|plan| self.disks[*plan].clone()).collect();
        let in_use = place[current as usize];
        let trials = self.runner.try_on(&disks, records, pending, &candidates, in_use, Objective::ServiceTime)?;
        let (trials, disks): (Vec<Trial>, Vec<TrialDisk<D>>) = trials.into_iter().unzip();
        if disks.len() == tried.len() {
            self.disks = place.map(|n| disks[n].clone());
        }
        let [without, everywhere, ..] = &trials[..] else { return Ok(None) };
        if learns {
            self.gains.learn(&self.setting.regions, &without.disk, &everywhere.disk);
        }
        self.note(&candidates, &trials, place);
        let chosen = self.choose(current, place);
        let cost = |plan: Plan| trials[place[plan as usize]].cost;
        let with_s = match chosen {
            Plan::Off => trials[1..].iter().map(|trial| trial.cost).fold(f64::INFINITY, f64::min),
            on => cost(on),
        };
        let measured_s = self.runner.measured(records, Objective::ServiceTime);
        let (without_s, everywhere_s, before_s) = (without.cost, everywhere.cost, cost(current));
        let changes = place[chosen as usize] != in_use;
        let old = if changes { self.adopt(chosen, &settings[chosen as usize]) } else { self.setting.clone() };
        let resized = match self.try_sizes(records, pending) {
            Ok(resized) => resized,
            Err(e) => {
                // After an error the caller carries out nothing.
                (self.setting, self.evidence) = (old, Evidence::default());
                return Err(e);
            }
        };
        Ok(Some(RedcapCheck {
            with_s,
            without_s,
            everywhere_s,
            before_s,
            measured_s,
            setting: self.setting.clone(),
            changes: changes || resized,
        }))
    }

    /// Adds the trials of a window to the evidence. `place` is the trial of each plan.
    fn note(&mut self, candidates: &[TrialCandidate], trials: &[Trial], place: [usize; PLANS]) {
        let reused = |(candidate, trial): (&TrialCandidate, &Trial)| match (&candidate.contents, &trial.contents) {
            (Some(before), Some(after)) => (before.len(), after.reused(before)),
            _ => (0, 0),
        };
        let segments: Vec<(usize, usize)> = candidates.iter().zip(trials).map(reused).collect();
        self.evidence.add(&TriedWindow {
            shares: place.map(|n| trials[n].shares.as_deref().unwrap_or_default()),
            began_with: place.map(|n| segments[n].0),
            reused: place.map(|n| segments[n].1),
            disk: place.map(|n| work(&trials[n].report)),
        });
        self.contents = place.map(|n| trials[n].contents.clone());
    }

    /// The plan that certainly saves the most over the `current` one; the current one if there is none.
    fn choose(&mut self, current: Plan, place: [usize; PLANS]) -> Plan {
        let windows = self.patience.window();
        let is_filled = current == Plan::Off;
        let saved = |plan: Plan| self.evidence.saved(current as usize, plan as usize, LEAST_GAIN, windows, is_filled);
        let others = Plan::ALL.into_iter().filter(|&plan| place[plan as usize] != place[current as usize]);
        let better = others.filter_map(|plan| Some((plan, saved(plan)?)));
        better.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(current, |(plan, _)| plan)
    }

    /// Adopts `plan`, whose setting is `setting`. Returns the setting before.
    fn adopt(&mut self, plan: Plan, setting: &CacheSetting) -> CacheSetting {
        if plan == Plan::OtherMiss {
            // The other plans have only been tried with the old way.
            self.evidence.swap(Plan::Kept as usize, plan as usize);
            for old in [Plan::Everywhere, Plan::Learned] {
                self.evidence.rename(old as usize, Plan::Kept as usize);
            }
            self.contents.swap(Plan::Kept as usize, plan as usize);
            self.disks.swap(Plan::Kept as usize, plan as usize);
        } else if plan != Plan::Off {
            self.evidence.rename(Plan::Kept as usize, plan as usize);
            self.contents[Plan::Kept as usize] = self.contents[plan as usize].clone();
            self.disks[Plan::Kept as usize] = self.disks[plan as usize].clone();
        }
        self.patience.changed(kind(&self.setting), &kind(setting));
        std::mem::replace(&mut self.setting, setting.clone())
    }

    /// Tries other segments, once there are enough requests. Returns whether the segments change.
    fn try_sizes(&mut self, records: &[TraceRecord], pending: usize) -> Result<bool, SimError> {
        let geometry = self.setting.geometry;
        let Some(records) = self.sizes.add(records, geometry) else { return Ok(false) };
        let with = |geometry| CacheSetting { active: true, geometry, ..self.setting.clone() };
        let off = CacheSetting { active: false, ..self.setting.clone() };
        let mut settings = vec![off, with(geometry)];
        settings.extend(self.sizes.others(geometry).into_iter().map(with));
        // A larger cache may also help in regions where this one was too small.
        let everywhere = |geometry| CacheSetting { regions: self.setting.regions.all_on(), ..with(geometry) };
        settings.extend(self.sizes.double(geometry).filter(|_| self.setting.regions.any_off()).map(everywhere));
        let half = self.sizes.half(geometry).map(|_| settings.len());
        settings.extend(self.sizes.half(geometry).map(with));
        let candidate = |setting: &CacheSetting| self.candidate(setting, self.sizes.contents(setting));
        let candidates: Vec<TrialCandidate> = settings.iter().map(candidate).collect();
        let current = usize::from(self.setting.active);
        let trials =
            self.size_runner.try_candidates(&records, pending, &candidates, current, Objective::ServiceTime)?;
        self.sizes.keep(settings.iter().zip(trials.iter().map(|trial| &trial.contents)));
        let [_, same, ..] = &trials[..] else { return Ok(false) };
        let is_as_good = |half: &usize| trials[*half].cost <= (1.0 + EQUAL) * same.cost;
        let winner = match best(&trials, current) {
            0 | 1 => half.filter(is_as_good).filter(|_| self.setting.active),
            other => Some(other),
        };
        let winner = winner.map(|winner| settings[winner].clone());
        let changes = self.sizes.won(winner.as_ref().map(|setting| setting.geometry));
        if let Some(setting) = winner.filter(|_| changes) {
            // The evidence of the old segments does not apply to these.
            self.gains = RegionGains::new(&setting.regions);
            self.evidence = Evidence::default();
            let contents = self.sizes.contents(&setting);
            self.contents = Plan::ALL.map(|plan| contents.clone().filter(|_| plan != Plan::Off));
            self.setting = setting;
        }
        Ok(changes)
    }

    /// The setting of each plan.
    fn settings(&self) -> [CacheSetting; PLANS] {
        let &CacheSetting { geometry, miss, ref regions, .. } = &self.setting;
        let on = |regions| CacheSetting { active: true, geometry, miss, regions };
        Plan::ALL.map(|plan| match plan {
            Plan::Off => CacheSetting { active: false, ..self.setting.clone() },
            Plan::Everywhere => on(regions.all_on()),
            Plan::Kept => on(regions.clone()),
            Plan::Learned => on(self.gains.applied(regions)),
            Plan::OtherMiss if self.chooses_miss => CacheSetting { miss: other(miss), ..on(regions.clone()) },
            Plan::OtherMiss => on(regions.clone()),
        })
    }

    fn candidate(&self, setting: &CacheSetting, contents: Option<Arc<Contents>>) -> TrialCandidate {
        let off = if setting.active { setting.regions.off() } else { Vec::new() };
        let &CacheSetting { geometry, miss, .. } = setting;
        let redcap = setting.active.then(|| RedcapSpec { geometry, miss: Some(miss), cap: None, ..self.cache.clone() });
        TrialCandidate { off, contents, ..TrialCandidate::new(self.scheduler.clone(), redcap) }
    }
}

/// What the disk did in a trial.
fn work(report: &RunReport) -> DiskWork {
    let busy_s = report.utilization * report.elapsed_s;
    match &report.redcap {
        None => DiskWork { busy_s, requests: report.dispatched as f64, segments: 0.0 },
        Some(redcap) => {
            let requests = redcap.disk.requests.saturating_sub(redcap.disk.prefetches) as f64;
            DiskWork { busy_s, requests, segments: redcap.counters.misses as f64 }
        }
    }
}

/// The other way to read a segment that is absent.
const fn other(miss: Miss) -> Miss {
    match miss {
        Miss::Split => Miss::Combined,
        Miss::Combined => Miss::Split,
    }
}

/// The cheapest of the trials that are certainly cheaper than the `current` one; that one if there is none.
fn best(trials: &[Trial], current: usize) -> usize {
    let (old, share) = (&trials[current], 1.0 - LEAST_GAIN_OF_SIZES);
    let is_better = |new: &Trial| new.cost < share * old.cost && is_sure(old, new, share);
    let better = trials.iter().enumerate().filter(|(_, new)| is_better(new));
    better.min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost)).map_or(current, |(n, _)| n)
}

/// Whether `new` costs less than `share` of `old`, with the confidence [`SURE`].
fn is_sure(old: &Trial, new: &Trial, share: f64) -> bool {
    let (Some(old), Some(new)) = (&old.shares, &new.shares) else { return false };
    confidence(old, new, share).is_some_and(|sure| sure >= SURE)
}
