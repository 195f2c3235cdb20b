//! [`SelfReplay`]: what the model makes of a recording under the recording's own scheduler.

use iopilot_sched::{SchedulerInfo, SchedulerSpec};
use iopilot_sim::{Machine, Progress, RunOptions, SimError, simulate};
use iopilot_workload::Workload;
use serde::Serialize;

/// Beyond this error of a self-replay, predictions are not to be trusted; in percent.
pub const LARGEST_ERROR_PERCENT: f64 = 10.0;

/// A recording replayed under the scheduler that it was recorded under. The difference is the error of the model: of the disk,
/// the block layer, or the think times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfReplay {
    /// The recording's file.
    pub workload: String,
    /// The scheduler with its settings, as on the command line.
    pub scheduler: String,
    /// What was measured.
    pub recorded: MeasuredReplay,
    /// What the model gives.
    pub replayed: MeasuredReplay,
    /// How far the model's elapsed time is off, in percent of the recorded.
    pub elapsed_error_percent: f64,
    /// How far the model's waiting is off, or its mean response time where no process waits, in percent of the recorded.
    pub wait_error_percent: f64,
}

/// The times of a recording, or of its replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeasuredReplay {
    /// From the first arrival to the last completion, in seconds.
    pub elapsed_s: f64,
    /// Mean time from arrival to completion, in milliseconds.
    pub response_ms_mean: f64,
    /// How long processes wait for each request that they wait for, in milliseconds.
    pub wait_ms_mean: f64,
}

impl SelfReplay {
    /// That of `workload` on `machine`. `None` where the workload does not say under which scheduler it was recorded, or what
    /// was measured, or where its scheduler is not one of ours.
    pub(crate) fn of(
        machine: &Machine,
        workload: &Workload,
        options: &RunOptions,
        progress: &Progress,
    ) -> Option<Result<Self, SimError>> {
        let recording = workload.recording()?;
        let (system, observed) = (recording.system.as_ref()?, recording.observed?);
        let info = SchedulerInfo::of(&system.scheduler)?;
        let defaults = info.tunables.iter().map(|tunable| (tunable.name, tunable.default.to_string()));
        // A value that a kernel takes and this program does not is left at its default.
        let scheduler = SchedulerSpec::parse(&system.scheduler_spec(defaults))
            .or_else(|_| SchedulerSpec::parse(&system.scheduler))
            .ok()?;
        let recorded = MeasuredReplay {
            elapsed_s: observed.elapsed_s,
            response_ms_mean: observed.response_ms_mean,
            wait_ms_mean: observed.wait_ms_mean,
        };
        Some(simulate(machine, workload, &scheduler, options, progress).map(|run| {
            let replayed = MeasuredReplay {
                elapsed_s: run.elapsed_s,
                response_ms_mean: run.response_ms.mean,
                wait_ms_mean: run.wait_ms_mean,
            };
            let waits = recorded.wait_ms_mean > 0.0;
            let wait = |m: &MeasuredReplay| if waits { m.wait_ms_mean } else { m.response_ms_mean };
            Self {
                workload: workload.summary(options.seed).name,
                scheduler: run.scheduler,
                elapsed_error_percent: error_percent(replayed.elapsed_s, recorded.elapsed_s),
                wait_error_percent: error_percent(wait(&replayed), wait(&recorded)),
                recorded,
                replayed,
            }
        }))
    }

    /// Whether the model is near enough to the recording to be trusted.
    pub fn is_near(&self) -> bool {
        self.elapsed_error_percent.abs() <= LARGEST_ERROR_PERCENT
            && self.wait_error_percent.abs() <= LARGEST_ERROR_PERCENT
    }
}

fn error_percent(ours: f64, real: f64) -> f64 {
    if real > 0.0 { 100.0 * (ours / real - 1.0) } else { 0.0 }
}
