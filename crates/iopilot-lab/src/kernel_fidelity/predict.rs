//! (c) The predictions of `iopilot compare` from a recording, under each of the kernel's schedulers.
//!
//! Given is only what a user has: the recording as a trace file, the disk's name, and what the kernel shows of the
//! queue (`/sys/block/*/queue/nr_requests`, and the depth with which the disk was attached). The costs of the CPUs are
//! the defaults, and the simulated disk is no loop device.

use super::figures::FidelityFigures;
use super::record::LoadRecording;
use super::{NR_REQUESTS, SCHEDULERS};
use crate::Setup;
use anyhow::Context as _;
use iopilot_compare::compare;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, Machine, RunOptions};
use iopilot_trace::{Format, TraceWriter};
use iopilot_workload::{Workload, WorkloadOptions};
use tempfile::TempDir;

/// `disk` as the kernel shows it, with a queue of `depth` requests.
pub(super) fn machine(disk: &str, depth: u32) -> anyhow::Result<Machine> {
    let mut machine = Machine::for_disk(disk)?;
    machine.block = BlockConfig {
        queue_depth: Some(depth),
        host_tags: Some(depth),
        nr_requests: Some(NR_REQUESTS),
        // As the kernel shows a loop device.
        write_cache: Some(true),
        fua: Some(false),
        ..BlockConfig::default()
    };
    Ok(machine)
}

/// The predictions for each of [`SCHEDULERS`] from `recording`.
pub(super) fn predicted(
    recording: &LoadRecording,
    machine: &Machine,
    setup: &Setup<'_>,
) -> anyhow::Result<[FidelityFigures; SCHEDULERS.len()]> {
    let folder = TempDir::new().context("making a folder")?;
    let path = folder.path().join("recording.parquet");
    let mut writer = TraceWriter::create(&path, Format::Parquet)?;
    recording.records.iter().try_for_each(|record| writer.write(record))?;
    writer.finish()?;
    let workload = Workload::load(&path, &WorkloadOptions::default(), machine.capacity())?;
    let specs = SCHEDULERS.iter().map(|name| SchedulerSpec::parse(name)).collect::<Result<Vec<_>, _>>()?;
    let options = RunOptions { seed: setup.seed, log: false, ..RunOptions::default() };
    let comparison = compare(machine, &workload, &specs, &options, setup.progress)?;
    let mut predicted = [FidelityFigures::default(); SCHEDULERS.len()];
    for (figures, run) in predicted.iter_mut().zip(&comparison.runs) {
        let response = &run.response_ms;
        *figures = FidelityFigures { mean_ms: response.mean, p99_ms: response.p99, mb_s: run.throughput_mb_s };
    }
    Ok(predicted)
}

#[cfg(test)]
mod tests {
    use super::super::service_path::ServicePath;
    use super::super::testing::recorded;
    use super::*;
    use iopilot_block::Nanos;
    use iopilot_sim::Progress;

    #[test]
    fn what_a_simulated_kernel_recorded_is_predicted_of_itself() {
        let (records, _, machine) = recorded("mq-deadline");
        let real = FidelityFigures::of(&records);
        let recording = LoadRecording { records, origin: Nanos::ZERO, path: ServicePath::default() };
        let setup = Setup { quick: true, seed: 0, progress: &Progress::default() };
        let all = predicted(&recording, &machine, &setup).unwrap();
        let ours = all[1];
        assert!(
            (ours.mb_s / real.mb_s - 1.0).abs() < 0.03 && (ours.mean_ms / real.mean_ms - 1.0).abs() < 0.03,
            "{all:?} {real:?}"
        );
        assert!(all.iter().all(|f| f.mean_ms > 0.0 && f.p99_ms >= f.mean_ms), "{all:?}");
    }
}
