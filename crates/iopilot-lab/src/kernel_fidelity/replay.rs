//! (b) A recording, replayed under the scheduler it was recorded under.
//!
//! Given are the dependencies and think times of its processes, as `iopilot_trace` infers them, and recorded times:
//! those of the CPUs, those of the path to the disk and back, and the disk's clock.

use super::delayed_device::DelayedDevice;
use super::figures::FidelityFigures;
use super::record::LoadRecording;
use super::recorded_timing::RecordedTiming;
use super::shifted_clock::ShiftedClock;
use crate::Setup;
use iopilot_block::Nanos;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, RunConfig, RunOptions, run_timed};
use iopilot_trace::{InferOptions, TraceRecord, infer};
use iopilot_workload::replay::{Dependent, ReplayRecord};

/// A whole number of the kernel's ticks at any `HZ`: a replay begins at the same phase of a tick as the recording.
const SECOND: u64 = 1_000_000_000;
/// A whole number of revolutions of any disk: it does not change the angle of the medium.
const MINUTE: Nanos = Nanos::from_secs(60);

/// The figures of `recording`, replayed on `machine` under the scheduler it was recorded under.
pub(super) fn replayed(
    recording: &LoadRecording,
    scheduler: &SchedulerSpec,
    machine: &Machine,
    setup: &Setup<'_>,
) -> anyhow::Result<FidelityFigures> {
    let begin = Nanos(recording.origin.0 % SECOND);
    let Inserted { records, waited, first } = Inserted::of(&recording.records, begin);
    let requests: Vec<ReplayRecord> = records.iter().map(ReplayRecord::from).collect();
    let source = Dependent::new(requests, infer(&records, &InferOptions::default())?, 1.0);
    let ahead = recording.path.model.unwrap_or_default() + MINUTE - begin;
    let device = DelayedDevice::new(ShiftedClock::new(machine.device(), ahead), &recording.path.ways);
    let config = RunConfig {
        outcomes: true,
        ..machine.run_config(&RunOptions { seed: setup.seed, log: false, ..RunOptions::default() })
    };
    let timing = RecordedTiming::new(&records);
    let report = run_timed(source, device, timing, scheduler, &config, setup.progress, None)?;
    let outcomes = report.outcomes.iter().flatten();
    let responses = outcomes.zip(&waited).map(|(outcome, waited)| outcome.response + *waited).collect();
    Ok(FidelityFigures::from_responses(responses, report.bytes, report.elapsed_s + first.as_secs_f64()))
}

/// The requests as their scheduler saw them: they arrive at their insertion. (Under `none` they arrive at their
/// arrival.)
struct Inserted {
    /// In order of insertion.
    records: Vec<TraceRecord>,
    /// The time from each request's arrival to its insertion.
    waited: Vec<Nanos>,
    /// The time from the first arrival to the first insertion.
    first: Nanos,
}

impl Inserted {
    /// The requests of `records`, `begin` later.
    fn of(records: &[TraceRecord], begin: Nanos) -> Self {
        let mut inserted: Vec<(TraceRecord, Nanos)> = records.iter().map(|r| as_inserted(r, begin)).collect();
        inserted.sort_by_key(|(r, _)| r.arrival);
        let (records, waited): (Vec<_>, Vec<_>) = inserted.into_iter().unzip();
        let first = records.first().map_or(Nanos::ZERO, |r| r.arrival.since(begin));
        Self { records, waited, first }
    }
}

fn as_inserted(r: &TraceRecord, begin: Nanos) -> (TraceRecord, Nanos) {
    let arrival = r.inserted.unwrap_or(r.arrival);
    let [inserted, issue, completion] = [r.inserted, r.issue, r.completion].map(|at| at.map(|at| at + begin));
    (TraceRecord { arrival: arrival + begin, inserted, issue, completion, ..r.clone() }, arrival.since(r.arrival))
}

#[cfg(test)]
mod tests {
    use super::super::service_path::ServicePath;
    use super::super::testing::recorded_readers;
    use super::*;
    use iopilot_sim::Progress;

    /// A simulated kernel records itself.
    #[test]
    fn a_replay_takes_as_long_as_the_recording() {
        for name in ["none", "mq-deadline", "kyber", "bfq"] {
            let (records, spec, machine) = recorded_readers(name);
            let real = FidelityFigures::of(&records);
            // The simulated disk's clock was zero at the run's zero: the model showed the first arrival's time, 0.
            let path = ServicePath { model: Some(Nanos::ZERO), ..ServicePath::default() };
            let recording = LoadRecording { records, origin: Nanos::ZERO, path };
            let setup = Setup { quick: true, seed: 0, progress: &Progress::default() };
            let ours = replayed(&recording, &spec, &machine, &setup).unwrap();
            let off = |ours: f64, real: f64| 100.0 * (ours / real - 1.0);
            assert!(off(ours.mean_ms, real.mean_ms).abs() < 3.0, "{name}: {ours:?} {real:?}");
            assert!(off(ours.mb_s, real.mb_s).abs() < 3.0, "{name}: {ours:?} {real:?}");
        }
    }
}
