//! [`Autopilot`]: the autopilot of one disk as a pure state machine, the same for a simulated and for a live disk.

use crate::autopilot_job::{
    AutopilotJob, AutopilotJobKind, AutopilotOutput, AutopilotResultKind, JobResult, PredictionJob,
};
use crate::autopilot_settings::{AutopilotSettings, Policy};
use crate::candidates::check_candidates;
use crate::check::SchedulerCheck;
use crate::confirmed::{ConfirmedPilot, Experience};
use crate::interval_pilot::IntervalPilot;
use crate::pilot::Pilot;
use crate::request_window::RequestWindow;
use crate::trial_runner::TrialRunner;
use iopilot_block::{InputError, Nanos};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, SimError};
use iopilot_trace::TraceRecord;

/// The longest time to the next check while a model learns.
const LEARNING: Nanos = Nanos::from_secs(1);
/// The time between two looks at a disk.
const TICK: Nanos = Nanos::from_millis(100);

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
                check_candidates(&settings.candidates)?;
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
            (Decider::Confirmed(pilot), AutopilotResultKind::Prediction(prediction)) => {
                Ok(pilot.predicted(*prediction))
            }
            (Decider::Confirmed(pilot), AutopilotResultKind::FailedPrediction(job, e)) => {
                pilot.failed(job.runner, job.at);
                Err(e)
            }
            (Decider::Interval(interval), AutopilotResultKind::Check(done)) => {
                let (pilot, window, check) = *done;
                Ok(Some(interval.checked(pilot, window, check)))
            }
            (Decider::Interval(interval), AutopilotResultKind::FailedCheck(job, e)) => {
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
            (Decider::Confirmed(pilot), AutopilotJobKind::Prediction(job)) => {
                let PredictionJob { runner, at, .. } = *job;
                if is_learning {
                    return pilot.unpredicted(runner, at);
                }
                pilot.failed(runner, at);
                pilot.missed(at);
                None
            }
            (Decider::Interval(interval), AutopilotJobKind::Check(job)) => {
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
