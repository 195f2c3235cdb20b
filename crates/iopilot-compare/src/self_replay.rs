//! [`SelfReplay`]: a recording replayed under its own scheduler, which shows the error of the model.

use iopilot_sched::{SchedulerInfo, SchedulerSpec};
use iopilot_sim::{Machine, Progress, RunOptions, SimError, simulate};
use iopilot_workload::Workload;
use serde::Serialize;

/// The largest error of a self-replay with which predictions can be trusted, in percent.
pub const LARGEST_ERROR_PERCENT: f64 = 10.0;

/// A recording replayed under the scheduler that it was recorded under. The difference is the error of the model: of the disk,
/// the block layer, or the think times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfReplay {
    /// The recording's file.
    pub workload: String,
    /// The scheduler with its settings, as on the command line.
    pub scheduler: String,
    /// The recording's disk: its name in the kernel, and its model if that is known.
    pub recorded_on: String,
    /// Whether the simulated disk is the recording's. If it is another, the differences are not errors of the model. `None` if the
    /// recording does not say.
    pub same_disk: Option<bool>,
    /// The times of the recording.
    pub recorded: ReplayTimes,
    /// The times of the replay.
    pub replayed: ReplayTimes,
    /// The error of the model's elapsed time, in percent of the recorded time.
    pub elapsed_error_percent: f64,
    /// The error of the model's waiting time, in percent of the recorded time. If no process waits, that of the mean response
    /// time.
    pub wait_error_percent: f64,
}

/// The times of a recording, or of its replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReplayTimes {
    /// From the first arrival to the last completion, in seconds.
    pub elapsed_s: f64,
    /// Mean time from arrival to completion, in milliseconds.
    pub response_ms_mean: f64,
    /// The mean time that a process waits for a request that it waits for, in milliseconds.
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
        // If this program does not accept a value that a kernel accepts, the defaults are used.
        let scheduler = SchedulerSpec::parse(&system.scheduler_spec(defaults))
            .or_else(|_| SchedulerSpec::parse(&system.scheduler))
            .ok()?;
        let recorded = ReplayTimes {
            elapsed_s: observed.elapsed_s,
            response_ms_mean: observed.response_ms_mean,
            wait_ms_mean: observed.wait_ms_mean,
        };
        Some(simulate(machine, workload, &scheduler, options, progress).map(|run| {
            let replayed = ReplayTimes {
                elapsed_s: run.elapsed_s,
                response_ms_mean: run.response_ms.mean,
                wait_ms_mean: run.wait_ms_mean,
            };
            let waits = recorded.wait_ms_mean > 0.0;
            let wait = |m: &ReplayTimes| if waits { m.wait_ms_mean } else { m.response_ms_mean };
            Self {
                workload: workload.summary(options.seed).name,
                scheduler: run.scheduler,
                recorded_on: match &system.model {
                    Some(model) => format!("{}, {}", system.device, model.trim()),
                    None => system.device.clone(),
                },
                same_disk: machine.has_disk_of(system),
                elapsed_error_percent: error_percent(replayed.elapsed_s, recorded.elapsed_s),
                wait_error_percent: error_percent(wait(&replayed), wait(&recorded)),
                recorded,
                replayed,
            }
        }))
    }

    /// Whether the recording shows that the model is too far off to be trusted.
    pub fn warns(&self) -> bool {
        self.same_disk != Some(false) && !self.is_near()
    }

    /// Whether the replay is close to the recording.
    pub fn is_near(&self) -> bool {
        self.elapsed_error_percent.abs() <= LARGEST_ERROR_PERCENT
            && self.wait_error_percent.abs() <= LARGEST_ERROR_PERCENT
    }
}

fn error_percent(ours: f64, real: f64) -> f64 {
    if real > 0.0 { 100.0 * (ours / real - 1.0) } else { 0.0 }
}
