//! GF 4.3.1: the cache of the virtual disk is "alike enough" if it hits about as often as the disk's.

use iopilot_block::Nanos;
use iopilot_device::{Device, DeviceSpec, SimulatedCache, Synchronous, load_disk, three_tables};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::workload::{GfBenchmark, InARow};
use iopilot_sim::{BlockConfig, Progress, RunConfig, run};

const LIMIT: Nanos = Nanos::from_millis(1);

/// Shares of reads that hit the disk's cache (by their time) and the simulated one, which is fed what the disk served,
/// when it served it.
fn hits(disk: &str, benchmark: GfBenchmark, processes: u32) -> (f64, f64) {
    let spec = load_disk(disk).unwrap();
    let device = spec.build().unwrap();
    let DeviceSpec::Mechanical(drive) = &spec.device else { panic!("{disk}") };
    let (_, _, model) = three_tables(&mut Synchronous::new(device.clone()), drive.cache.size_kib, LIMIT, 0).unwrap();
    let source = InARow::new(&[benchmark], processes, 8000 / processes, device.capacity(), 0);
    let config = RunConfig {
        block: BlockConfig { queue_depth: Some(1), ..BlockConfig::default() },
        rotational: true,
        log: true,
        ..RunConfig::default()
    };
    let report = run(source, device, &SchedulerSpec::parse("cfq").unwrap(), &config, &Progress::default()).unwrap();

    // Issue, completion, first sector and the one behind the last; merged requests are one.
    let mut services: Vec<(Nanos, Nanos, u64, u64)> = Vec::new();
    let mut log = report.log.unwrap();
    log.sort_by_key(|r| (r.issue, r.lba));
    for r in &log {
        let (issue, end) = (r.issue.unwrap(), r.lba.0 + u64::from(r.sectors.0));
        match services.last_mut() {
            Some(last) if last.0 == issue && last.3 == r.lba.0 => last.3 = end,
            _ => services.push((issue, r.completion.unwrap(), r.lba.0, end)),
        }
    }
    let mut cache = SimulatedCache::new(model);
    let (mut real, mut simulated, mut previous_end) = (0, 0, 0);
    for &(issue, completion, start, end) in &services {
        simulated += u32::from(cache.read(start, end, previous_end, issue));
        if cache.ahead_from().is_some() {
            cache.ahead_since(completion);
        }
        // A tenth more for each further sector: three tables tell them so.
        let further = model.sector_time.0 * 11 / 10 * (end - start).saturating_sub(8);
        real += u32::from(completion - issue <= LIMIT + Nanos(further));
        previous_end = end;
    }
    let share = |hits: u32| f64::from(hits) / services.len() as f64;
    (share(real), share(simulated))
}

#[test]
fn the_simulated_cache_hits_about_as_often_as_the_disk_s() {
    for benchmark in [GfBenchmark::KernelRead, GfBenchmark::Strided8, GfBenchmark::Tac] {
        for processes in [1, 8, 32] {
            let (real, simulated) = hits("hd-500-16", benchmark, processes);
            println!("{benchmark}, {processes}: {:.1} %, simulated {:.1} %", 100.0 * real, 100.0 * simulated);
            assert!((real - simulated).abs() < 0.05, "{benchmark}, {processes}: {real:.3}, simulated {simulated:.3}");
        }
    }
}
