//! [`DiskFlight`]: the autopilot of one disk.

mod autopilot_loop;
mod capture_pauses;
mod guard;

use super::audit::{Audit, AuditEvent};
use super::candidate_set::CandidateSet;
use super::device_lock::DeviceLock;
use super::experience_file::ExperienceFile;
use super::journal::Journal;
use super::load::LoadMeter;
use super::pilot_thread::{Simulators, run_jobs};
use super::process_queues::ProcessQueues;
use super::status::{DiskStatus, Phase, Shared};
use crate::{Backend, BlockQueue, Capture, CaptureOptions, Delivery, LearnedDisk, LiveError, QueueState, Traffic};
use autopilot_loop::{AutopilotLoop, EventSink};
use capture_pauses::CapturePauses;
use guard::Guard;
use iopilot_block::{InputError, Nanos};
use iopilot_catalogue::AnyDevice;
use iopilot_dads::{Autopilot, AutopilotSettings, Policy};
use iopilot_device::{ConstantDevice, Device};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::RunConfig;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// How many requests a check tries with one candidate: more would add nothing but memory.
const TRIED: u64 = 20_000;
/// The shortest time of capturing before a check of an interval; and before a prediction, which needs a whole window.
const SHORTEST_CAPTURE: Duration = Duration::from_millis(250);
const WINDOW_CAPTURE: Duration = Duration::from_millis(650);
/// The kernel's buffer for each CPU. It holds 58,000 requests; the daemon polls an idle disk twice a second.
const BUFFER_KB: u32 = 4096;
/// A request without completion after this time is given up.
const LONGEST: Nanos = Nanos::from_secs(120);

/// The model of a disk.
#[derive(Clone, Debug)]
pub enum Model {
    /// A given model.
    Given {
        /// Its name.
        name: String,
        /// The disk before its first request.
        device: AnyDevice,
    },
    /// One that learns from what the disk does (GF 4.3.1).
    Learned {
        /// The file that holds the learned model.
        state: PathBuf,
    },
}

/// The settings of a disk's flight.
#[derive(Clone, Debug)]
pub struct FlightOptions {
    /// The disk.
    pub device: PathBuf,
    /// Its model.
    pub model: Model,
    /// The block layer above it, and the CPUs.
    pub run: RunConfig,
    /// Whether requests beyond the end of the model wrap around, rather than the model being too small.
    pub wrap: bool,
    /// The schedulers to choose from; where none are named, all that the kernel offers.
    pub candidates: Vec<SchedulerSpec>,
    /// The administrator's scheduler; `None` for the one in use.
    pub default: Option<SchedulerSpec>,
    /// How the autopilot decides. Its candidates are those of the disk.
    pub decisions: AutopilotSettings,
    /// Where it is remembered what candidates did with each kind of load; `None` for nowhere.
    pub memory: Option<PathBuf>,
    /// Whether only to say what would be done.
    pub dry_run: bool,
    /// How to capture.
    pub backend: Backend,
    /// Where journals are.
    pub runtime: PathBuf,
}

/// A disk ready to be flown: all options have been checked.
pub(super) struct DiskFlight {
    options: FlightOptions,
    queue: BlockQueue,
    candidate_set: CandidateSet,
    original: QueueState,
    capture: Capture,
    autopilot: Autopilot<AnyDevice>,
    memory: Option<ExperienceFile>,
    /// Why what was learned before is lost, if it is.
    forgotten: Option<String>,
    /// The learning model, if there is one.
    learned: Option<LearnedDisk>,
    /// Puts everything back when it is dropped; a dry run has nothing to put back.
    guard: Option<Guard>,
    /// Released after the guard.
    lock: DeviceLock,
    capacity: u64,
    diskseq: Option<u64>,
}

impl DiskFlight {
    /// Checks all options and starts the capture.
    pub(super) fn prepare(options: FlightOptions) -> Result<Self, LiveError> {
        let queue = BlockQueue::open(&options.device)?;
        let lock = DeviceLock::take(&options.device, queue.device_number()?)?;
        let diskseq = queue.diskseq();
        let original = queue.state()?;
        let candidate_set = CandidateSet::of(&queue, &original, &options.candidates, options.default.as_ref())?;
        let sectors = queue.sectors()?;
        let mut learned = match &options.model {
            // A trained table goes on learning (GF 4.3.1, "Dynamic behavior").
            Model::Given { device: AnyDevice::Table(disk), .. } => Some(LearnedDisk::given(&queue, disk)?),
            Model::Given { .. } => None,
            Model::Learned { state } => Some(LearnedDisk::open(&queue, state)?),
        };
        let (name, device) = match (&options.model, &mut learned) {
            (Model::Given { name, device }, _) => (name.as_str(), Some(device.clone())),
            (Model::Learned { .. }, learned) => ("learned", learned.as_mut().and_then(LearnedDisk::device)),
        };
        // A placeholder: nothing is tried until the model has learned enough.
        let device = device.unwrap_or_else(|| ConstantDevice::simple(sectors, 1, Nanos::from_millis(1), 1.0).into());
        let capacity = device.capacity();
        if capacity < sectors && !options.wrap {
            let field = format!("{}: model {name}", queue.name());
            let expected = format!("at least the disk's {sectors} sectors, or --fit wrap");
            return Err(InputError::new(field, format!("{capacity} sectors"), expected).into());
        }
        let policy = match options.decisions.policy {
            // Nothing can be tried.
            Policy::Confirmed { .. } if options.dry_run => Policy::Confirmed { disk_trials: false },
            policy => policy,
        };
        let learns = matches!(options.model, Model::Learned { .. });
        let settings = AutopilotSettings {
            initial: candidate_set.initial,
            default: candidate_set.default,
            policy,
            prediction_error: match learns {
                true => AutopilotSettings::ERROR_OF_A_LEARNED_MODEL,
                false => AutopilotSettings::ERROR_OF_A_GIVEN_MODEL,
            },
            ..options.decisions.clone().with_candidates(candidate_set.candidates.clone())
        };
        let names = candidate_set.candidates.iter().map(ToString::to_string).collect();
        let memory = options.memory.clone().map(|path| ExperienceFile::new(path, names, options.run.block.queue_depth));
        let mut autopilot = Autopilot::new(settings, device, &options.run)?;
        let mut forgotten = None;
        match memory.as_ref().map(ExperienceFile::read) {
            Some(Ok(Some(experience))) => autopilot.recall(experience),
            Some(Err(e)) => forgotten = Some(format!("what was learned before is lost: {e}")),
            None | Some(Ok(None)) => {}
        }
        // A scheduler may delay one request for seconds while it serves thousands. Those must be seen at once, and the
        // delayed one when it completes.
        let captured = CaptureOptions {
            backend: options.backend,
            buffer_kb: BUFFER_KB,
            delivery: Delivery::AtOnce,
            ..CaptureOptions::new(&options.device)
        };
        let capture = Capture::with_patience(&captured, LONGEST)?;
        let guard = match options.dry_run {
            true => None,
            false => {
                let journal = Journal::begin(&options.runtime, &options.device, &queue, &original)?;
                Some(Guard { queue: queue.clone(), state: original.clone(), journal: Some(journal) })
            }
        };
        Ok(Self {
            options,
            queue,
            candidate_set,
            original,
            capture,
            autopilot,
            memory,
            forgotten,
            learned,
            guard,
            lock,
            capacity,
            diskseq,
        })
    }

    /// The status before the first check.
    pub(super) fn status(&self) -> DiskStatus {
        DiskStatus {
            device: self.queue.name().to_owned(),
            dry_run: self.options.dry_run,
            scheduler: self.original.scheduler.clone(),
            tunables: self.original.tunables.clone(),
            original: self.original.scheduler.clone(),
            candidates: self.candidate_set.candidates.iter().map(ToString::to_string).collect(),
            objective: self.options.decisions.objective.to_string(),
            interval_s: match self.options.decisions.policy {
                Policy::Interval(_) => self.options.decisions.interval.as_secs_f64(),
                Policy::Confirmed { .. } => 0.0,
            },
            model: match &self.options.model {
                Model::Given { name, .. } => name.clone(),
                Model::Learned { state } => format!("learned, {}", state.display()),
            },
            capture: self.capture.backend().to_string(),
            notes: self.capture.note().map(str::to_owned).into_iter().chain(self.forgotten.clone()).collect(),
            ..DiskStatus::default()
        }
    }

    /// Flies until `stop`, or until the disk is gone; then restores the queue.
    ///
    /// # Errors
    /// Any failure of the flight. The queue is restored then, too, as far as possible.
    pub(super) fn fly(self, shared: &Shared, audit: &Audit, stop: &Arc<AtomicBool>) -> Result<(), LiveError> {
        let Self {
            options,
            queue,
            candidate_set,
            original,
            capture,
            autopilot,
            memory,
            learned,
            guard,
            lock,
            capacity,
            diskseq,
            ..
        } = self;
        let name = queue.name().to_owned();
        let (jobs, taken) = channel();
        let (given, results) = channel();
        let shortest = match options.decisions.policy {
            Policy::Interval(_) => SHORTEST_CAPTURE,
            Policy::Confirmed { .. } => WINDOW_CAPTURE,
        };
        let (result, left) = thread::scope(|scope| {
            // A simulation that panics drops its end of the channels, which the loop notices.
            let simulators = Simulators::default();
            let threads = simulators.clone();
            scope.spawn(move || run_jobs(&taken, &given, &threads));
            let log = EventSink { name: &name, shared, audit };
            let mut watch = AutopilotLoop {
                diskseq,
                expected: original.clone(),
                options: &options,
                queue: &queue,
                candidate_set,
                capture,
                learned,
                queues: ProcessQueues::default(),
                autopilot,
                memory,
                second: LoadMeter::new(Instant::now()),
                interval: LoadMeter::new(Instant::now()),
                saved: Instant::now(),
                jobs,
                results,
                log,
                capacity,
                pauses: CapturePauses::new(TRIED, shortest, Instant::now()),
                began: Instant::now(),
                looked: Instant::now(),
                checked_lost: 0,
                left: (Instant::now(), Traffic::default()),
                inside: 0,
                fresh: Vec::new(),
                not_before: Nanos::ZERO,
                thinking: None,
                simulators,
                standing_by: false,
            };
            watch.begin();
            let result = watch.run(stop);
            watch.save();
            (result, watch.expected)
        });
        let unplugged = matches!(result, Err(LiveError::Unplugged(_)));
        // A queue that outlives its disk may belong to another disk by now, unless it is unchanged.
        let foreign =
            || queue.state().is_ok_and(|now| now.scheduler != left.scheduler || now.tunables != left.tunables);
        let restored = match guard {
            None => Ok(()),
            Some(guard) if unplugged && foreign() => guard.leave(),
            Some(mut guard) => guard.restore(),
        };
        shared.with(|s| {
            s.phase = Phase::Ended;
            s.error = result.as_ref().err().map(ToString::to_string);
        });
        let why = match &result {
            Ok(()) => "asked to".to_owned(),
            Err(e) => e.to_string(),
        };
        let scheduler = if unplugged { None } else { queue.scheduler().ok() };
        if let Some(scheduler) = &scheduler {
            shared.with(|s| s.scheduler.clone_from(scheduler));
        }
        EventSink { name: &name, shared, audit }.tell(&AuditEvent::Stop { why, scheduler });
        drop(lock);
        restored?;
        result
    }
}
