//! [`fit_host`]: fits the time that a host adds to a request to a recording from that host.

use crate::self_replay::SelfReplay;
use iopilot_device::Device;
use iopilot_sched::SchedulerInfo;
use iopilot_sim::{Machine, Progress, RunOptions, SimError};
use iopilot_workload::{Recording, Workload};

/// The range of `transport_us`, in microseconds. The first value is the default.
const RANGE: (f64, f64) = (0.0, 100.0);
/// The number of times that the range is halved: to 1.6 microseconds.
const STEPS: u32 = 6;
/// Nothing is fitted unless the self-replay is faster than the recording by this many percent.
const TOO_FAST_PERCENT: f64 = 3.0;
/// The fitted self-replay may take this many percent longer than the recording.
const TOO_LONG_PERCENT: f64 = 3.0;

/// The machine with `transport_us` fitted to the first of `workloads` that allows it, and a sentence for the user. `None` if
/// the description of the machine has a `[host]`, or no recording allows it.
///
/// With a fast drive, most of the time passes before the drive: in the driver, interrupts, a controller, a hypervisor or the
/// server of a virtual disk. Each takes its share of every request, mostly one request at a time. If the self-replay is too
/// fast, `transport_us` is raised until processes wait as long as in the recording, or until the whole replay takes longer than
/// the recording. (A scheduler that prefers some processes makes others wait for another reason.) It is raised only if that
/// explains most of the difference: a few microseconds do not slow down a disk that takes milliseconds. A recording under
/// `none` in which tags ran out also contains the cost of sleeping, and is not used. Nor is one from another disk.
///
/// # Errors
/// As [`iopilot_sim::simulate`].
pub(crate) fn fit_host(
    machine: &Machine,
    workloads: &[Workload],
    options: &RunOptions,
    progress: &Progress,
) -> Result<Option<(Machine, String)>, SimError> {
    if machine.sets_host || machine.device().hardware_queues() > 1 {
        return Ok(None);
    }
    let tells = |recording: &Recording| {
        let on_another = recording.system.as_ref().is_some_and(|system| machine.has_disk_of(system) == Some(false));
        !on_another && nobody_slept(recording)
    };
    let Some(workload) = workloads.iter().find(|workload| workload.recording().is_some_and(tells)) else {
        return Ok(None);
    };
    let error_with = |transport_us: f64| -> Result<Option<(f64, Machine)>, SimError> {
        let mut fitted = machine.clone();
        fitted.host.transport_us = transport_us;
        let replay = SelfReplay::of(&fitted, workload, options, progress).transpose()?;
        Ok(replay
            .map(|replay| (replay.wait_error_percent.max(replay.elapsed_error_percent - TOO_LONG_PERCENT), fitted)))
    };
    let Some((default, _)) = error_with(RANGE.0)?.filter(|(error, _)| *error < -TOO_FAST_PERCENT) else {
        return Ok(None);
    };
    let (mut low, mut high) = RANGE;
    let mut best: Option<(f64, f64, Machine)> = None;
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        let Some((error, fitted)) = error_with(middle)? else { return Ok(None) };
        if error < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
        if best.as_ref().is_none_or(|(least, ..)| error.abs() < least.abs()) {
            best = Some((error, middle, fitted));
        }
    }
    let explained = best.filter(|(error, ..)| error.abs() <= default.abs() / 2.0);
    Ok(explained.map(|(_, transport_us, fitted)| {
        let note = format!(
            "the time between driver and disk was fitted to the recording: transport_us {transport_us:.0}, {:.0} by default; [host] of \
             a machine file sets it",
            RANGE.0
        );
        (fitted, note)
    }))
}

/// Whether no task slept for a tag of the hardware while `recording` was made.
fn nobody_slept(recording: &Recording) -> bool {
    let (Some(system), Some(observed)) = (&recording.system, recording.observed) else { return false };
    let Some(info) = SchedulerInfo::of(&system.scheduler) else { return false };
    let shown = system.attribute("nr_requests").unwrap_or(0);
    let tags = system.queue_depth.map_or(shown, |depth| depth.min(shown));
    info.features.scheduler_tags || observed.in_flight_max < tags
}
