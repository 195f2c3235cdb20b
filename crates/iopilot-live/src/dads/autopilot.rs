//! [`fly`]: the autopilot of one disk.

use super::audit::{Audit, Event};
use super::brain::{Answer, Order, think};
use super::journal::Journal;
use super::line_up::LineUp;
use super::status::{DiskStatus, Phase, Shared};
use crate::{Backend, BlockQueue, Capture, CaptureOptions, LearnedDisk, LiveError, QueueState};
use iopilot_block::{InputError, Lba, Nanos};
use iopilot_dads::{Check, Objective, Pilot, PilotConfig, Reason, Rule};
use iopilot_device::{AnyDevice, ConstantDevice, Device};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::RunConfig;
use iopilot_trace::TraceRecord;
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at what was captured, while there is something to see.
const BUSY: Duration = Duration::from_millis(20);
/// The same, while nothing happens.
const QUIET: Duration = Duration::from_millis(500);
/// So many requests of an interval are kept; what comes after them is counted only. Some 25 MB.
const LARGEST_WINDOW: usize = 150_000;
/// What a check may simulate, over all candidates: the work of about a second on one core.
const BUDGET: u64 = 600_000;
/// How often what was learned is written down.
const SAVED_EVERY: Duration = Duration::from_secs(300);
/// What a change takes on an idle disk (measured on Linux 6.18).
const CHANGE: Nanos = Nanos::from_millis(22);

/// What is simulated in the place of the disk.
#[derive(Clone, Debug)]
pub enum Model {
    /// A model that somebody made.
    Given {
        /// Its name.
        name: String,
        /// The disk before its first request.
        device: AnyDevice,
    },
    /// One that learns from what the disk does (GF 3.2.1).
    Learned {
        /// The file that keeps what was learned.
        state: PathBuf,
    },
}

/// How to fly a disk.
#[derive(Clone, Debug)]
pub struct FlightOptions {
    /// The disk.
    pub device: PathBuf,
    /// What is simulated in its place.
    pub model: Model,
    /// The block layer above it, and the CPUs.
    pub run: RunConfig,
    /// Whether requests beyond the end of the model wrap around, rather than the model being too small.
    pub wrap: bool,
    /// The schedulers to choose from; where none are named, all that the kernel offers.
    pub candidates: Vec<SchedulerSpec>,
    /// The administrator's, where it is not the one in use.
    pub default: Option<SchedulerSpec>,
    /// From one check to the next.
    pub interval: Duration,
    /// What makes a candidate better.
    pub objective: Objective,
    /// When to change.
    pub rule: Rule,
    /// Whether a change that made things worse is taken back.
    pub revert: bool,
    /// Whether only to say what would be done.
    pub dry_run: bool,
    /// How to capture.
    pub backend: Backend,
    /// Where journals are.
    pub runtime: PathBuf,
}

/// A disk ready to be flown: everything that can be wrong with what was asked for has been looked at.
pub(super) struct Flight {
    options: FlightOptions,
    queue: BlockQueue,
    line_up: LineUp,
    original: QueueState,
    capture: Capture,
    pilot: Pilot<AnyDevice>,
    /// What the disk teaches, where the model is to learn; and whether that is enough to begin with.
    learned: Option<LearnedDisk>,
    ready: bool,
    /// Puts everything back when it is dropped; a dry run has nothing to put back.
    guard: Option<Guard>,
    capacity: u64,
}

/// Puts the queue back as it was, whatever happens.
struct Guard {
    queue: BlockQueue,
    state: QueueState,
    journal: Option<Journal>,
}

impl Guard {
    fn restore(&mut self) -> Result<(), LiveError> {
        let Some(journal) = self.journal.take() else { return Ok(()) };
        match self.queue.restore(&self.state) {
            // Nothing is left to be put back.
            Err(LiveError::Unplugged(_)) | Ok(()) => journal.end(),
            // The journal stays, for the next start to try again.
            Err(e) => Err(e),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(e) = self.restore() {
            eprintln!("iopilot: {}: the scheduler could not be put back: {e}", self.queue.name());
        }
    }
}

impl Flight {
    /// Looks at everything, and begins to capture.
    pub(super) fn prepare(options: FlightOptions) -> Result<Self, LiveError> {
        let queue = BlockQueue::open(&options.device)?;
        let original = queue.state()?;
        let line_up = LineUp::of(&queue, &original, &options.candidates, options.default.as_ref())?;
        let sectors = queue.sectors()?;
        let learned = match &options.model {
            Model::Given { .. } => None,
            Model::Learned { state } => Some(LearnedDisk::open(&queue, state)?),
        };
        let (name, device) = match (&options.model, &learned) {
            (Model::Given { name, device }, _) => (name.as_str(), Some(device.clone())),
            (Model::Learned { .. }, learned) => ("learned", learned.as_ref().and_then(LearnedDisk::device)),
        };
        let ready = device.is_some();
        // Until enough is known nothing is tried on this.
        let device = device.unwrap_or_else(|| ConstantDevice::simple(sectors, 1, Nanos::from_millis(1), 1.0).into());
        let capacity = device.capacity();
        if capacity < sectors && !options.wrap {
            let field = format!("{}: model {name}", queue.name());
            let expected = format!("at least the disk's {sectors} sectors, or --fit wrap");
            return Err(InputError::new(field, format!("{capacity} sectors"), expected).into());
        }
        let config = PilotConfig {
            candidates: line_up.candidates.clone(),
            initial: line_up.initial,
            default: line_up.default,
            objective: options.objective,
            rule: options.rule,
            change_fixed: CHANGE,
            revert: options.revert,
            budget: Some(BUDGET),
        };
        let pilot = Pilot::new(config, device, &options.run)?;
        let capture =
            Capture::start(&CaptureOptions { backend: options.backend, ..CaptureOptions::new(&options.device) })?;
        let guard = match options.dry_run {
            true => None,
            false => {
                let journal = Journal::begin(&options.runtime, &options.device, &queue, &original)?;
                Some(Guard { queue: queue.clone(), state: original.clone(), journal: Some(journal) })
            }
        };
        Ok(Self { options, queue, line_up, original, capture, pilot, learned, ready, guard, capacity })
    }

    /// What there is to tell before the first check.
    pub(super) fn status(&self) -> DiskStatus {
        DiskStatus {
            device: self.queue.name().to_owned(),
            dry_run: self.options.dry_run,
            scheduler: self.original.scheduler.clone(),
            tunables: self.original.tunables.clone(),
            original: self.original.scheduler.clone(),
            candidates: self.line_up.candidates.iter().map(ToString::to_string).collect(),
            objective: self.options.objective.to_string(),
            interval_s: self.options.interval.as_secs_f64(),
            model: match &self.options.model {
                Model::Given { name, .. } => name.clone(),
                Model::Learned { state } => format!("learned, {}", state.display()),
            },
            capture: self.capture.backend().to_string(),
            notes: self.capture.note().map(str::to_owned).into_iter().collect(),
            ..DiskStatus::default()
        }
    }

    /// Flies until `stop`, or until the disk is gone; then everything is as it was.
    ///
    /// # Errors
    /// What went wrong; everything is put back also then, as far as it can be.
    pub(super) fn fly(self, shared: &Shared, audit: &Audit, stop: &Arc<AtomicBool>) -> Result<(), LiveError> {
        let Self { options, queue, line_up, original, capture, pilot, learned, ready, guard, capacity } = self;
        let name = queue.name().to_owned();
        let (orders, taken) = channel();
        let (given, answers) = channel();
        let result = thread::scope(|scope| {
            // A simulation that panics drops its end of the channels, which the watch sees.
            scope.spawn(move || think(pilot, &taken, &given));
            let log = Log { name: &name, shared, audit };
            let mut watch = Watch {
                expected: original.clone(),
                options: &options,
                queue: &queue,
                line_up,
                capture,
                learned,
                ready,
                saved: Instant::now(),
                orders,
                answers,
                log,
                capacity,
                window: Vec::new(),
                fresh: Vec::new(),
                not_before: Nanos::ZERO,
                lost: 0,
                thinking: false,
                standing_by: false,
            };
            watch.begin();
            let result = watch.run(stop);
            watch.save();
            result
        });
        let unplugged = matches!(result, Err(LiveError::Unplugged(_)));
        let restored = guard.map_or(Ok(()), |mut guard| guard.restore());
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
        Log { name: &name, shared, audit }.tell(&Event::Stop { why, scheduler });
        restored?;
        result
    }
}

/// Where events of a disk go.
#[derive(Clone, Copy)]
struct Log<'a> {
    name: &'a str,
    shared: &'a Shared,
    audit: &'a Audit,
}

impl Log<'_> {
    fn tell(&self, event: &Event) {
        // A full disk must not end the flight; the status tells.
        if self.audit.write(self.name, event).is_err() {
            self.shared.with(|s| s.audit_failures += 1);
        }
    }
}

/// The thread that watches a disk and acts on it.
struct Watch<'a> {
    options: &'a FlightOptions,
    queue: &'a BlockQueue,
    line_up: LineUp,
    /// How the queue was left.
    expected: QueueState,
    capture: Capture,
    learned: Option<LearnedDisk>,
    /// Whether the model is good for anything.
    ready: bool,
    /// When what was learned was last written down.
    saved: Instant,
    orders: Sender<Order>,
    answers: Receiver<Answer>,
    log: Log<'a>,
    /// Sectors of the model.
    capacity: u64,
    /// What completed since the last check.
    window: Vec<TraceRecord>,
    fresh: Vec<TraceRecord>,
    /// What arrived before is not of the scheduler in use.
    not_before: Nanos,
    lost: u64,
    thinking: bool,
    standing_by: bool,
}

impl Watch<'_> {
    fn begin(&self) {
        let status = self.log.shared.with(|s| s.clone());
        self.log.tell(&Event::Start {
            scheduler: status.scheduler,
            tunables: status.tunables,
            candidates: status.candidates,
            model: status.model,
            capture: status.capture,
            dry_run: status.dry_run,
            notes: status.notes,
        });
    }

    fn run(&mut self, stop: &AtomicBool) -> Result<(), LiveError> {
        let began = Instant::now();
        let mut due = began + self.options.interval;
        while !stop.load(Ordering::Relaxed) {
            let busy = self.collect()?;
            match self.answers.try_recv() {
                Ok(answer) => self.act(answer)?,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => {
                    return Err(LiveError::Failed("the simulation ended unexpectedly".to_owned()));
                }
            }
            let now = Instant::now();
            if now >= due && !self.thinking {
                self.look_around()?;
                self.check(Nanos::from_millis_f64(began.elapsed().as_secs_f64() * 1e3));
                // An interval counts from the check, as what it collects does.
                due = now + self.options.interval;
            }
            let pause = if busy || self.thinking { BUSY } else { QUIET };
            thread::sleep(pause.min(due.saturating_duration_since(now)).max(Duration::from_millis(1)));
        }
        Ok(())
    }

    /// Takes in what was captured; whether there was anything.
    fn collect(&mut self) -> Result<bool, LiveError> {
        self.capture.poll(&mut self.fresh)?;
        let bytes: u64 = self.fresh.iter().map(|r| r.sectors.bytes()).sum();
        let (count, pending, lost) = (self.fresh.len(), self.capture.pending(), self.capture.lost_events());
        self.log.shared.with(|s| {
            s.requests += count as u64;
            s.bytes += bytes;
            (s.pending, s.lost_events) = (pending, lost);
        });
        if let Some(learned) = &mut self.learned {
            self.fresh.iter().for_each(|record| learned.observe(record));
        }
        let (not_before, capacity) = (self.not_before, self.capacity);
        let room = LARGEST_WINDOW.saturating_sub(self.window.len());
        let fitting = self.fresh.drain(..).filter(|r| r.arrival >= not_before).map(|r| fit(r, capacity));
        self.window.extend(fitting.take(room));
        Ok(count > 0 || pending > 0)
    }

    /// Whether somebody else changed something.
    fn look_around(&mut self) -> Result<(), LiveError> {
        let state = self.queue.state()?;
        if state.scheduler == self.expected.scheduler && state.tunables == self.expected.tunables {
            return Ok(());
        }
        let candidate = self.line_up.position(&state);
        let scheduler = state.scheduler.clone();
        self.log.tell(&Event::ChangedByOthers { scheduler, candidate: candidate.is_some() });
        self.standing_by = candidate.is_none();
        self.window.clear();
        if let Some(which) = candidate {
            self.order(Order::Adopt(which));
        }
        self.expect(state, if candidate.is_some() { Phase::Collecting } else { Phase::StandingBy });
        Ok(())
    }

    /// Gives the model that has learned since to the brain, and writes it down from time to time.
    fn learn(&mut self) {
        let Some(device) = self.learned.as_ref().and_then(LearnedDisk::device) else { return };
        self.ready = true;
        self.order(Order::Model(Box::new(device)));
        if self.saved.elapsed() >= SAVED_EVERY {
            self.save();
        }
    }

    /// Writes down what was learned.
    fn save(&mut self) {
        self.saved = Instant::now();
        if let Some(Err(e)) = self.learned.as_ref().map(LearnedDisk::save) {
            self.log.tell(&Event::Failed { why: format!("writing down what was learned: {e}") });
        }
    }

    /// Has the window checked, if it is worth it.
    fn check(&mut self, at: Nanos) {
        self.learn();
        let lost = self.capture.lost_events();
        let skip = match lost - self.lost {
            _ if self.standing_by => Some("the scheduler in use is no candidate".to_owned()),
            _ if !self.ready => {
                let known = self.learned.as_ref().map_or(0, LearnedDisk::samples);
                Some(format!("the model has learned from {known} requests, which is too few"))
            }
            0 => None,
            n => Some(format!("{n} events were lost: what was captured is not to be trusted")),
        };
        self.lost = lost;
        if let Some(why) = skip {
            self.window.clear();
            return self.log.tell(&Event::Skipped { why });
        }
        let (window, pending) = (std::mem::take(&mut self.window), self.capture.pending());
        self.thinking = true;
        self.log.shared.with(|s| s.phase = Phase::Simulating);
        self.order(Order::Check { window, pending, at });
    }

    /// Carries out what was decided.
    fn act(&mut self, answer: Answer) -> Result<(), LiveError> {
        self.thinking = false;
        if self.window.is_empty() {
            self.window = answer.window;
        }
        let took = answer.took.as_secs_f64();
        self.log.shared.with(|s| {
            s.simulating_s += took;
            s.phase = Phase::Collecting;
        });
        let check = match answer.check {
            Ok(check) => check,
            Err(e) => {
                self.log.tell(&Event::Failed { why: format!("a check: {e}") });
                return Ok(());
            }
        };
        self.log.shared.with(|s| s.checked(&check));
        let change_s = match check.changes() {
            true if self.options.dry_run => {
                self.order(Order::Declined);
                None
            }
            true => self.change(&check)?,
            false => None,
        };
        // An idle disk would fill the audit with nothing.
        if check.reason != Reason::Idle {
            self.log.tell(&Event::Check { carried_out: change_s.is_some(), check, simulated_in_s: took, change_s });
        }
        Ok(())
    }

    /// Changes the scheduler; how long that took, or nothing where the kernel refused.
    fn change(&mut self, check: &Check) -> Result<Option<f64>, LiveError> {
        let to = self.line_up.candidates.iter().position(|c| c.to_string() == check.decision);
        let Some(to) = to else { return Ok(None) };
        // What somebody else did while the candidates were tried comes first.
        let state = self.queue.state()?;
        if state.scheduler != self.expected.scheduler || state.tunables != self.expected.tunables {
            self.order(Order::Declined);
            self.look_around()?;
            return Ok(None);
        }
        self.log.shared.with(|s| s.phase = Phase::Changing);
        let pending = self.capture.pending();
        let began = Instant::now();
        let done = self.line_up.put_in_place(self.queue, to);
        let took = began.elapsed();
        match done {
            Ok(()) => {}
            Err(e @ LiveError::Unplugged(_)) => return Err(e),
            Err(e) => {
                self.log.tell(&Event::Failed { why: format!("changing to {}: {e}", check.decision) });
                self.queue.restore(&self.expected)?;
                self.order(Order::Declined);
                self.order(Order::Exclude(to));
                self.log.shared.with(|s| s.phase = Phase::Collecting);
                return Ok(None);
            }
        }
        self.order(Order::Changed { pending, took: Nanos(took.as_nanos() as u64) });
        // What was inside during the change says nothing of either scheduler.
        self.collect()?;
        self.not_before = self.capture_clock();
        self.window.clear();
        let state = self.queue.state()?;
        self.expect(state, Phase::Collecting);
        self.log.shared.with(|s| {
            s.changes += 1;
            s.taken_back += u64::from(matches!(check.reason, Reason::Undelivered { .. }));
            s.changing_s += took.as_secs_f64();
            s.last_change = Some(check.clone());
        });
        Ok(Some(took.as_secs_f64()))
    }

    /// From now on the queue is to be as `state` is.
    fn expect(&mut self, state: QueueState, phase: Phase) {
        self.log.shared.with(|s| {
            s.scheduler.clone_from(&state.scheduler);
            s.tunables.clone_from(&state.tunables);
            s.phase = phase;
        });
        self.expected = state;
    }

    /// Now, as requests' times count.
    fn capture_clock(&self) -> Nanos {
        let t = clock_gettime(ClockId::Monotonic);
        let now = Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64);
        self.capture.origin().map_or(Nanos::ZERO, |origin| now.since(origin))
    }

    /// A brain that is gone is noticed where its answer is missed.
    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

/// `record` within a model of `capacity` sectors.
fn fit(mut record: TraceRecord, capacity: u64) -> TraceRecord {
    let length = u64::from(record.sectors.0).min(capacity);
    if record.lba.0 + length > capacity {
        record.lba = Lba(record.lba.0 % (capacity - length + 1));
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Op, Sectors};

    #[test]
    fn what_lies_beyond_a_model_wraps_around() {
        let at = |lba| fit(TraceRecord::new(Nanos::ZERO, Op::Read, Lba(lba), Sectors(8)), 100).lba.0;
        assert_eq!([at(0), at(92), at(93), at(100), at(1000)], [0, 92, 0, 7, 70]);
    }
}
