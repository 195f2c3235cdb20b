//! The five benchmarks in a row: under one scheduler, and with the autopilot.

use super::BENCHMARKS;
use super::observed::ObservedDisk;
use super::subject::TrainedDisk;
use crate::Setup;
use crate::gf::BenchmarkSequence;
use iopilot_block::{InputError, Nanos};
use iopilot_catalogue::TableDisk;
use iopilot_dads::{Autopilot, AutopilotSettings, DecisionReason, Objective, Rule, SchedulerCheck, fly_session};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, CpuOverheads, RunConfig, Session, SimError};

/// The four schedulers of Linux 2.6.23, the thesis' kernel, as they were then.
const SCHEDULERS: [(&str, &str); 4] =
    [("AS", "as:linux_2_6_23=1"), ("CFQ", "cfq"), ("Deadline", "deadline:linux_2_6_23=1"), ("Noop", "noop")];

/// A scheduler's index in the list.
pub(super) type SchedulerIndex = usize;
pub(super) const AS: SchedulerIndex = 0;
pub(super) const CFQ: SchedulerIndex = 1;
pub(super) const DEADLINE: SchedulerIndex = 2;
pub(super) const NOOP: SchedulerIndex = 3;
pub(super) const ALL: [SchedulerIndex; 4] = [AS, CFQ, DEADLINE, NOOP];

pub(super) fn name(scheduler: SchedulerIndex) -> &'static str {
    SCHEDULERS[scheduler].0
}

fn spec(scheduler: SchedulerIndex) -> Result<SchedulerSpec, InputError> {
    SchedulerSpec::parse(SCHEDULERS[scheduler].1)
}

/// The load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReaderLoad {
    pub(super) processes: u32,
    /// The share of the thesis' files that is read.
    pub(super) share: f64,
    /// The time between two checks.
    pub(super) interval: Nanos,
    pub(super) seed: u64,
}

/// The candidates that the autopilot compares, and the model it tries them on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AutopilotSetup {
    pub(super) objective: Objective,
    /// Whether trials run on the disk itself, not on its tables.
    pub(super) exact: bool,
    /// The least number of requests of a trial; 0, as in the source, runs each window once.
    pub(super) trial_requests: u64,
}

impl AutopilotSetup {
    /// As in the source.
    pub(super) const THESIS: Self = Self { objective: Objective::ServiceTime, exact: false, trial_requests: 0 };
    /// With longer trials, as on live disks.
    pub(super) const LASTING: Self = Self { trial_requests: 8000, ..Self::THESIS };
}

/// One check of the autopilot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CheckRecord {
    /// The index of the benchmark that was running.
    pub(super) benchmark: usize,
    /// The schedulers before and after the check.
    pub(super) scheduler: SchedulerIndex,
    pub(super) next: SchedulerIndex,
    pub(super) changed: bool,
    /// Whether the default scheduler was set, or kept.
    pub(super) pinned: bool,
    pub(super) error_percent: Option<f64>,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    /// The time of each benchmark.
    pub(super) seconds: [f64; BENCHMARKS.len()],
    /// The checks; empty without the autopilot.
    pub(super) checks: Vec<CheckRecord>,
}

impl Run {
    /// The time of a benchmark; for `None`, of all together.
    pub(super) fn of(&self, benchmark: Option<usize>) -> f64 {
        benchmark.map_or_else(|| self.seconds.iter().sum(), |b| self.seconds[b])
    }

    /// The checks during `benchmark`.
    pub(super) fn during(&self, benchmark: usize) -> impl Iterator<Item = &CheckRecord> {
        self.checks.iter().filter(move |check| check.benchmark == benchmark)
    }

    pub(super) fn changes(&self) -> usize {
        self.checks.iter().filter(|check| check.changed).count()
    }

    pub(super) fn pinned(&self) -> usize {
        self.checks.iter().filter(|check| check.pinned).count()
    }

    /// The mean over the checks of how far the predicted cost is from the measured one, in percent, whatever the sign.
    pub(super) fn error_percent(&self) -> f64 {
        let errors = || self.checks.iter().filter_map(|check| check.error_percent);
        errors().map(f64::abs).sum::<f64>() / errors().count() as f64
    }
}

/// The kernel of 2007: a change of scheduler takes no time but that of draining.
fn config(bench: ReaderLoad, log: bool) -> RunConfig {
    RunConfig {
        // The tables hold the time of one request alone, not of overlapping ones.
        block: BlockConfig { queue_depth: Some(1), ..BlockConfig::default() },
        host: CpuOverheads { switch_us: 0.0, ..CpuOverheads::default() },
        rotational: true,
        seed: bench.seed,
        log,
        ..RunConfig::default()
    }
}

fn source(disk: &TrainedDisk, bench: ReaderLoad) -> BenchmarkSequence {
    let capacity = disk.device.capacity();
    BenchmarkSequence::new(&BENCHMARKS, bench.processes, u32::MAX, capacity, bench.seed).share(bench.share).forking()
}

fn seconds(source: &BenchmarkSequence) -> [f64; BENCHMARKS.len()] {
    let mut seconds = [f64::NAN; BENCHMARKS.len()];
    for (seconds, (from, to)) in seconds.iter_mut().zip(source.times()) {
        *seconds = (*to - *from).as_secs_f64();
    }
    seconds
}

/// Runs under `scheduler` from beginning to end.
pub(super) fn alone(
    disk: &TrainedDisk,
    bench: ReaderLoad,
    scheduler: SchedulerIndex,
    setup: &Setup<'_>,
) -> anyhow::Result<Run> {
    let mut source = source(disk, bench);
    let mut session = Session::new(&mut source, disk.device.clone(), &spec(scheduler)?, &config(bench, false))?;
    session.run_until(Nanos::MAX)?;
    let (report, _) = session.finish();
    setup.progress.add(report.requests);
    Ok(Run { seconds: seconds(&source), checks: Vec::new() })
}

/// Runs with the autopilot. It begins with the first of the two schedulers, which is also its default.
pub(super) fn flown(
    disk: &TrainedDisk,
    bench: ReaderLoad,
    pair: [SchedulerIndex; 2],
    pilots: AutopilotSetup,
    setup: &Setup<'_>,
) -> anyhow::Result<Run> {
    let candidates = pair.iter().map(|&s| spec(s)).collect::<Result<Vec<_>, _>>()?;
    let told = AutopilotSettings {
        objective: pilots.objective,
        interval: bench.interval,
        change_fixed: Nanos::ZERO,
        trial_requests: pilots.trial_requests,
        ..AutopilotSettings::thesis(candidates.clone(), Rule::THESIS)
    };
    let config = config(bench, true);
    let mut source = source(disk, bench);
    let session = Session::new(&mut source, ObservedDisk::new(disk.device.clone()), &candidates[0], &config)?;
    let mut checks: Vec<SchedulerCheck> = Vec::new();
    let tell = |check: &SchedulerCheck| {
        checks.push(check.clone());
        Ok::<_, SimError>(())
    };
    let flight = if pilots.exact {
        let pilot = Autopilot::new(told, disk.device.clone(), &config)?;
        fly_session(session, pilot, |disk, _| disk.take().for_each(drop), tell)?
    } else {
        let pilot = Autopilot::new(told, disk.tables.clone(), &config)?;
        let learn = |disk: &mut ObservedDisk<_>, tables: &mut TableDisk| {
            disk.take().for_each(|s| tables.observe(&s.request, s.previous_end, s.time));
        };
        fly_session(session, pilot, learn, tell)?
    };
    setup.progress.add(flight.report.requests);
    let seen = |check: &SchedulerCheck| {
        let place = |name: &str| usize::from(name != candidates[0].to_string());
        CheckRecord {
            benchmark: source.times().iter().filter(|(_, to)| to.as_secs_f64() < check.at_s).count(),
            scheduler: pair[place(&check.scheduler)],
            next: pair[place(&check.decision)],
            changed: check.changes(),
            pinned: matches!(check.reason, DecisionReason::TooManyChanges | DecisionReason::Pinned { .. }),
            error_percent: check.model_error_percent,
        }
    };
    let checks = checks.iter().map(seen).collect();
    Ok(Run { seconds: seconds(&source), checks })
}
