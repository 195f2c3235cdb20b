//! One case: a load on a disk, with or without a cache.

use crate::Setup;
use crate::gf::{BenchmarkSequence, BenchmarksAtOnce, GfBenchmark};
use iopilot_block::Nanos;
use iopilot_catalogue::{AnyDevice, Catalogue, DeviceSpec, TableForm, TimeTables, Training};
use iopilot_device::{Device, Synchronous};
use iopilot_redcap::RedcapSpec;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, CpuOverheads, RedcapReport, RunConfig, RunReport, Session};
use iopilot_workload::Source;
use std::fmt;
use std::sync::Arc;

/// The cache of GF 3.5.2.
const CACHE: &str = "512x128k";
/// Copying on a Xeon of 2007: some 2 GB/s.
const COPY_US_PER_KIB: f64 = 0.5;
/// Samples of each cell (GF 3.5.2).
const SAMPLES: u32 = 64;

/// A disk, and its tables, trained off line.
pub(crate) struct TestDisk {
    device: AnyDevice,
    tables: Arc<TimeTables>,
    rotational: bool,
}

impl TestDisk {
    /// The disk of the catalogue called `name`. Its tables are trained with reads only, because the benchmarks write
    /// nothing.
    pub(crate) fn new(name: &str, setup: &Setup<'_>) -> anyhow::Result<Self> {
        let spec = Catalogue::get(name)?;
        let device = spec.build()?;
        let samples = if setup.quick { 2 } else { SAMPLES };
        let training = Training { form: TableForm::Two, samples, seed: setup.seed };
        let trained = training.run_reads(&mut Synchronous::new(device.clone()), || setup.progress.add(1))?;
        let rotational = matches!(spec.device, DeviceSpec::Mechanical(_) | DeviceSpec::Drive(_));
        Ok(Self { device, tables: Arc::new(trained.tables), rotational })
    }
}

/// The benchmarks of a case, and how they run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BenchmarkMix {
    /// One benchmark. `find` starts a process for each file.
    Alone(GfBenchmark),
    /// `find` and `cat` are one program (GF 3.6.4).
    OneProgram,
    /// All, one after the other.
    InARow,
    /// All at the same time.
    AtOnce,
}

impl fmt::Display for BenchmarkMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone(benchmark) => benchmark.fmt(f),
            Self::OneProgram => f.write_str("LKR in one program"),
            Self::InARow => f.write_str("all in a row"),
            Self::AtOnce => f.write_str("all at the same time"),
        }
    }
}

/// The conditions of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BenchCase {
    pub(crate) load: BenchmarkMix,
    /// Of each benchmark.
    pub(crate) processes: u32,
    /// The share of its files that each process reads.
    pub(crate) share: f64,
    pub(crate) scheduler: &'static str,
    /// The algorithm of the cache, where there is one.
    pub(crate) algorithm: Option<&'static str>,
}

/// The result of a case.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaseResult {
    /// Its time; in a row, that of each benchmark.
    pub(crate) seconds: Vec<f64>,
    /// The sum of the disk's service times.
    pub(crate) io_seconds: f64,
    /// The share of reads that came while the cache was active, in percent.
    pub(crate) active_percent: f64,
    /// The share of hits among the reads that the cache handled, counted once for each segment.
    pub(crate) hit_percent: f64,
    pub(crate) changes: u64,
    /// The read at which the cache was first turned off; 0 if it never was.
    pub(crate) off_at: u64,
}

/// Runs `case` on `disk`.
pub(crate) fn measure(disk: &TestDisk, case: &BenchCase, setup: &Setup<'_>) -> anyhow::Result<CaseResult> {
    let capacity = disk.device.capacity();
    let sequence = |benchmarks: &[GfBenchmark]| {
        BenchmarkSequence::new(benchmarks, case.processes, u32::MAX, capacity, setup.seed)
            .share(case.share)
            .interleaved()
            .unplugging()
    };
    let in_a_row = |mut sequence: BenchmarkSequence| {
        let report = served(&mut sequence, disk, case, setup)?;
        let seconds = sequence.times().iter().map(|(from, to)| (*to - *from).as_secs_f64()).collect();
        anyhow::Ok((report, seconds))
    };
    let (report, seconds) = match case.load {
        BenchmarkMix::Alone(benchmark) => in_a_row(sequence(&[benchmark]).forking())?,
        BenchmarkMix::OneProgram => in_a_row(sequence(&[GfBenchmark::KernelRead]).one_program())?,
        BenchmarkMix::InARow => in_a_row(sequence(&GfBenchmark::ALL).forking())?,
        BenchmarkMix::AtOnce => {
            let mut source = BenchmarksAtOnce::new(case.processes, case.share, capacity, setup.seed);
            let report = served(&mut source, disk, case, setup)?;
            (report, source.seconds().into_iter().collect())
        }
    };
    let measured = CaseResult {
        seconds,
        io_seconds: report.service_ms.mean * report.dispatched as f64 / 1e3,
        ..CaseResult::default()
    };
    Ok(match &report.redcap {
        Some(redcap) => of_cache(redcap, measured),
        None => measured,
    })
}

fn of_cache(redcap: &RedcapReport, measured: CaseResult) -> CaseResult {
    let counters = &redcap.counters;
    let hits = counters.hits + counters.waits;
    let misses = counters.partial_misses + counters.hole_misses + counters.misses;
    let partial_reads = hits + misses + counters.whole_segments + counters.pass_bys;
    let percent = |reads: u64| 100.0 * reads as f64 / counters.reads.max(1) as f64;
    let off = redcap.checks.iter().find(|check| check.active == [true, false]);
    CaseResult {
        active_percent: percent(counters.reads - counters.inactive_reads),
        hit_percent: 100.0 * hits as f64 / partial_reads.max(1) as f64,
        changes: redcap.state.len() as u64 - 1,
        off_at: off.map_or(0, |check| check.reads),
        ..measured
    }
}

fn served<S: Source>(source: S, disk: &TestDisk, case: &BenchCase, setup: &Setup<'_>) -> anyhow::Result<RunReport> {
    let cache =
        |algorithm| RedcapSpec::parse(&format!("{CACHE},algorithm={algorithm},copy_us_per_kib={COPY_US_PER_KIB}"));
    let config = RunConfig {
        redcap: case.algorithm.map(cache).transpose()?,
        tables: Some(disk.tables.clone()),
        // The tables hold the time of one request alone, not of overlapping ones.
        block: BlockConfig { queue_depth: Some(1), ..BlockConfig::default() },
        host: CpuOverheads::default(),
        rotational: disk.rotational,
        seed: setup.seed,
        ..RunConfig::default()
    };
    let scheduler = SchedulerSpec::parse(case.scheduler)?;
    let mut session = Session::new(source, disk.device.clone(), &scheduler, &config)?;
    session.run_until(Nanos::MAX)?;
    let (report, _) = session.finish();
    setup.progress.add(report.requests);
    Ok(report)
}
