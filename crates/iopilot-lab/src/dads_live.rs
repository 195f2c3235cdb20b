//! The autopilot on a live disk (GF 4.5.3; GF is González-Férez' thesis of 2012): five benchmarks in a row, on ext4 on
//! a virtual disk. They run under each of the kernel's schedulers, under a tuned one, and with the autopilot, which
//! starts from each of them. A second experiment flies the autopilot without a model.

mod benchmark;
mod files;
mod flight;
mod judge;
mod plan;
mod unknown_disk;

use super::virtual_disk::VirtualDisk;
use super::{Experiment, Outcome, Setup};
use anyhow::{Context as _, bail};
use benchmark::{Benchmark, BenchmarkLoad};
use files::BenchmarkFileSystem;
use flight::{AutopilotDaemon, SchedulerChange};
use iopilot_live::{BlockQueue, Signals};
use iopilot_sched::SchedulerSpec;
use plan::DadsLivePlan;
use std::time::{Duration, Instant};

pub(super) use unknown_disk::EXPERIMENT as WITHOUT_A_MODEL;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "dads-live",
    source: "GF 4.5.3",
    title: "the autopilot on a live virtual disk, five benchmarks in a row (needs root and mkfs.ext4)",
    run,
};

/// One row of benchmarks.
struct Row {
    /// The scheduler at the start, and how it is tuned.
    scheduler: &'static str,
    /// The changes of scheduler, in seconds from the row's start; `None` without the autopilot.
    changes: Option<Vec<SchedulerChange>>,
    /// Its audit, one line for each check.
    audit: String,
    /// The time of each benchmark.
    times: Vec<Duration>,
}

impl Row {
    fn total_s(&self) -> f64 {
        self.times.iter().sum::<Duration>().as_secs_f64()
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = DadsLivePlan::new(setup.quick);
    let signals = Signals::catch()?;
    let disk = VirtualDisk::attach(plan.disk, plan.size, plan.depth)?;
    let files = BenchmarkFileSystem::make(&disk, &plan, setup.seed)?;
    let lane = Lane { plan: &plan, disk: &disk, files: &files, signals: &signals };
    let rows = lane.rows(plan.benchmarks, &plan.load, plan.from)?;
    let mixed = lane.rows(plan.mixed, &plan.mixed_load, plan.mixed_from)?;
    files.check(&disk)?;
    Ok(judge::outcome(&plan, &rows, &mixed))
}

/// What a row of benchmarks needs.
struct Lane<'a> {
    plan: &'a DadsLivePlan,
    disk: &'a VirtualDisk,
    files: &'a BenchmarkFileSystem,
    signals: &'a Signals,
}

impl Lane<'_> {
    /// One row under each scheduler alone, and one with the autopilot from each of `starts`.
    fn rows(
        &self,
        benchmarks: &[Benchmark],
        load: &BenchmarkLoad,
        starts: &[&'static str],
    ) -> anyhow::Result<Vec<Row>> {
        let alone = self.plan.schedulers.iter().map(|&scheduler| (scheduler, false));
        let flown = starts.iter().map(|&scheduler| (scheduler, true));
        alone.chain(flown).map(|(scheduler, flies)| self.row(benchmarks, load, scheduler, flies)).collect()
    }

    fn row(
        &self,
        benchmarks: &[Benchmark],
        load: &BenchmarkLoad,
        scheduler: &'static str,
        flies: bool,
    ) -> anyhow::Result<Row> {
        let Self { plan, disk, files, signals } = *self;
        let queue = BlockQueue::open(disk.device())?;
        let spec = SchedulerSpec::parse(scheduler)?;
        // Changing the scheduler resets its tunables to the kernel's defaults.
        queue.set_scheduler("none")?;
        queue.set_scheduler(spec.name)?;
        for (name, value) in &spec.settings {
            queue.set_tunable(name, &value.to_string())?;
        }
        let found = queue.state()?;
        let flight = flies.then(|| AutopilotDaemon::start(plan, disk)).transpose()?;
        let mut times = Vec::new();
        for benchmark in benchmarks {
            // Unmounting empties the page cache.
            let mounted = files.mount(disk)?;
            let began = Instant::now();
            benchmark.run(mounted.0, load, signals).with_context(|| format!("running {benchmark}"))?;
            times.push(began.elapsed());
            drop(mounted);
            if let Some(signal) = signals.caught() {
                bail!("ended by signal {signal}");
            }
        }
        let (changes, audit) = flight.map(AutopilotDaemon::end).transpose()?.unzip();
        let left = queue.state()?;
        if (&left.scheduler, &left.tunables) != (&found.scheduler, &found.tunables) {
            bail!(
                "the scheduler is {} {:?} after the flight, expected {scheduler} as before it",
                left.scheduler,
                left.tunables
            );
        }
        Ok(Row { scheduler, changes, audit: audit.unwrap_or_default(), times })
    }
}
