//! All runs.

use super::bench::{self, ALL, AutopilotSetup, ReaderLoad, Run, SchedulerIndex};
use super::subject::TrainedDisk;
use super::{CFQ, NOOP, Pair, Plan};
use crate::Setup;
use iopilot_dads::Objective;
use rayon::prelude::*;

/// Other objectives, and other models for the trials.
pub(super) const VARIANTS: [(&str, AutopilotSetup); 4] = [
    ("service time, tables", AutopilotSetup::THESIS),
    ("service time, the disk itself", AutopilotSetup { exact: true, ..AutopilotSetup::THESIS }),
    ("busy time, tables", AutopilotSetup { objective: Objective::BusyTime, ..AutopilotSetup::THESIS }),
    (
        "busy time, the disk itself",
        AutopilotSetup { objective: Objective::BusyTime, exact: true, ..AutopilotSetup::THESIS },
    ),
];
/// The pairs of schedulers, and the number of processes, for the variants.
const VARIED: ([Pair; 2], u32) = ([[CFQ, NOOP], [NOOP, CFQ]], 8);

/// One disk with one number of processes.
pub(super) struct FlightCell {
    /// The index in [`FlightResults::disks`].
    pub(super) disk: usize,
    pub(super) processes: u32,
    /// The runs under each scheduler alone, for the schedulers of some pair.
    alone: [Option<Run>; ALL.len()],
    /// The runs with the autopilot: the scheduler that it begins with, the other one, and the results.
    flown: Vec<(Pair, Run)>,
    /// The same with longer trials.
    lasting: Vec<(Pair, Run)>,
    /// The runs of [`VARIANTS`] but the first, which is in `flown`.
    pub(super) varied: Vec<(usize, Pair, Run)>,
}

impl FlightCell {
    /// The runs under one scheduler.
    pub(super) fn alone(&self) -> impl Iterator<Item = (SchedulerIndex, &Run)> {
        self.alone.iter().enumerate().filter_map(|(scheduler, run)| Some((scheduler, run.as_ref()?)))
    }
}

/// Two schedulers on one disk with one number of processes.
#[derive(Clone, Copy)]
pub(super) struct PairView<'a> {
    pub(super) disk: &'a TrainedDisk,
    pub(super) processes: u32,
    pub(super) pair: Pair,
    /// The runs under each scheduler alone.
    pub(super) alone: [&'a Run; 2],
    /// The runs with the autopilot, which begins with the first scheduler, or with the second.
    pub(super) flown: [&'a Run; 2],
    /// The same with longer trials.
    pub(super) lasting: [&'a Run; 2],
}

impl PairView<'_> {
    /// The time under the better of the two schedulers; for `None`, over all benchmarks.
    pub(super) fn best(&self, benchmark: Option<usize>) -> f64 {
        self.alone[0].of(benchmark).min(self.alone[1].of(benchmark))
    }

    pub(super) fn worst(&self, benchmark: Option<usize>) -> f64 {
        self.alone[0].of(benchmark).max(self.alone[1].of(benchmark))
    }

    /// The scheduler that is better alone.
    pub(super) fn better(&self, benchmark: Option<usize>) -> SchedulerIndex {
        self.pair[usize::from(self.alone[1].of(benchmark) < self.alone[0].of(benchmark))]
    }

    /// The same view, with the longer trials in `flown`.
    pub(super) fn lasting(self) -> Self {
        Self { flown: self.lasting, ..self }
    }

    /// The flights with their names.
    pub(super) fn flights(&self) -> [(String, &Run); 2] {
        let [a, b] = self.pair.map(bench::name);
        [(format!("{a}-{b}"), self.flown[0]), (format!("{b}-{a}"), self.flown[1])]
    }
}

/// All runs and their plan.
pub(super) struct FlightResults {
    pub(super) disks: Vec<TrainedDisk>,
    pub(super) cells: Vec<FlightCell>,
    pub(super) plan: &'static Plan,
}

impl FlightResults {
    /// Every pair on every disk, by processes.
    pub(super) fn views(&self) -> impl Iterator<Item = PairView<'_>> {
        self.cells.iter().flat_map(|cell| self.of(cell))
    }

    /// Every pair of a cell.
    pub(super) fn of<'a>(&'a self, cell: &'a FlightCell) -> impl Iterator<Item = PairView<'a>> {
        self.plan.pairs.iter().filter_map(move |&(pair, ..)| {
            let [a, b] = pair;
            let of = |runs: &'a [(Pair, Run)], pair: Pair| runs.iter().find(|(p, _)| *p == pair).map(|(_, run)| run);
            Some(PairView {
                disk: &self.disks[cell.disk],
                processes: cell.processes,
                pair,
                alone: [cell.alone[a].as_ref()?, cell.alone[b].as_ref()?],
                flown: [of(&cell.flown, [a, b])?, of(&cell.flown, [b, a])?],
                lasting: [of(&cell.lasting, [a, b])?, of(&cell.lasting, [b, a])?],
            })
        })
    }
}

/// A run to be made.
#[derive(Clone, Copy)]
enum Job {
    Alone(SchedulerIndex),
    Flown(Pair),
    Lasting(Pair),
    Varied(usize, Pair),
}

/// Runs everything; the number of threads changes nothing.
pub(super) fn all(plan: &'static Plan, setup: &Setup<'_>) -> anyhow::Result<FlightResults> {
    let disks = plan.disks.par_iter().map(|name| TrainedDisk::new(name, setup)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut cells = Vec::new();
    let mut jobs = Vec::new();
    for (disk, subject) in disks.iter().enumerate() {
        for &processes in plan.processes {
            let none = [const { None }; ALL.len()];
            cells.push(FlightCell {
                disk,
                processes,
                alone: none,
                flown: Vec::new(),
                lasting: Vec::new(),
                varied: Vec::new(),
            });
            let pairs = plan.pairs.iter().filter(|(.., ssd)| ssd.is_some() || !subject.solid_state);
            let pairs: Vec<Pair> = pairs.map(|(pair, ..)| *pair).collect();
            let of_cell = ALL.into_iter().filter(|s| pairs.iter().any(|p| p.contains(s))).map(Job::Alone);
            let both_ways = pairs.iter().flat_map(|&[a, b]| [[a, b], [b, a]]);
            let of_cell = of_cell.chain(both_ways.flat_map(|pair| [Job::Flown(pair), Job::Lasting(pair)]));
            let varied = VARIED
                .0
                .into_iter()
                .filter(|&[a, b]| processes == VARIED.1 && (pairs.contains(&[a, b]) || pairs.contains(&[b, a])));
            let varied = varied.flat_map(|pair| (1..VARIANTS.len()).map(move |v| Job::Varied(v, pair)));
            jobs.extend(of_cell.chain(varied).map(|job| (cells.len() - 1, job)));
        }
    }
    let runs: anyhow::Result<Vec<Run>> = jobs
        .par_iter()
        .with_max_len(1)
        .map(|&(cell, job)| {
            let FlightCell { disk, processes, .. } = cells[cell];
            let disk = &disks[disk];
            let share = plan.share(processes);
            let load = ReaderLoad { processes, share, interval: plan.interval, seed: setup.seed };
            match job {
                Job::Alone(scheduler) => bench::alone(disk, load, scheduler, setup),
                Job::Flown(pair) => bench::flown(disk, load, pair, AutopilotSetup::THESIS, setup),
                Job::Lasting(pair) => bench::flown(disk, load, pair, AutopilotSetup::LASTING, setup),
                Job::Varied(variant, pair) => bench::flown(disk, load, pair, VARIANTS[variant].1, setup),
            }
        })
        .collect();
    for ((cell, job), run) in jobs.into_iter().zip(runs?) {
        match job {
            Job::Alone(scheduler) => cells[cell].alone[scheduler] = Some(run),
            Job::Flown(pair) => cells[cell].flown.push((pair, run)),
            Job::Lasting(pair) => cells[cell].lasting.push((pair, run)),
            Job::Varied(variant, pair) => cells[cell].varied.push((variant, pair, run)),
        }
    }
    Ok(FlightResults { disks, cells, plan })
}
