//! The autopilot on a live disk (GF 4.5.3): five benchmarks in a row, on ext4 on a virtual disk, under each of the kernel's
//! schedulers and with the autopilot, from each of them.

mod benchmark;
mod files;
mod flight;
mod judge;

use super::virtual_disk::VirtualDisk;
use super::{Experiment, Outcome, Setup};
use anyhow::{Context as _, bail};
use benchmark::{Benchmark, Load};
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
    load: Load,
    /// Another row, in which each is best under another scheduler, and where the autopilot starts in it.
    mixed: &'static [Benchmark],
    mixed_load: Load,
    mixed_from: &'static [&'static str],
    /// From one check of the autopilot to the next.
    interval: Duration,
    /// Requests that it tries candidates on at least.
    trial_requests: u32,
}

impl Plan {
    fn new(quick: bool) -> Self {
        let full = Self {
            disk: "hd-500-16",
            size: 4 << 30,
            depth: 4,
            schedulers: &["none", "mq-deadline", "kyber", "bfq"],
            benchmarks: &Benchmark::ALL,
            load: Load { processes: 8, share: 0.9 },
            mixed: &[Benchmark::Strided8, Benchmark::Random],
            mixed_load: Load { processes: 8, share: 0.75 },
            mixed_from: &["mq-deadline", "bfq"],
            interval: Duration::from_secs(1),
            trial_requests: 8000,
        };
        if !quick {
            return full;
        }
        let benchmarks = &[Benchmark::Ior, Benchmark::Tac];
        Self {
            size: 1 << 30,
            schedulers: &["none", "bfq"],
            benchmarks,
            load: Load { share: 0.1, ..full.load },
            mixed_load: Load { share: 0.1, ..full.mixed_load },
            mixed_from: &["bfq"],
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
    let lane = Lane { plan: &plan, disk: &disk, files: &files, signals: &signals };
    let rows = lane.rows(plan.benchmarks, &plan.load, plan.schedulers)?;
    let mixed = lane.rows(plan.mixed, &plan.mixed_load, plan.mixed_from)?;
    files.check(&disk)?;
    Ok(judge::outcome(&plan, &rows, &mixed))
}

/// Where rows of benchmarks run.
struct Lane<'a> {
    plan: &'a Plan,
    disk: &'a VirtualDisk,
    files: &'a FileSystem,
    signals: &'a Signals,
}

impl Lane<'_> {
    /// One row under each scheduler alone, and one with the autopilot from each of `starts`.
    fn rows(&self, benchmarks: &[Benchmark], load: &Load, starts: &[&'static str]) -> anyhow::Result<Vec<Row>> {
        let alone = self.plan.schedulers.iter().map(|&scheduler| (scheduler, false));
        let flown = starts.iter().map(|&scheduler| (scheduler, true));
        alone.chain(flown).map(|(scheduler, flies)| self.row(benchmarks, load, scheduler, flies)).collect()
    }

    fn row(&self, benchmarks: &[Benchmark], load: &Load, scheduler: &'static str, flies: bool) -> anyhow::Result<Row> {
        let Self { plan, disk, files, signals } = *self;
        let queue = BlockQueue::open(disk.device())?;
        queue.set_scheduler(scheduler)?;
        let flight = flies.then(|| Flight::start(plan, disk)).transpose()?;
        let mut times = Vec::new();
        for benchmark in benchmarks {
            // What the page cache holds goes with the mount.
            let mounted = files.mount(disk)?;
            let began = Instant::now();
            benchmark.run(mounted.path(), load, signals).with_context(|| format!("running {benchmark}"))?;
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
}
