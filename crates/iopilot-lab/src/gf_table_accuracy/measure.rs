//! Runs the disk and the table disks.

use super::learning_table_disk::LearningTableDisk;
use super::service::DeviceService;
use super::shadow::RequestCopies;
use super::{PROCESSES, Subject, Variant, variants};
use crate::Setup;
use crate::gf::{BenchmarkSequence, GfBenchmark};
use iopilot_block::{Lba, Nanos, ProcessId, Sectors};
use iopilot_catalogue::{
    AnyDevice, DeviceSpec, SimulatedCacheModel, TableForm, TableLookup, TimeTables, Training, three_tables,
};
use iopilot_device::{Device, Synchronous};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, RunConfig, run};
use iopilot_trace::TraceRecord;
use iopilot_workload::Source;
use rayon::prelude::*;

/// Both disks are under CFQ (GF 3.5.1).
const SCHEDULER: &str = "cfq";
/// A read of 4 kB that takes longer missed the disk's cache (GF 4.3.1).
const HIT_LIMIT: Nanos = Nanos::from_millis(1);
const BENCHMARKS: usize = GfBenchmark::ALL.len();

/// The mean time of a request in each benchmark and in all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BenchmarkMeans {
    sums: [f64; BENCHMARKS],
    counts: [u64; BENCHMARKS],
}

impl BenchmarkMeans {
    fn add(&mut self, benchmark: usize, time: Nanos) {
        self.sums[benchmark] += time.as_micros_f64();
        self.counts[benchmark] += 1;
    }

    pub(super) fn of_us(&self, benchmark: usize) -> f64 {
        self.sums[benchmark] / self.counts[benchmark] as f64
    }

    pub(super) fn all_us(&self) -> f64 {
        self.sums.iter().sum::<f64>() / self.counts.iter().sum::<u64>() as f64
    }

    pub(super) fn requests(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn over(services: &[DeviceService]) -> Self {
        let mut means = Self::default();
        services.iter().for_each(|s| means.add(s.benchmark, s.time()));
        means
    }
}

/// The results of one number of processes on one device.
pub(super) struct AccuracyCase {
    pub(super) subject: Subject,
    pub(super) processes: u32,
    /// The disk itself.
    pub(super) real: BenchmarkMeans,
    pub(super) virtual_disks: Vec<(Variant, BenchmarkMeans)>,
    /// For each table disk with a scheduler of its own: after some numbers of requests, the difference over the last
    /// [`AccuracyCase::window`] of them, in percent.
    pub(super) along: Vec<(Variant, Vec<(f64, f64)>)>,
    /// The number of requests that a point of [`AccuracyCase::along`] covers.
    pub(super) window: usize,
    /// How many requests the disk had served at the end of each benchmark.
    pub(super) ends: [usize; BENCHMARKS],
    /// Share of requests that hit the disk's cache, and the simulated one, in percent.
    pub(super) hits_percent: Option<(f64, f64)>,
    /// Cells of the table of reads that were updated, and all there are.
    pub(super) cells: (usize, usize),
    /// Requests that are larger than the last row, in percent.
    pub(super) too_large_percent: f64,
}

/// A device, and its tables trained off line.
struct Trained {
    device: AnyDevice,
    two: TimeTables,
    /// Three tables with a simulated cache, for a disk with a cache.
    three: Option<(TimeTables, SimulatedCacheModel)>,
}

/// All devices and numbers of processes, in order.
pub(super) fn all(setup: &Setup<'_>) -> anyhow::Result<Vec<AccuracyCase>> {
    let trained = Subject::ALL.into_par_iter().map(|subject| train(subject, setup));
    let trained = trained.collect::<anyhow::Result<Vec<_>>>()?;
    let cases: Vec<(usize, u32)> = (0..trained.len()).flat_map(|s| PROCESSES.map(|p| (s, p))).collect();
    let run = |(subject, processes): (usize, u32)| case(Subject::ALL[subject], processes, &trained[subject], setup);
    cases.into_par_iter().map(run).collect()
}

fn train(subject: Subject, setup: &Setup<'_>) -> anyhow::Result<Trained> {
    let spec = subject.spec()?;
    let device = spec.build()?;
    let samples = if setup.quick { 1 } else { 64 };
    let tables = |form| {
        let training = Training { form, samples, seed: setup.seed };
        let trained = training.run(&mut Synchronous::new(device.clone()), || setup.progress.add(1));
        trained.map(|trained| trained.tables)
    };
    let three = match (&spec.device, subject) {
        (DeviceSpec::Mechanical(m), Subject::Disk) => {
            let mut timed = Synchronous::new(device.clone());
            let (form, _, cache) = three_tables(&mut timed, m.cache.size_kib, HIT_LIMIT, setup.seed)?;
            Some((tables(form)?, cache))
        }
        _ => None,
    };
    Ok(Trained { two: tables(TableForm::Two)?, three, device })
}

fn case(subject: Subject, processes: u32, trained: &Trained, setup: &Setup<'_>) -> anyhow::Result<AccuracyCase> {
    let device = &trained.device;
    let requests = if setup.quick { 1600 } else { 48_000 };
    let source =
        BenchmarkSequence::new(&GfBenchmark::ALL, processes, requests / processes, device.capacity(), setup.seed);
    let of = source.clone();
    let benchmark = |process| of.benchmark(process);
    let (log, hits) = served(source, device.clone(), subject, setup)?;
    let services = services(&log, benchmark);
    let window = if setup.quick { 100 } else { 1000 };
    let (mut virtual_disks, mut along, mut hits_percent) = (Vec::new(), Vec::new(), None);
    for variant in variants(subject) {
        let (tables, cache) = match &trained.three {
            Some((tables, cache)) if variant.three => (tables, *cache),
            _ => (&trained.two, SimulatedCacheModel::NONE),
        };
        let tables = tables.averaged(variant.samples);
        let means = if variant.same_order {
            in_the_same_order(tables, &services)
        } else {
            let disk = LearningTableDisk::new(tables, cache, variant.learning, &services);
            let disk = if variant.by_size { disk } else { disk.without_size() };
            let (log, simulated) = match variant.closed {
                true => served(of.clone(), disk, subject, setup)?,
                false => served(RequestCopies::new(&log), disk, subject, setup)?,
            };
            let copies = self::services(&log, benchmark);
            along.push((variant, differences(&services, &copies, window)));
            if variant.three && !variant.closed {
                hits_percent = Some((100.0 * hits, 100.0 * simulated));
            }
            BenchmarkMeans::over(&copies)
        };
        virtual_disks.push((variant, means));
    }
    let too_large = services.iter().filter(|s| s.sectors.0 > 256).count();
    let too_large_percent = 100.0 * too_large as f64 / services.len() as f64;
    let cells = cells(device.capacity(), &services);
    let mut ends = [0; BENCHMARKS];
    services.iter().enumerate().for_each(|(i, s)| ends[s.benchmark] = i + 1);
    let real = BenchmarkMeans::over(&services);
    Ok(AccuracyCase {
        subject,
        processes,
        real,
        virtual_disks,
        along,
        window,
        ends,
        hits_percent,
        cells,
        too_large_percent,
    })
}

/// At regular numbers of requests, by how many percent the last `window` took longer in `copies` than in `services`.
fn differences(services: &[DeviceService], copies: &[DeviceService], window: usize) -> Vec<(f64, f64)> {
    let both = services.len().min(copies.len());
    let sum =
        |of: &[DeviceService], end: usize| -> f64 { of[end - window..end].iter().map(|s| s.time().0 as f64).sum() };
    let ends = (window..=both).step_by(window / 5);
    ends.map(|end| (end as f64, 100.0 * (sum(copies, end) / sum(services, end) - 1.0))).collect()
}

/// Runs `source` to its end. Returns the requests in order of arrival, and the share that hit a cache.
fn served<S: Source, D: Device>(
    source: S,
    device: D,
    subject: Subject,
    setup: &Setup<'_>,
) -> anyhow::Result<(Vec<TraceRecord>, f64)> {
    let config = RunConfig {
        // The tables hold the time of one request alone, not of overlapping ones.
        block: BlockConfig { queue_depth: Some(1), ..BlockConfig::default() },
        rotational: subject != Subject::Ssd,
        seed: setup.seed,
        log: true,
        ..RunConfig::default()
    };
    let report = run(source, device, &SchedulerSpec::parse(SCHEDULER)?, &config, setup.progress)?;
    Ok((report.log.unwrap_or_default(), report.cache_hit_share))
}

/// The services of the device, in order. Requests that were issued together were merged into one.
fn services(log: &[TraceRecord], benchmark: impl Fn(ProcessId) -> Option<GfBenchmark>) -> Vec<DeviceService> {
    let mut services: Vec<DeviceService> = log
        .iter()
        .filter_map(|record| {
            let of = benchmark(record.process?)?;
            Some(DeviceService {
                op: record.op,
                lba: record.lba,
                sectors: record.sectors,
                issued: record.issue?,
                completed: record.completion?,
                benchmark: GfBenchmark::ALL.iter().position(|b| *b == of)?,
            })
        })
        .collect();
    services.sort_by_key(|s| (s.issued, s.lba));
    services.dedup_by(|next, first| {
        let merged = next.issued == first.issued && next.lba == first.end();
        if merged {
            first.sectors = Sectors(first.sectors.0 + next.sectors.0);
        }
        merged
    });
    services
}

/// The tables' prediction of each request that the disk served, made before they learn from it.
fn in_the_same_order(mut tables: TimeTables, services: &[DeviceService]) -> BenchmarkMeans {
    let mut means = BenchmarkMeans::default();
    let mut previous = Lba(0);
    for s in services {
        let lookup = TableLookup::new(s.op, s.lba, s.sectors, previous);
        means.add(s.benchmark, tables.time(&lookup).unwrap_or_default());
        tables.observe(&lookup, s.time());
        previous = s.end();
    }
    means
}

/// How many cells of the table of reads the services fall into, and how many there are.
fn cells(capacity: u64, services: &[DeviceService]) -> (usize, usize) {
    let mut tables = TimeTables::new(TableForm::Two, capacity, 1);
    let mut previous = Lba(0);
    for s in services {
        tables.observe(&TableLookup::new(s.op, s.lba, s.sectors, previous), s.time());
        previous = s.end();
    }
    let coverage = tables.reads().coverage();
    (coverage.filled, coverage.cells)
}
