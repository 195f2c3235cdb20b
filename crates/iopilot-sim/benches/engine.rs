//! Simulated requests per second on one core: one mechanical disk under open random load, and an NVMe drive with full queues.
//!
//! Criterion's `elem/s` is the figure of `docs/lab/speed.md`.
#![allow(missing_docs)] // of what criterion's macros make

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iopilot_block::{Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_catalogue::{AnyDevice, load_disk};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, CpuOverheads, Progress, RunConfig, run};
use iopilot_trace::TraceRecord;
use iopilot_workload::replay::{Closed, Open, ReplayRecord};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::time::Duration;

const REQUESTS: u64 = 100_000;

/// Random 4 KiB requests, two thirds of them reads, from 8 processes, at Poisson-like times that keep the disk busy 70 %
/// of the time.
fn random_load(disk: &AnyDevice, mean_gap: Nanos) -> Vec<ReplayRecord> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut now = Nanos::ZERO;
    (0..REQUESTS)
        .map(|_| {
            now += Nanos((-(1.0 - random.random::<f64>()).ln() * mean_gap.0 as f64) as u64);
            let op = if random.random_bool(2.0 / 3.0) { Op::Read } else { Op::Write };
            let lba = Lba(random.random_range(0..disk.capacity() / 8) * 8);
            let process = Some(ProcessId(random.random_range(0..8)));
            ReplayRecord::from(&TraceRecord { process, ..TraceRecord::new(now, op, lba, Sectors(8)) })
        })
        .collect()
}

fn open_random(c: &mut Criterion) {
    let disk = load_disk("hd-500-16").and_then(|d| d.build()).expect("the catalogue has it");
    let records = random_load(&disk, Nanos::from_millis(14));
    let config = RunConfig { rotational: true, ..RunConfig::default() };
    let mut group = c.benchmark_group("open-random");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10).measurement_time(Duration::from_secs(5));
    for scheduler in SchedulerSpec::all() {
        group.bench_function(scheduler.name, |b| {
            b.iter(|| run(Open::new(&records[..]), disk.clone(), &scheduler, &config, &Progress::default()));
        });
    }
    group.finish();
}

/// The cost of choosing by position, with the simulation: 128 requests are always queued on a 10,000 rpm disk.
fn closed_positional(c: &mut Criterion) {
    let disk = load_disk("savvio-10k4-600g").and_then(|d| d.build()).expect("the catalogue has it");
    let records = random_load(&disk, Nanos::ZERO);
    let block = BlockConfig { queue_depth: Some(1), nr_requests: Some(1024), ..BlockConfig::default() };
    let config = RunConfig { rotational: true, block, ..RunConfig::default() };
    let mut group = c.benchmark_group("closed-128");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10).measurement_time(Duration::from_secs(3));
    for scheduler in ["fcfs", "sstf"]
        .iter()
        .map(|name| SchedulerSpec::parse(name))
        .filter_map(Result::ok)
        .chain(SchedulerSpec::positional())
    {
        group.bench_function(scheduler.name, |b| {
            b.iter(|| run(Closed::new(&records[..], 129), disk.clone(), &scheduler, &config, &Progress::default()));
        });
    }
    group.finish();
}

/// Four processes on four CPUs that keep 256 random reads each in an NVMe drive.
fn closed_nvme(c: &mut Criterion) {
    let disk = load_disk("micron-7600-max-6t4").and_then(|d| d.build()).expect("the catalogue has it");
    let mut records = random_load(&disk, Nanos::ZERO);
    for (record, n) in records.iter_mut().zip(0u32..) {
        (record.op, record.process, record.cpu) = (Op::Read, ProcessId(n % 4), (n % 4) as u16);
    }
    let host = CpuOverheads { cpus: 4, ..CpuOverheads::default() };
    let config = RunConfig { host, ..RunConfig::default() };
    let mut group = c.benchmark_group("closed-nvme-1024");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10).measurement_time(Duration::from_secs(3));
    for scheduler in ["none", "mq-deadline"].iter().map(|name| SchedulerSpec::parse(name)).filter_map(Result::ok) {
        group.bench_function(scheduler.name, |b| {
            b.iter(|| run(Closed::new(&records[..], 1024), disk.clone(), &scheduler, &config, &Progress::default()));
        });
    }
    group.finish();
}

criterion_group!(benches, open_random, closed_positional, closed_nvme);
criterion_main!(benches);
