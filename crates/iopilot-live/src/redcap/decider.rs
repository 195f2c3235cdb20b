//! [`Decider`]: decides for the algorithm `adaptive`, by trials on a model of the disk.

use crate::dads::{Simulators, simulators};
use crate::{BlockQueue, DiskIdentity, LearnedDisk, LiveError, QueueSettings};
use iopilot_block::InputError;
use iopilot_catalogue::AnyDevice;
use iopilot_dads::{CacheSetting, RedcapCheck, RedcapPilot};
use iopilot_device::Device;
use iopilot_redcap::RedcapSpec;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, SimError};
use iopilot_trace::TraceRecord;
use rayon::ThreadPool;
use std::ops::Range;
use std::path::PathBuf;

/// The pilot gets a new model once that has learned from this many times as many requests.
const GROWTH: f64 = 1.1;

/// Where the model of the disk comes from.
#[derive(Clone, Debug)]
pub enum RedcapModel {
    /// It is given.
    Given {
        /// What it is called.
        name: String,
        /// The model.
        device: AnyDevice,
    },
    /// It is learned from the disk's requests, and kept in a file.
    Learned {
        /// The file. Default: the [usual one](DiskIdentity::state_file) of the disk.
        state: Option<PathBuf>,
    },
}

/// The model that trials run on.
enum Model {
    Given(Box<AnyDevice>),
    Learned(Box<LearnedDisk>),
    /// Nothing can be tried.
    None,
}

/// Decides whether a cache is of use. Each window of requests is tried with the cache and without it.
pub(super) struct Decider {
    spec: RedcapSpec,
    /// The queue of the disk, and its settings.
    queue: Option<BlockQueue>,
    settings: Option<QueueSettings>,
    /// Sectors of what is cached.
    sectors: u64,
    scheduler: SchedulerSpec,
    config: RunConfig,
    model: Model,
    pilot: Option<RedcapPilot<AnyDevice>>,
    /// Requests that the pilot's model has learned from.
    learned_from: u64,
    pool: Option<ThreadPool>,
}

impl Decider {
    /// A decider for the cache `spec` over these `sectors` of the disk of `queue`. The queue is `None` where the driver
    /// has none: then nothing can be learned.
    ///
    /// # Errors
    /// Where the model is smaller than the disk, or its file is damaged or of another disk.
    pub(super) fn new(
        spec: &RedcapSpec,
        model: &RedcapModel,
        queue: Option<&BlockQueue>,
        sectors: Range<u64>,
    ) -> Result<Self, LiveError> {
        let model = match (model, queue) {
            (RedcapModel::Given { name, device }, _) => {
                let capacity = device.capacity();
                if capacity < sectors.end {
                    let expected = format!("at least the disk's {} sectors", sectors.end);
                    let field = format!("model {name}");
                    return Err(InputError::new(field, format!("{capacity} sectors"), expected).into());
                }
                Model::Given(Box::new(device.clone()))
            }
            (RedcapModel::Learned { state }, Some(queue)) => {
                let usual = || DiskIdentity::of(queue).map(|identity| identity.state_file());
                let state = state.clone().map_or_else(usual, Ok)?;
                Model::Learned(Box::new(LearnedDisk::open(queue, &state)?))
            }
            (RedcapModel::Learned { .. }, None) => Model::None,
        };
        let scheduler = scheduler_of(queue)?;
        let settings = queue.and_then(|queue| QueueSettings::of(queue).ok());
        let config = config_of(settings.as_ref());
        let sectors = sectors.end - sectors.start;
        Ok(Self {
            spec: spec.clone(),
            queue: queue.cloned(),
            settings,
            sectors,
            scheduler,
            config,
            model,
            pilot: None,
            learned_from: 0,
            pool: None,
        })
    }

    /// Follows a change of the queue's scheduler and limits. Returns how many requests the queue takes before a process
    /// sleeps, if that is known.
    pub(super) fn follow_queue(&mut self) -> Option<u32> {
        let settings = self.queue.as_ref().and_then(|queue| QueueSettings::of(queue).ok())?;
        let requests = settings.tags();
        if self.settings.as_ref() != Some(&settings) {
            self.config = config_of(Some(&settings));
            // A scheduler that cannot be simulated was reported as `none` before, too.
            self.scheduler = scheduler_of(self.queue.as_ref()).unwrap_or_else(|_| self.scheduler.clone());
            if let Some(pilot) = &mut self.pilot {
                pilot.set_queue(&self.scheduler, &self.config);
            }
            self.settings = Some(settings);
        }
        Some(requests)
    }

    /// How the cache is to be used; `None` before anything was tried.
    pub(super) fn setting(&self) -> Option<&CacheSetting> {
        self.pilot.as_ref().map(RedcapPilot::setting)
    }

    /// Learns from requests to the disk, whose addresses are those of the whole disk.
    pub(super) fn observe(&mut self, below: &[TraceRecord]) {
        if let Model::Learned(learned) = &mut self.model {
            below.iter().for_each(|record| learned.observe(record));
            learned.observe_depth(below);
        }
    }

    /// Why nothing can be decided; `None` if it can.
    pub(super) fn why_incomplete(&self) -> Option<String> {
        match &self.model {
            Model::Given(_) => None,
            Model::Learned(learned) => learned.why_incomplete(),
            Model::None => Some("its driver has no queue to learn from, expected a model for --disk".to_owned()),
        }
    }

    /// Decides on a window of requests, with `pending` in flight after it. `None` where there is too little to decide
    /// on.
    ///
    /// # Errors
    /// Where a trial fails.
    pub(super) fn decide(
        &mut self,
        window: &mut [TraceRecord],
        pending: usize,
    ) -> Result<Option<RedcapCheck>, SimError> {
        self.renew();
        let Some(pilot) = self.pilot.as_mut() else { return Ok(None) };
        window.sort_by_key(|record| record.arrival);
        match &self.pool {
            Some(pool) => pool.install(|| pilot.check(window, pending)),
            // No threads could be started: use this one.
            None => pilot.check(window, pending),
        }
    }

    /// Saves a learned model.
    ///
    /// # Errors
    /// Where its file cannot be written.
    pub(super) fn save(&mut self) -> Result<(), LiveError> {
        match &mut self.model {
            Model::Learned(learned) => learned.save(),
            Model::Given(_) | Model::None => Ok(()),
        }
    }

    /// Makes the pilot, and replaces its model once that has learned a good deal more.
    fn renew(&mut self) {
        let device = match &mut self.model {
            Model::Given(device) if self.pilot.is_none() => Some((**device).clone()),
            Model::Learned(learned) if learned.samples() as f64 >= GROWTH * self.learned_from as f64 => {
                let device = learned.device();
                self.learned_from = if device.is_some() { learned.samples() } else { self.learned_from };
                device
            }
            _ => None,
        };
        if let Some(device) = device {
            self.pool = self.pool.take().or_else(|| simulators(&Simulators::default()).ok());
            match &mut self.pilot {
                Some(pilot) => pilot.replace_model(device),
                none => {
                    let (spec, scheduler) = (&self.spec, &self.scheduler);
                    *none = Some(RedcapPilot::new(spec, device, scheduler, &self.config, self.sectors));
                }
            }
        }
    }
}

/// The settings of trials above a queue with these settings.
fn config_of(settings: Option<&QueueSettings>) -> RunConfig {
    let rotational = settings.is_none_or(|settings| settings.rotational);
    RunConfig { rotational, block: settings.map(QueueSettings::limits).unwrap_or_default(), ..RunConfig::default() }
}

/// The scheduler of a queue. A scheduler that cannot be simulated counts as serving in order of arrival, and so does a
/// missing queue.
pub(super) fn scheduler_of(queue: Option<&BlockQueue>) -> Result<SchedulerSpec, InputError> {
    let name = queue.and_then(|queue| queue.scheduler().ok()).unwrap_or_default();
    SchedulerSpec::parse(&name).or_else(|_| SchedulerSpec::parse("none"))
}
