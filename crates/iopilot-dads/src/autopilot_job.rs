//! [`AutopilotJob`]: simulations that an autopilot asks for, which run while it goes on.

use crate::check::SchedulerCheck;
use crate::objective::Objective;
use crate::pilot::Pilot;
use crate::request_window::RequestWindow;
use crate::trial::Trial;
use crate::trial_runner::TrialRunner;
use iopilot_block::{Nanos, ProcessId};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::SimError;
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;

/// What an autopilot wants.
#[derive(Debug)]
pub enum AutopilotOutput<M> {
    /// Simulate, and give back the result ([`crate::Autopilot::finished`]). It may take a while; the autopilot goes on meanwhile.
    Job(AutopilotJob<M>),
    /// A decision was made. If it acts ([`SchedulerCheck::acts`]), the caller carries it out and reports what came of
    /// it: [`crate::Autopilot::installed`] or [`crate::Autopilot::refused`].
    Check(SchedulerCheck),
}

/// Simulations that an autopilot asks for.
#[derive(Debug)]
pub struct AutopilotJob<M>(pub(crate) AutopilotJobKind<M>);

#[derive(Debug)]
pub(crate) enum AutopilotJobKind<M> {
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
        Self(AutopilotJobKind::Prediction(Box::new(job)))
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
pub(crate) struct CheckJob<M> {
    pub(crate) pilot: Pilot<M>,
    pub(crate) window: RequestWindow,
    pub(crate) pending: usize,
    pub(crate) at: Nanos,
}

/// The result of an [`AutopilotJob`].
#[derive(Debug)]
pub struct JobResult<M>(pub(crate) AutopilotResultKind<M>);

#[derive(Debug)]
pub(crate) enum AutopilotResultKind<M> {
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
            AutopilotJobKind::Prediction(job) => job.window.records(),
            AutopilotJobKind::Check(job) => job.window.records(),
        }
    }

    /// Replaces the model by one that has learned.
    pub fn replace_model(&mut self, model: M) {
        match &mut self.0 {
            AutopilotJobKind::Prediction(job) => job.runner.replace(model),
            AutopilotJobKind::Check(job) => job.pilot.replace_model(model),
        }
    }

    /// Notes how many requests processes keep in flight, as an observer of them reports. It matters while the scheduler
    /// in use lets them sleep for the device's tags.
    pub fn tell_in_flight(&mut self, in_flight: BTreeMap<ProcessId, u32>) {
        match &mut self.0 {
            AutopilotJobKind::Prediction(job) => job.runner.tell_in_flight(in_flight),
            AutopilotJobKind::Check(job) => job.pilot.tell_in_flight(in_flight),
        }
    }

    /// Simulates, on all threads of the pool that it is called in.
    #[must_use]
    pub fn run(self) -> JobResult<M> {
        JobResult(match self.0 {
            AutopilotJobKind::Prediction(mut job) => {
                let records = job.window.records();
                let tried = job.runner.try_all(records, job.pending, &job.candidates, job.current, job.objective);
                match tried {
                    Ok(trials) => {
                        let measured = job.runner.measured(job.window.records(), job.objective);
                        let PredictionJob { runner, window, at, current, .. } = *job;
                        AutopilotResultKind::Prediction(Box::new(Prediction {
                            runner,
                            window,
                            at,
                            trials,
                            measured,
                            current,
                        }))
                    }
                    Err(e) => AutopilotResultKind::FailedPrediction(job, e),
                }
            }
            AutopilotJobKind::Check(mut job) => match job.pilot.check(job.window.records(), job.pending, job.at) {
                Ok(check) => {
                    let check = SchedulerCheck { requests: check.requests + job.window.left_out(), ..check };
                    AutopilotResultKind::Check(Box::new((job.pilot, job.window, check)))
                }
                Err(e) => AutopilotResultKind::FailedCheck(job, e),
            },
        })
    }
}
