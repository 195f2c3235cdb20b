//! The autopilot on a live disk (GF 4.5.3): five benchmarks in a row, on ext4 on a virtual disk, under each of the kernel's
//! schedulers and with the autopilot, from each of them.

mod benchmark;
mod files;
mod flight;
mod judge;

use super::virtual_disk::VirtualDisk;
use super::{Experiment, Outcome, Setup};
use anyhow::{Context as _, bail};
use benchmark::Benchmark;
use files::FileSystem;
use flight::{Change, Flight};
use iopilot_live::{BlockQueue, Signals};
use std::time::{Duration, Instant};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "dads-live",
    source: "GF 4.5.3",
    title: "the autopilot on a live virtual disk, five benchmarks in a row (needs root and mkfs.ext4)",
    run,
};

/// What is measured.
struct Plan {
    disk: &'static str,
    size: u64,
    depth: u32,
    schedulers: &'static [&'static str],
    benchmarks: &'static [Benchmark],
    processes: u32,
    /// Of the amounts that a benchmark reads in the whole experiment.
    share: f64,
    /// From one check of the autopilot to the next.
    interval: Duration,
}

impl Plan {
    fn new(quick: bool) -> Self {
        let full = Self {
            disk: "hd-500-16",
            size: 4 << 30,
            depth: 4,
            schedulers: &["none", "mq-deadline", "kyber", "bfq"],
            benchmarks: &Benchmark::ALL,
            processes: 8,
            share: 1.0,
            interval: Duration::from_secs(2),
        };
        if !quick {
            return full;
        }
        let benchmarks = &[Benchmark::Ior, Benchmark::Tac];
        Self {
            size: 1 << 30,
            schedulers: &["none", "bfq"],
            benchmarks,
            share: 0.1,
            interval: Duration::from_millis(500),
            ..full
        }
    }
}

/// One row of benchmarks.
struct Row {
    /// The scheduler at the start.
    scheduler: &'static str,
    /// Whether the autopilot flew, and what it did, in seconds from the row's start.
    changes: Option<Vec<Change>>,
    /// How long each benchmark took.
    times: Vec<Duration>,
}

impl Row {
    fn total_s(&self) -> f64 {
        self.times.iter().sum::<Duration>().as_secs_f64()
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = Plan::new(setup.quick);
    let signals = Signals::catch()?;
    let disk = VirtualDisk::attach(plan.disk, plan.size, plan.depth)?;
    let files = FileSystem::make(&disk, &plan, setup.seed)?;
    let mut rows = Vec::new();
    for flies in [false, true] {
        for &scheduler in plan.schedulers {
            rows.push(row(&plan, &disk, &files, scheduler, flies, &signals)?);
        }
    }
    files.check(&disk)?;
    Ok(judge::outcome(&plan, &rows))
}

fn row(
    plan: &Plan,
    disk: &VirtualDisk,
    files: &FileSystem,
    scheduler: &'static str,
    flies: bool,
    signals: &Signals,
) -> anyhow::Result<Row> {
    let queue = BlockQueue::open(disk.device())?;
    queue.set_scheduler(scheduler)?;
    let flight = flies.then(|| Flight::start(plan, disk)).transpose()?;
    let mut times = Vec::new();
    for benchmark in plan.benchmarks {
        // What the page cache holds goes with the mount.
        let mounted = files.mount(disk)?;
        let began = Instant::now();
        benchmark.run(mounted.path(), plan, signals).with_context(|| format!("running {benchmark}"))?;
        times.push(began.elapsed());
        drop(mounted);
        if let Some(signal) = signals.caught() {
            bail!("ended by signal {signal}");
        }
    }
    let changes = flight.map(Flight::end).transpose()?;
    let present = queue.scheduler()?;
    if present != scheduler {
        bail!("the scheduler is {present} after the flight, expected {scheduler} as before it");
    }
    Ok(Row { scheduler, changes, times })
}
