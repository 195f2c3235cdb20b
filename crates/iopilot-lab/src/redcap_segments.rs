//! `redcap-segments`: REDCAP with segments of four sizes (GF 2.5.1; GF is González-Férez' thesis of 2012).
//!
//! The machine is that of the thesis: a WD1200BB under CFQ of Linux 2.6. The loads are those of [`crate::gf`]. The
//! files were written at the same time on ext3, and directories have no index. Only metadata are kept in a page cache.

mod algorithms;
mod claims;

use super::figure::{self, FigureLine, Panel};
use super::gf::{BenchmarkSequence, GfBenchmark};
use super::{Experiment, Outcome, ResultTable, Setup};
use iopilot_catalogue::{AnyDevice, Catalogue};
use iopilot_device::Device;
use iopilot_redcap::RedcapSpec;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, RunConfig, run as simulate};
use rayon::prelude::*;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "redcap-segments",
    source: "GF 2.5.1",
    title: "REDCAP of 8 MiB with segments of 32 to 256 KiB, five benchmarks, 1 to 32 processes",
    run,
};

/// The caches of 8 MiB, by the length of their segments.
const CACHES: [&str; 4] = ["256x32k", "128x64k", "64x128k", "32x256k"];
const PROCESSES: [u32; 6] = [1, 2, 4, 8, 16, 32];
const QUICK_PROCESSES: [u32; 3] = [1, 4, 32];
/// Copying on a Pentium III of 800 MHz: some 500 MB/s.
const COPY_US_PER_KIB: f64 = 2.0;

/// The results of one run.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// From the first request to the last completion.
    seconds: f64,
    /// The sum of the disk's service times.
    io_seconds: f64,
    /// The share of reads that came while the cache was active, in percent.
    active_percent: f64,
    changes: u64,
    /// The read at which the cache was first turned off; 0 if it never was.
    off_at: u64,
}

/// All runs.
struct Results {
    processes: Vec<u32>,
    /// By benchmark, number of processes, and cache; the first of those is no cache.
    cells: Vec<Measured>,
}

impl Results {
    fn run(setup: &Setup<'_>) -> anyhow::Result<Self> {
        let processes = if setup.quick { &QUICK_PROCESSES[..] } else { &PROCESSES[..] };
        let device = Catalogue::get("wd1200bb")?.build()?;
        let mut points = Vec::new();
        for benchmark in GfBenchmark::ALL {
            for &count in processes {
                points.push((benchmark, count, None));
                points.extend(CACHES.iter().map(|cache| (benchmark, count, Some(*cache))));
            }
        }
        let cells =
            points.par_iter().map(|&(benchmark, count, cache)| measure(&device, benchmark, count, cache, setup));
        Ok(Self { processes: processes.to_vec(), cells: cells.collect::<anyhow::Result<_>>()? })
    }

    /// The result with a cache, by its index in [`CACHES`], or without a cache.
    fn at(&self, benchmark: GfBenchmark, processes: u32, cache: Option<usize>) -> Option<&Measured> {
        let benchmark = GfBenchmark::ALL.iter().position(|b| *b == benchmark)?;
        let count = self.processes.iter().position(|p| *p == processes)?;
        let place = (benchmark * self.processes.len() + count) * (CACHES.len() + 1);
        self.cells.get(place + cache.map_or(0, |cache| cache + 1))
    }

    /// How much a cache shortens the time, in percent.
    fn gain(&self, benchmark: GfBenchmark, processes: u32, cache: usize) -> Option<f64> {
        let (with, without) = (self.at(benchmark, processes, Some(cache))?, self.at(benchmark, processes, None)?);
        Some(100.0 * (1.0 - with.seconds / without.seconds))
    }

    fn table(&self) -> ResultTable {
        let columns =
            ["benchmark", "processes", "cache", "seconds", "gain_percent", "io_seconds", "active_percent", "changes"];
        let mut table =
            ResultTable::new("segments", "Time with and without a cache of 8 MiB (Figures 2.6 to 2.10)", &columns);
        for benchmark in GfBenchmark::ALL {
            for &processes in &self.processes {
                for cache in std::iter::once(None).chain((0..CACHES.len()).map(Some)) {
                    let Some(cell) = self.at(benchmark, processes, cache) else { continue };
                    let gain = cache.and_then(|cache| self.gain(benchmark, processes, cache));
                    table.row(vec![
                        benchmark.to_string().into(),
                        u64::from(processes).into(),
                        cache.map_or("none", |cache| CACHES[cache]).into(),
                        cell.seconds.into(),
                        gain.unwrap_or(f64::NAN).into(),
                        cell.io_seconds.into(),
                        cell.active_percent.into(),
                        cell.changes.into(),
                    ]);
                }
            }
        }
        table
    }

    /// A panel for each benchmark: seconds over processes.
    fn panels(&self) -> Vec<Panel> {
        let points = |benchmark, cache| {
            let at = |&p: &u32| Some((f64::from(p), self.at(benchmark, p, cache)?.seconds));
            self.processes.iter().filter_map(at).collect()
        };
        let lines = |benchmark| {
            let caches = (0..CACHES.len())
                .map(|c| FigureLine { name: CACHES[c].to_owned(), points: points(benchmark, Some(c)) });
            std::iter::once(FigureLine { name: "no cache".to_owned(), points: points(benchmark, None) })
                .chain(caches)
                .collect()
        };
        GfBenchmark::ALL.iter().map(|&b| Panel { title: b.to_string(), lines: lines(b) }).collect()
    }
}

/// The machine with the cache that `text` describes, or without a cache.
fn config(text: Option<&str>, setup: &Setup<'_>) -> anyhow::Result<RunConfig> {
    let redcap = text.map(|text| RedcapSpec::parse(&format!("{text},copy_us_per_kib={COPY_US_PER_KIB}")));
    Ok(RunConfig {
        redcap: redcap.transpose()?,
        block: BlockConfig::default(),
        rotational: true,
        seed: setup.seed,
        ..RunConfig::default()
    })
}

fn source(benchmark: GfBenchmark, processes: u32, capacity: u64, setup: &Setup<'_>) -> BenchmarkSequence {
    let share = if setup.quick { 0.01 } else { 1.0 };
    BenchmarkSequence::new(&[benchmark], processes, u32::MAX, capacity, setup.seed)
        .share(share)
        .interleaved()
        .unplugging()
        .unhashed()
        .forking()
}

fn measure(
    device: &AnyDevice,
    benchmark: GfBenchmark,
    processes: u32,
    cache: Option<&str>,
    setup: &Setup<'_>,
) -> anyhow::Result<Measured> {
    let cache = cache.map(|cache| format!("{cache},algorithm=v1"));
    let config = config(cache.as_deref(), setup)?;
    let source = source(benchmark, processes, device.capacity(), setup);
    let report = simulate(source, device.clone(), &SchedulerSpec::parse("cfq")?, &config, setup.progress)?;
    let redcap = report.redcap.as_ref();
    let off = redcap.and_then(|redcap| redcap.checks.iter().find(|check| check.active == [true, false]));
    Ok(Measured {
        seconds: report.elapsed_s,
        io_seconds: report.service_ms.mean * report.dispatched as f64 / 1e3,
        active_percent: redcap.map_or(0.0, |redcap| {
            let counters = &redcap.counters;
            100.0 * (counters.reads - counters.inactive_reads) as f64 / counters.reads.max(1) as f64
        }),
        changes: redcap.map_or(0, |redcap| redcap.state.len() as u64 - 1),
        off_at: off.map_or(0, |check| check.reads),
    })
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let results = Results::run(setup)?;
    let title = "REDCAP of 8 MiB: seconds over processes, without and with segments of four sizes";
    Ok(Outcome {
        tables: vec![results.table(), algorithms::table(setup)?],
        claims: claims::of(&results),
        notes: vec![
            "files lie as ext3 leaves those that are written at the same time; directories have no index".to_owned(),
            "TAC reads 8 KiB at a time (64 KiB in GF 2.4.3), and 8k-SR stands for 4k-SR: as in GF 3.4.2".to_owned(),
            "not run: KC and TPCC (Figures 2.11, 2.12) need a page cache and processes that compute".to_owned(),
        ],
        files: vec![("redcap-segments.svg".to_owned(), figure::draw(title, &results.panels(), 3))],
    })
}
