//! Carroll's set-up (chapter 4): the disk configurations, the schedulers, and many runs at once.

use crate::Setup;
use iopilot_block::InputError;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, Progress, RunOptions, RunReport, SimError, simulate};
use iopilot_workload::{FioJobs, Workload};
use rayon::prelude::*;
use std::path::Path;

/// Bytes in a MiB.
const MIB: f64 = 1_048_576.0;

/// A disk configuration of 4.3.1: one of the shipped machines.
#[derive(Debug)]
pub(super) struct DiskConfiguration {
    /// The name in the machine's file name, after `carroll-`.
    pub(super) key: &'static str,
    /// Carroll's name for it.
    pub(super) title: &'static str,
    /// The number of disks.
    pub(super) disks: u32,
    toml: &'static str,
}

macro_rules! shapes {
    ($($name:ident = $key:literal, $title:literal, $disks:literal;)*) => {
        $(pub(super) const $name: DiskConfiguration = DiskConfiguration {
            key: $key,
            title: $title,
            disks: $disks,
            toml: include_str!(concat!("../../../../examples/machines/carroll-", $key, ".toml")),
        };)*
        /// All configurations.
        #[cfg(test)]
        const EVERY: &[DiskConfiguration] = &[$($name),*];
    };
}

shapes! {
    DISK = "disk", "disk, host adapter", 1;
    RAID_DISK = "raid-disk", "disk, RAID controller", 1;
    RAID0_2 = "raid0-2", "RAID 0 (2)", 2;
    RAID0_4 = "raid0-4", "RAID 0 (4)", 4;
    RAID0_8 = "raid0-8", "RAID 0 (8)", 8;
    RAID10_2 = "raid10-2", "RAID 1+0 (2)", 2;
    RAID10_4 = "raid10-4", "RAID 1+0 (4)", 4;
    RAID10_8 = "raid10-8", "RAID 1+0 (8)", 8;
    RAID5_3 = "raid5-3", "RAID 5 (3)", 3;
    RAID5_5 = "raid5-5", "RAID 5 (5)", 5;
    RAID5_8 = "raid5-8", "RAID 5 (8)", 8;
    RAID6_4 = "raid6-4", "RAID 6 (4)", 4;
    RAID6_6 = "raid6-6", "RAID 6 (6)", 6;
    RAID6_8 = "raid6-8", "RAID 6 (8)", 8;
}

/// Requests that the device is given at once (3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Depth {
    /// 32, as in all tests but those of the depth.
    Shallow,
    /// The device's maximum: 64 for the disk, 512 for the controller.
    Deep,
    /// This number.
    Of(u32),
}

/// One run: configuration, scheduler, load.
#[derive(Clone, Debug)]
pub(super) struct ArrayRun {
    pub(super) shape: &'static DiskConfiguration,
    pub(super) depth: Depth,
    /// The scheduler with its tunables, as on the command line.
    pub(super) scheduler: String,
    /// The load, as a fio job file.
    pub(super) jobs: String,
    /// The largest request, where it is not the kernel's 512 KiB.
    pub(super) max_sectors_kb: Option<u32>,
}

/// The results of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ArrayResult {
    /// Aggregate bandwidth, MiB/s.
    pub(super) mib_s: f64,
    /// Of the response times, as are the next two.
    pub(super) mean_ms: f64,
    pub(super) stddev_ms: f64,
    pub(super) max_ms: f64,
    /// Standard deviation of the processes' bandwidths over their mean.
    pub(super) unevenness: f64,
}

impl ArrayResult {
    pub(super) fn of(report: &RunReport) -> Self {
        let rates: Vec<f64> = report.processes.iter().map(|p| p.bytes as f64).collect();
        let n = rates.len().max(1) as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let variance = rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n;
        Self {
            mib_s: if report.elapsed_s > 0.0 { report.bytes as f64 / MIB / report.elapsed_s } else { 0.0 },
            mean_ms: report.response_ms.mean,
            stddev_ms: report.response_stddev_ms,
            max_ms: report.response_ms.max,
            unevenness: if mean > 0.0 { variance.sqrt() / mean } else { 0.0 },
        }
    }
}

/// Readers of `block` bytes at random places, each with one request at a time, for `seconds` (4.3.3).
pub(super) fn random_readers(processes: u32, block: &str, seconds: f64) -> String {
    format!(
        "[readers]\ndirect=1\nrw=randread\nbs={block}\nnorandommap\nnumjobs={processes}\nruntime={}ms\ntime_based\n",
        (seconds * 1e3).round()
    )
}

/// The machine of `shape` with `depth` requests at the device.
pub(super) fn machine(shape: &DiskConfiguration, depth: Depth) -> Result<Machine, SimError> {
    let mut machine = Machine::from_toml(shape.toml, Path::new(shape.key))?;
    match depth {
        Depth::Shallow => {}
        Depth::Deep => machine.block.queue_depth = None,
        Depth::Of(n) => machine.block.queue_depth = Some(n),
    }
    Ok(machine)
}

fn run(point: &ArrayRun, seed: u64, progress: &Progress) -> Result<ArrayResult, SimError> {
    let mut machine = machine(point.shape, point.depth)?;
    machine.block.max_sectors_kb = point.max_sectors_kb;
    let jobs = FioJobs::parse(&point.jobs, "readers")?;
    let workload = Workload::Fio { name: "readers".to_owned(), jobs };
    let scheduler = scheduler(&point.scheduler)?;
    let report =
        simulate(&machine, &workload, &scheduler, &RunOptions { seed, log: false, ..RunOptions::default() }, progress)?;
    Ok(ArrayResult::of(&report))
}

pub(super) fn scheduler(name: &str) -> Result<SchedulerSpec, InputError> {
    SchedulerSpec::parse(name)
}

/// Performs all runs in parallel. The results are in the order of `points`.
pub(super) fn run_all(points: &[ArrayRun], setup: &Setup<'_>) -> Result<Vec<ArrayResult>, SimError> {
    points.par_iter().map(|point| run(point, setup.seed, setup.progress)).collect()
}

/// The smallest and the largest of `values`; zeros if there are none.
pub(super) fn span(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.into_iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    if low <= high { (low, high) } else { (0.0, 0.0) }
}

/// The mean of `values`; zero if there are none.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, n) = values.into_iter().fold((0.0, 0u32), |(sum, n), v| (sum + v, n + 1));
    if n == 0 { 0.0 } else { sum / f64::from(n) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_device::Device;

    #[test]
    fn the_machines_are_carrolls() {
        for shape in EVERY {
            let shallow = machine(shape, Depth::Shallow).unwrap();
            assert_eq!(shallow.block.queue_depth, Some(32), "{}", shape.key);
            assert_eq!(shallow.block.nr_requests, Some(4096), "{}", shape.key);
            assert_eq!(shallow.array.as_ref().map_or(1, |a| a.members), shape.disks, "{}", shape.key);
            // 4.3.2: the maximum is 512 for the controller, 64 for the disk.
            let deep = if shallow.array.is_some() { 512 } else { 64 };
            assert_eq!(shallow.device().queue_depth(), deep, "{}", shape.key);
            assert_eq!(machine(shape, Depth::Deep).unwrap().summary().queue_depth, deep);
            assert_eq!(machine(shape, Depth::Of(8)).unwrap().summary().queue_depth, 8);
        }
    }

    #[test]
    fn results_are_in_the_points_order_and_the_same_on_any_number_of_threads() {
        let points: Vec<ArrayRun> = ["noop", "cfq", "cfq:slice_idle=0", "no such scheduler"]
            .into_iter()
            .map(|scheduler| ArrayRun {
                shape: &RAID0_2,
                depth: Depth::Shallow,
                scheduler: scheduler.to_owned(),
                jobs: random_readers(40, "16k", 0.3),
                max_sectors_kb: None,
            })
            .collect();
        let progress = Progress::default();
        let setup = Setup { quick: true, seed: 7, progress: &progress };
        let all = run_all(&points[..3], &setup).unwrap();
        let one: Vec<ArrayResult> = points[..3].iter().map(|p| run(p, 7, &progress).unwrap()).collect();
        assert_eq!(all, one);
        assert!(all[1].mib_s < all[2].mib_s);
        assert!(run_all(&points, &setup).is_err());
    }

    #[test]
    fn no_values_have_no_span() {
        assert_eq!(span([]), (0.0, 0.0));
        assert_eq!(span([3.0, 1.0, 2.0]), (1.0, 3.0));
        assert_eq!((mean([]), mean([1.0, 3.0])), (0.0, 2.0));
    }
}
