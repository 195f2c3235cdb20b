//! [`BenchResults`]: all runs of an experiment.

use super::run::{BenchCase, BenchmarkMix, CaseResult, TestDisk, measure};
use crate::Setup;
use crate::gf::GfBenchmark;
use rayon::prelude::*;

/// A disk and a scheduler, by their indices in a [`BenchPlan`].
pub(crate) type PlanCell = (usize, usize);

/// The cases that are run.
#[derive(Clone, Copy)]
pub(crate) struct BenchPlan {
    /// The disks' names in the tables, and in the catalogue.
    pub(crate) disks: &'static [(&'static str, &'static str)],
    /// The schedulers' names in the tables, and on a command line.
    pub(crate) schedulers: &'static [(&'static str, &'static str)],
    pub(crate) loads: &'static [BenchmarkMix],
    /// The numbers of processes of each benchmark, alone and in a row.
    pub(crate) processes: &'static [u32],
    /// The numbers of processes of each benchmark, all at once.
    pub(crate) at_once: &'static [u32],
    /// The amount that each benchmark reads, in whole files. More processes than that each read a part of their own
    /// file.
    pub(crate) files: fn(BenchmarkMix) -> f64,
    /// The algorithms of the cache, including `vd`.
    pub(crate) algorithms: fn(PlanCell, BenchmarkMix) -> &'static [&'static str],
}

impl BenchPlan {
    /// All disks with all schedulers.
    pub(crate) fn places(&self) -> impl Iterator<Item = PlanCell> + use<> {
        let schedulers = self.schedulers.len();
        (0..self.disks.len()).flat_map(move |disk| (0..schedulers).map(move |scheduler| (disk, scheduler)))
    }

    /// The numbers of processes of each benchmark in a load.
    pub(crate) fn counts(&self, load: BenchmarkMix) -> &'static [u32] {
        if load == BenchmarkMix::AtOnce { self.at_once } else { self.processes }
    }

    /// A disk and a scheduler as text.
    pub(crate) fn name(&self, place: PlanCell) -> String {
        format!("{}, {}", self.disks[place.0].0, self.schedulers[place.1].0)
    }

    fn cases(&self) -> Vec<(PlanCell, BenchCase)> {
        let mut cases = Vec::new();
        for place in self.places() {
            for &load in self.loads {
                for &processes in self.counts(load) {
                    let algorithms = (self.algorithms)(place, load).iter().map(|algorithm| Some(*algorithm));
                    cases.extend(std::iter::once(None).chain(algorithms).map(|algorithm| {
                        let share = ((self.files)(load) / f64::from(processes)).min(1.0);
                        let scheduler = self.schedulers[place.1].1;
                        (place, BenchCase { load, processes, share, scheduler, algorithm })
                    }));
                }
            }
        }
        // The longest cases run first, so that no thread has one of them at the end.
        cases.sort_by_key(|(_, case)| std::cmp::Reverse(work(case)));
        cases
    }
}

/// An estimate of how long a case takes, for their order.
fn work(case: &BenchCase) -> u32 {
    let units = (32.0 * case.share * f64::from(case.processes)) as u32;
    match case.load {
        BenchmarkMix::AtOnce => 20 * units,
        BenchmarkMix::InARow => 6 * units,
        BenchmarkMix::Alone(GfBenchmark::Tac | GfBenchmark::Strided8) => 2 * units,
        BenchmarkMix::Alone(_) | BenchmarkMix::OneProgram => units,
    }
}

/// A case and its result.
struct Run {
    place: PlanCell,
    case: BenchCase,
    measured: CaseResult,
}

/// All runs.
pub(crate) struct BenchResults {
    pub(crate) plan: BenchPlan,
    runs: Vec<Run>,
}

impl BenchResults {
    pub(crate) fn run(plan: BenchPlan, setup: &Setup<'_>) -> anyhow::Result<Self> {
        let disks = plan.disks.par_iter().map(|(_, name)| TestDisk::new(name, setup));
        let disks = disks.collect::<anyhow::Result<Vec<_>>>()?;
        let run = |(place, case): (PlanCell, BenchCase)| {
            Ok(Run { place, case, measured: measure(&disks[place.0], &case, setup)? })
        };
        let runs = plan.cases().into_par_iter().map(run).collect::<anyhow::Result<_>>()?;
        Ok(Self { plan, runs })
    }

    /// The result with an algorithm, or without a cache.
    pub(crate) fn find(
        &self,
        place: PlanCell,
        load: BenchmarkMix,
        processes: u32,
        algorithm: Option<&str>,
    ) -> Option<&CaseResult> {
        let is = |run: &&Run| {
            (run.place, run.case.load, run.case.processes, run.case.algorithm) == (place, load, processes, algorithm)
        };
        self.runs.iter().find(is).map(|run| &run.measured)
    }

    /// How much `vd` shortens a case, in percent; in a row, its first benchmark.
    pub(crate) fn gain(&self, place: PlanCell, load: BenchmarkMix, processes: u32) -> Option<f64> {
        self.gain_of(place, load, processes, 0)
    }

    /// How much `vd` shortens a benchmark in a row, in percent.
    pub(crate) fn gain_in_a_row(&self, place: PlanCell, benchmark: GfBenchmark, processes: u32) -> Option<f64> {
        let number = GfBenchmark::ALL.iter().position(|b| *b == benchmark)?;
        self.gain_of(place, BenchmarkMix::InARow, processes, number)
    }

    fn gain_of(&self, place: PlanCell, load: BenchmarkMix, processes: u32, number: usize) -> Option<f64> {
        let seconds = |algorithm| self.find(place, load, processes, algorithm)?.seconds.get(number).copied();
        Some(percent(seconds(Some("vd"))?, seconds(None)?))
    }

    /// How much `vd` shortens the disk's time, in percent.
    pub(crate) fn io_gain(&self, place: PlanCell, load: BenchmarkMix, processes: u32) -> Option<f64> {
        let seconds = |algorithm| self.find(place, load, processes, algorithm).map(|measured| measured.io_seconds);
        Some(percent(seconds(Some("vd"))?, seconds(None)?))
    }
}

/// How much less `with` is than `without`, in percent.
pub(crate) fn percent(with: f64, without: f64) -> f64 {
    100.0 * (1.0 - with / without)
}
