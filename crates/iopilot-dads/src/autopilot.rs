//! [`Autopilot`]: the autopilot of one disk as a pure state machine, the same for a simulated and for a live disk.

use crate::check::SchedulerCheck;
use crate::confirmed::{ConfirmedPilot, Experience};
use crate::judge::Rule;
use crate::objective::Objective;
use crate::pilot::Pilot;
use crate::request_window::RequestWindow;
use crate::trial::Trial;
use crate::trial_runner::TrialRunner;
use iopilot_block::{InputError, Nanos, ProcessId};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, SimError};
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;

/// How decisions are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Simulation proposes, and short trials on the disk confirm. Without `disk_trials`, simulation decides alone.
    Confirmed {
        /// Whether candidates are tried on the disk.
        disk_trials: bool,
    },
    /// A rule on the simulated costs of each interval, as in the thesis (GF 4.4.3).
    Interval(Rule),
}

/// The settings of an autopilot. [`Self::new`] has the defaults of every command.
#[derive(Clone, Debug)]
pub struct AutopilotSettings {
    /// The schedulers to choose from.
    pub candidates: Vec<SchedulerSpec>,
    /// The scheduler in use at the start: an index of `candidates`.
    pub initial: usize,
    /// The administrator's scheduler: an index of `candidates`. The thesis' rule returns to it after too many changes.
    pub default: usize,
    /// What makes one scheduler better than another.
    pub objective: Objective,
    /// How decisions are made.
    pub policy: Policy,
    /// With [`Policy::Interval`]: the time from one check to the next.
    pub interval: Nanos,
    /// What a change takes on an idle disk.
    pub change_fixed: Nanos,
    /// With [`Policy::Interval`]: whether a change that made things worse is taken back.
    pub revert: bool,
    /// With [`Policy::Interval`]: whether a degraded scheduler is reinstalled.
    pub renew: bool,
    /// How many requests a prediction may simulate, over all candidates; `None` for all.
    pub budget: Option<u64>,
    /// A window with fewer requests is tried in an extended trial; with 0, as in the thesis, never.
    pub trial_requests: u64,
    /// The standard deviation of a prediction's error at first, as a logarithm of the rate.
    pub prediction_error: f64,
}

/// The time from check to check in the thesis (GF 4.4.1).
const INTERVAL: Nanos = Nanos::from_secs(5);
/// How long a change takes on an idle disk (measured on Linux 6.18).
const CHANGE: Nanos = Nanos::from_millis(22);
/// The least requests of a trial: schedulers take a while to adapt.
const TRIAL_REQUESTS: u64 = 8000;
/// How many requests one candidate is tried on at most: more would add nothing but time.
const TRIED: u64 = 20_000;
/// How many requests a prediction may simulate: less than a second on one core.
const BUDGET: u64 = 400_000;

impl AutopilotSettings {
    /// How far a prediction by a model that is the disk itself is off, as a logarithm of the rate: only the load is
    /// inferred.
    pub const ERROR_OF_THE_DISK_ITSELF: f64 = 0.1;
    /// The same for a model that was named by the user or trained before.
    pub const ERROR_OF_A_GIVEN_MODEL: f64 = 0.2;
    /// The same for a model that is learned meanwhile.
    pub const ERROR_OF_A_LEARNED_MODEL: f64 = 0.3;

    /// The defaults: confirmed decisions, the first candidate in use.
    pub fn new(candidates: Vec<SchedulerSpec>) -> Self {
        let budget = BUDGET.min(TRIED * candidates.len() as u64);
        Self {
            candidates,
            initial: 0,
            default: 0,
            objective: Objective::default(),
            policy: Policy::Confirmed { disk_trials: true },
            interval: INTERVAL,
            change_fixed: CHANGE,
            revert: false,
            renew: false,
            budget: Some(budget),
            trial_requests: TRIAL_REQUESTS,
            prediction_error: Self::ERROR_OF_A_GIVEN_MODEL,
        }
    }

    /// The rule of the thesis with the thesis' settings: each window is tried once, whole and alone.
    pub fn thesis(candidates: Vec<SchedulerSpec>, rule: Rule) -> Self {
        Self { policy: Policy::Interval(rule), budget: None, trial_requests: 0, ..Self::new(candidates) }
    }

    /// The same settings for these candidates of a live disk, whatever the policy: a check must not take long.
    #[must_use]
    pub fn with_candidates(self, candidates: Vec<SchedulerSpec>) -> Self {
        let budget = Some(BUDGET.min(TRIED * candidates.len() as u64));
        Self { candidates, budget, ..self }
    }

    /// How many requests one candidate is tried on at most.
    pub(crate) fn requests_per_trial(&self) -> u64 {
        self.budget.map_or(u64::MAX, |all| (all / self.candidates.len().max(1) as u64).max(1))
    }
}

/// What an autopilot wants.
#[derive(Debug)]
pub enum AutopilotOutput<M> {
    /// Simulate, and give back the result ([`Autopilot::finished`]). It may take a while; the autopilot goes on meanwhile.
    Job(AutopilotJob<M>),
    /// A decision was made. If it acts ([`SchedulerCheck::acts`]), the caller carries it out and reports what came of
    /// it: [`Autopilot::installed`] or [`Autopilot::refused`].
    Check(SchedulerCheck),
}

/// Simulations that an autopilot asks for.
#[derive(Debug)]
pub struct AutopilotJob<M>(JobKind<M>);

#[derive(Debug)]
enum JobKind<M> {
    Prediction(Box<PredictionJob<M>>),
    Check(Box<CheckJob<M>>),
}

/// Candidates to try on a window.
#[derive(Debug)]
pub(crate) struct PredictionJob<M> {
    pub(crate) runner: TrialRunner<M>,
    pub(crate) window: RequestWindow,
    pub(crate) pending: usize,
    pub(crate) at: Nanos,
    pub(crate) candidates: Vec<SchedulerSpec>,
    pub(crate) current: usize,
    pub(crate) objective: Objective,
}

impl<M> From<PredictionJob<M>> for AutopilotJob<M> {
    fn from(job: PredictionJob<M>) -> Self {
        Self(JobKind::Prediction(Box::new(job)))
    }
}

/// What came of a [`PredictionJob`].
#[derive(Debug)]
pub(crate) struct Prediction<M> {
    pub(crate) runner: TrialRunner<M>,
    pub(crate) window: RequestWindow,
    pub(crate) at: Nanos,
    pub(crate) trials: Vec<Trial>,
    pub(crate) measured: Option<f64>,
    pub(crate) current: usize,
}

/// A check of a [`Pilot`].
#[derive(Debug)]
struct CheckJob<M> {
    pilot: Pilot<M>,
    window: RequestWindow,
    pending: usize,
    at: Nanos,
}

/// The result of an [`AutopilotJob`].
#[derive(Debug)]
pub struct JobResult<M>(ResultKind<M>);

#[derive(Debug)]
enum ResultKind<M> {
    Prediction(Box<Prediction<M>>),
    Check(Box<(Pilot<M>, RequestWindow, SchedulerCheck)>),
    /// The simulations failed; the machine that made them comes back.
    FailedPrediction(Box<PredictionJob<M>>, SimError),
    FailedCheck(Box<CheckJob<M>>, SimError),
}

impl<M: Device + Clone + Send + Sync> AutopilotJob<M> {
    /// The requests to try candidates on, in order of arrival.
    pub fn records(&mut self) -> &[TraceRecord] {
        match &mut self.0 {
            JobKind::Prediction(job) => job.window.records(),
            JobKind::Check(job) => job.window.records(),
        }
    }

    /// Replaces the model by one that has learned.
    pub fn replace_model(&mut self, model: M) {
        match &mut self.0 {
            JobKind::Prediction(job) => job.runner.replace(model),
            JobKind::Check(job) => job.pilot.replace_model(model),
        }
    }

    /// Notes how many requests processes keep in flight, as an observer of them reports. It matters while the scheduler
    /// in use lets them sleep for the device's tags.
    pub fn tell_in_flight(&mut self, in_flight: BTreeMap<ProcessId, u32>) {
        match &mut self.0 {
            JobKind::Prediction(job) => job.runner.tell_in_flight(in_flight),
            JobKind::Check(job) => job.pilot.tell_in_flight(in_flight),
        }
    }

    /// Simulates, on all threads of the pool that it is called in.
    #[must_use]
    pub fn run(self) -> JobResult<M> {
        JobResult(match self.0 {
            JobKind::Prediction(mut job) => {
                let records = job.window.records();
                let tried = job.runner.try_all(records, job.pending, &job.candidates, job.current, job.objective);
                match tried {
                    Ok(trials) => {
                        let measured = job.runner.measured(job.window.records(), job.objective);
                        let PredictionJob { runner, window, at, current, .. } = *job;
                        ResultKind::Prediction(Box::new(Prediction { runner, window, at, trials, measured, current }))
                    }
                    Err(e) => ResultKind::FailedPrediction(job, e),
                }
            }
            JobKind::Check(mut job) => match job.pilot.check(job.window.records(), job.pending, job.at) {
                Ok(check) => {
                    let check = SchedulerCheck { requests: check.requests + job.window.left_out(), ..check };
                    ResultKind::Check(Box::new((job.pilot, job.window, check)))
                }
                Err(e) => ResultKind::FailedCheck(job, e),
            },
        })
    }
}

/// Decides for one disk. It has no clock and does no I/O: the caller passes in what completed, what is in flight, the
/// time, and what came of an action, and carries out what it asks for.
#[derive(Clone, Debug)]
pub struct Autopilot<M> {
    decider: Decider<M>,
}

#[derive(Clone, Debug)]
enum Decider<M> {
    Confirmed(Box<ConfirmedPilot<M>>),
    Interval(Box<IntervalPilot<M>>),
}

/// A [`Pilot`] that makes a check after each interval.
#[derive(Clone, Debug)]
struct IntervalPilot<M> {
    /// `None` while it simulates.
    pilot: Option<Pilot<M>>,
    window: RequestWindow,
    interval: Nanos,
    next: Nanos,
    pending: usize,
    current: SchedulerSpec,
    /// Whether the last check asked for another scheduler, rather than a reinstallation.
    changes: bool,
}

impl<M: Device + Clone + Send + Sync> Autopilot<M> {
    /// An autopilot that tries its candidates on `model`, with the block layer of `run`.
    ///
    /// # Errors
    /// Where there is no candidate, or they are not all of one kernel: no disk could change between them.
    pub fn new(settings: AutopilotSettings, model: M, run: &RunConfig) -> Result<Self, InputError> {
        let kept = usize::try_from(settings.requests_per_trial()).unwrap_or(usize::MAX).min(usize::MAX / 4);
        let decider = match settings.policy {
            Policy::Interval(rule) => {
                let pilot = Pilot::new(settings.clone(), rule, model, run)?;
                Decider::Interval(Box::new(IntervalPilot {
                    current: pilot.current().clone(),
                    pilot: Some(pilot),
                    window: RequestWindow::new(kept),
                    interval: settings.interval,
                    next: settings.interval,
                    pending: 0,
                    changes: false,
                }))
            }
            Policy::Confirmed { disk_trials } => {
                // The same conditions on candidates.
                Pilot::new(settings.clone(), Rule::THESIS, model.clone(), run)?;
                let least = settings.trial_requests.min(settings.requests_per_trial());
                let runner = TrialRunner::new(model, run).with_min_requests(least);
                let current = settings.initial.min(settings.candidates.len() - 1);
                Decider::Confirmed(Box::new(ConfirmedPilot::new(settings, runner, current, disk_trials)))
            }
        };
        Ok(Self { decider })
    }
}

impl<M: Device + Clone + Send + Sync> Autopilot<M> {
    /// The candidate in use, as far as the autopilot knows.
    pub fn current(&self) -> &SchedulerSpec {
        match &self.decider {
            Decider::Confirmed(pilot) => pilot.candidate_in_use(),
            Decider::Interval(interval) => &interval.current,
        }
    }

    /// What the policy of confirmed decisions has learned; `None` with another policy.
    pub fn experience(&self) -> Option<Experience> {
        match &self.decider {
            Decider::Confirmed(pilot) => Some(pilot.experience()),
            Decider::Interval(_) => None,
        }
    }

    /// Begins with what an earlier autopilot of the same disk has learned. Another policy has no use for it.
    pub fn recall(&mut self, experience: Experience) {
        if let Decider::Confirmed(pilot) = &mut self.decider {
            pilot.recall(experience);
        }
    }

    /// The model that candidates are tried on, for it to learn from the real disk (GF 4.3.1, "Dynamic behavior");
    /// `None` while it simulates.
    pub fn model_mut(&mut self) -> Option<&mut M> {
        match &mut self.decider {
            Decider::Confirmed(pilot) => pilot.runner_mut().map(TrialRunner::device_mut),
            Decider::Interval(interval) => interval.pilot.as_mut().map(Pilot::model_mut),
        }
    }

    /// Notes how late time-limited requests have been ([`Pilot::tell_lateness`]), and whether the cache above the block
    /// layer is in use.
    pub fn tell(&mut self, lateness: Option<f64>, redcap_active: bool) {
        match &mut self.decider {
            Decider::Confirmed(pilot) => {
                if let Some(runner) = pilot.runner_mut() {
                    runner.tell_lateness(lateness);
                    runner.tell_redcap_active(redcap_active);
                }
            }
            Decider::Interval(interval) => {
                if let Some(pilot) = &mut interval.pilot {
                    pilot.tell_lateness(lateness);
                    pilot.tell_redcap_active(redcap_active);
                }
            }
        }
    }

    /// Takes in requests that have completed. The memory that it needs is bounded.
    pub fn observe(&mut self, records: impl IntoIterator<Item = TraceRecord>) {
        match &mut self.decider {
            Decider::Confirmed(pilot) => pilot.observe(records.into_iter()),
            Decider::Interval(interval) => interval.window.add(records.into_iter()),
        }
    }

    /// Notes `count` requests that completed unseen until `now`: what was collected has a gap, and begins anew.
    pub fn missed(&mut self, count: u64, now: Nanos) {
        match &mut self.decider {
            Decider::Confirmed(pilot) => pilot.missed(now),
            Decider::Interval(interval) => {
                interval.window.leave_out(count);
                interval.window.forget();
            }
        }
    }

    /// Drops what was collected until `now`: it is not to be trusted.
    pub fn distrust(&mut self, now: Nanos) {
        match &mut self.decider {
            Decider::Confirmed(pilot) => pilot.missed(now),
            Decider::Interval(interval) => interval.window.clear(),
        }
    }

    /// When to call [`Self::tick`] next, after `now`.
    pub fn next_tick(&self, now: Nanos) -> Nanos {
        match &self.decider {
            Decider::Confirmed(_) => now + TICK,
            Decider::Interval(interval) => interval.next,
        }
    }

    /// What to do at `now`, with `pending` requests in flight; `is_changing` while a change of scheduler is under way.
    /// To be called until it returns `None`.
    pub fn tick(&mut self, now: Nanos, pending: usize, is_changing: bool) -> Option<AutopilotOutput<M>> {
        match &mut self.decider {
            Decider::Confirmed(pilot) if is_changing => pilot.changing(now),
            Decider::Confirmed(pilot) => pilot.tick(now, pending),
            Decider::Interval(interval) => interval.tick(now, pending, is_changing),
        }
    }

    /// Takes in the result of a job.
    ///
    /// # Errors
    /// Where the simulations failed. The autopilot can go on.
    pub fn finished(&mut self, result: JobResult<M>) -> Result<Option<SchedulerCheck>, SimError> {
        match (&mut self.decider, result.0) {
            (Decider::Confirmed(pilot), ResultKind::Prediction(prediction)) => Ok(pilot.predicted(*prediction)),
            (Decider::Confirmed(pilot), ResultKind::FailedPrediction(job, e)) => {
                pilot.failed(job.runner, job.at);
                Err(e)
            }
            (Decider::Interval(interval), ResultKind::Check(done)) => {
                let (pilot, window, check) = *done;
                Ok(Some(interval.checked(pilot, window, check)))
            }
            (Decider::Interval(interval), ResultKind::FailedCheck(job, e)) => {
                interval.back(job.pilot, job.window);
                Err(e)
            }
            // A result of another autopilot says nothing here.
            _ => Ok(None),
        }
    }

    /// Takes back a job that cannot be done. With `is_learning` the model has not learned enough yet: the policy of
    /// confirmed decisions then tries candidates of which it knows nothing. Otherwise the requests are not to be
    /// trusted, and are dropped.
    pub fn skip(&mut self, job: AutopilotJob<M>, is_learning: bool) -> Option<SchedulerCheck> {
        match (&mut self.decider, job.0) {
            (Decider::Confirmed(pilot), JobKind::Prediction(job)) => {
                let PredictionJob { runner, at, .. } = *job;
                if is_learning {
                    return pilot.unpredicted(runner, at);
                }
                pilot.failed(runner, at);
                pilot.missed(at);
                None
            }
            (Decider::Interval(interval), JobKind::Check(job)) => {
                if is_learning {
                    interval.next = job.at + interval.interval.min(LEARNING);
                }
                interval.back(job.pilot, job.window);
                None
            }
            // A job of another autopilot.
            _ => None,
        }
    }

    /// When the autopilot needs requests next: `None` for now. Until then the capture may pause.
    pub fn next_need(&self) -> Option<Nanos> {
        match &self.decider {
            Decider::Confirmed(pilot) => pilot.next_need(),
            Decider::Interval(interval) => Some(interval.next),
        }
    }

    /// Notes that the change or reinstallation that was asked for took `took`, and ended at `now` with `pending`
    /// requests in flight.
    pub fn installed(&mut self, pending: usize, took: Nanos, now: Nanos) {
        match &mut self.decider {
            Decider::Confirmed(pilot) => pilot.installed(pending, took, now),
            Decider::Interval(interval) => interval.installed(took),
        }
    }

    /// Notes that what was asked for was not carried out: in a dry run, or as somebody else was faster. A candidate that
    /// the kernel refused is also to be barred ([`Self::exclude`]).
    pub fn refused(&mut self, now: Nanos) {
        match &mut self.decider {
            Decider::Confirmed(pilot) => pilot.refused(now),
            Decider::Interval(interval) => interval.refused(),
        }
    }

    /// Bars candidate `which` for good.
    pub fn exclude(&mut self, which: usize) {
        match &mut self.decider {
            Decider::Confirmed(pilot) => pilot.exclude(which),
            Decider::Interval(interval) => interval.told(|pilot| pilot.exclude(which)),
        }
    }

    /// Notes that somebody else installed candidate `which`.
    pub fn adopt(&mut self, which: usize, now: Nanos) {
        match &mut self.decider {
            Decider::Confirmed(pilot) => pilot.adopt(which, now),
            Decider::Interval(interval) => {
                interval.window.clear();
                interval.told(|pilot| pilot.adopt(which));
            }
        }
    }
}

/// The longest time to the next check while a model learns.
const LEARNING: Nanos = Nanos::from_secs(1);
/// The time between two looks at a disk.
const TICK: Nanos = Nanos::from_millis(100);

impl<M: Device + Clone + Send + Sync> IntervalPilot<M> {
    fn tick(&mut self, now: Nanos, pending: usize, is_changing: bool) -> Option<AutopilotOutput<M>> {
        if now < self.next {
            return None;
        }
        while self.next <= now {
            self.next += self.interval;
        }
        // Requests that complete during a change say nothing about either scheduler.
        let pilot = if is_changing { None } else { self.pilot.take() }?;
        self.pending = pending;
        let job = CheckJob { pilot, window: self.window.take(), pending, at: now };
        Some(AutopilotOutput::Job(AutopilotJob(JobKind::Check(Box::new(job)))))
    }

    fn checked(&mut self, pilot: Pilot<M>, window: RequestWindow, check: SchedulerCheck) -> SchedulerCheck {
        self.changes = check.changes();
        self.back(pilot, window);
        check
    }

    fn back(&mut self, pilot: Pilot<M>, mut window: RequestWindow) {
        self.current = pilot.current().clone();
        self.pilot = Some(pilot);
        if self.window.is_empty() {
            // Its memory is used again.
            window.clear();
            self.window = window;
        }
    }

    fn installed(&mut self, took: Nanos) {
        let (pending, changes) = (self.pending, self.changes);
        if let Some(pilot) = self.pilot.as_mut().filter(|_| changes) {
            pilot.changed(pending, took);
        }
    }

    fn refused(&mut self) {
        self.told(Pilot::declined);
    }

    fn told(&mut self, tell: impl FnOnce(&mut Pilot<M>)) {
        if let Some(pilot) = &mut self.pilot {
            tell(pilot);
            self.current = pilot.current().clone();
        }
    }
}
