//! LKR with short segments by algorithm: where `v1` leaves a cache on that loses, and why.

use super::{config, source};
use crate::gf::GfBenchmark;
use crate::{ResultTable, Setup};
use iopilot_block::{Nanos, Op};
use iopilot_catalogue::{AnyDevice, Catalogue};
use iopilot_dads::{AdaptiveCache, RedcapPilot};
use iopilot_device::Device;
use iopilot_redcap::{Algorithm, RedcapSpec};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RunConfig, Session};
use iopilot_trace::TraceRecord;
use rayon::prelude::*;

const CACHES: [&str; 2] = ["256x32k", "128x64k"];
const ALGORITHMS: [&str; 4] =
    ["algorithm=always", "algorithm=v1", "algorithm=adaptive,resize=off", "algorithm=adaptive"];
const PROCESSES: [u32; 4] = [2, 4, 8, 16];
const QUICK_PROCESSES: [u32; 1] = [4];
/// A read that the disk serves in less time came from its own cache: a revolution takes 8.3 ms.
const FROM_CACHE: Nanos = Nanos::from_millis(2);

/// The results of one run.
struct Measured {
    seconds: f64,
    active_percent: f64,
    /// The disk's reads, and the share of them that its own cache served; unknown where `adaptive` decides.
    reads: Option<(u64, f64)>,
}

pub(super) fn table(setup: &Setup<'_>) -> anyhow::Result<ResultTable> {
    let processes = if setup.quick { &QUICK_PROCESSES[..] } else { &PROCESSES[..] };
    let device = Catalogue::get("wd1200bb")?.build()?;
    let mut cases: Vec<(u32, Option<String>)> = Vec::new();
    for &count in processes {
        cases.push((count, None));
        let caches = CACHES.iter().flat_map(|cache| ALGORITHMS.iter().map(move |how| Some(format!("{cache},{how}"))));
        cases.extend(caches.map(|cache| (count, cache)));
    }
    let measured = cases.par_iter().map(|(processes, cache)| measure(&device, *processes, cache.as_deref(), setup));
    let measured = measured.collect::<anyhow::Result<Vec<_>>>()?;
    let columns =
        ["processes", "cache", "seconds", "gain_percent", "active_percent", "disk_reads", "from_drive_cache_percent"];
    let mut table = ResultTable::new("algorithms", "LKR with short segments, by algorithm", &columns);
    let mut without = f64::NAN;
    for ((processes, cache), measured) in cases.iter().zip(measured) {
        without = if cache.is_none() { measured.seconds } else { without };
        let (reads, from_cache) = measured.reads.map_or((f64::NAN, f64::NAN), |(n, share)| (n as f64, 100.0 * share));
        table.row(vec![
            u64::from(*processes).into(),
            cache.as_deref().unwrap_or("none").into(),
            measured.seconds.into(),
            (100.0 * (1.0 - measured.seconds / without)).into(),
            measured.active_percent.into(),
            reads.into(),
            from_cache.into(),
        ]);
    }
    Ok(table)
}

fn measure(device: &AnyDevice, processes: u32, cache: Option<&str>, setup: &Setup<'_>) -> anyhow::Result<Measured> {
    let scheduler = SchedulerSpec::parse("cfq")?;
    let source = source(GfBenchmark::KernelRead, processes, device.capacity(), setup);
    let config = config(cache, setup)?;
    let adaptive = config.redcap.as_ref().filter(|spec| spec.algorithm == Algorithm::Adaptive);
    let (report, reads) = match adaptive {
        Some(spec) => {
            let spec: &RedcapSpec = spec;
            let mut session = Session::new(source, device.clone(), &scheduler, &config)?;
            let pilot = RedcapPilot::new(spec, device.clone(), &scheduler, &config, device.capacity());
            session.set_cache_decider(Box::new(AdaptiveCache::new(pilot)));
            session.run_until(Nanos::MAX)?;
            (session.finish().0, None)
        }
        None => {
            let config = RunConfig { disk_log: true, ..config };
            let mut session = Session::new(source, device.clone(), &scheduler, &config)?;
            session.run_until(Nanos::MAX)?;
            let disk = session.take_disk_completed();
            (session.finish().0, Some(of_disk(&disk)))
        }
    };
    setup.progress.add(report.requests);
    let active_percent = report.redcap.as_ref().map_or(0.0, |redcap| {
        let counters = &redcap.counters;
        100.0 * (counters.reads - counters.inactive_reads) as f64 / counters.reads.max(1) as f64
    });
    Ok(Measured { seconds: report.elapsed_s, active_percent, reads })
}

/// The number of reads that a disk served, and the share that its own cache served. A merged read counts once.
fn of_disk(records: &[TraceRecord]) -> (u64, f64) {
    let is_own = |record: &&TraceRecord| record.op == Op::Read && record.merged != Some(true);
    let time = |record: &TraceRecord| Some(record.completion?.since(record.issue?));
    let times: Vec<Nanos> = records.iter().filter(is_own).filter_map(time).collect();
    let quick = times.iter().filter(|time| **time < FROM_CACHE).count();
    (times.len() as u64, quick as f64 / times.len().max(1) as f64)
}
