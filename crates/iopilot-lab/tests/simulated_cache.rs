//! GF 4.3.1 (GF is González-Férez' thesis of 2012): the simulated cache of a table-based disk is "alike enough" if it
//! hits about as often as the disk's cache.
#![allow(clippy::unwrap_used)]

use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{
    AnyDevice, DeviceSpec, DiskSpec, SimulatedCache, TableDisk, TableModel, Training, load_disk, three_tables,
};
use iopilot_device::{Device, DeviceRequest, Synchronous};
use iopilot_lab::gf::{BenchmarkSequence, GfBenchmark};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, Progress, RunConfig, run};

const LIMIT: Nanos = Nanos::from_millis(1);

/// Issue, completion, first sector, and the sector after the last.
type Service = (Nanos, Nanos, u64, u64);

/// The services of `device` for a benchmark under a scheduler, in order. Merged requests are one service.
fn served(device: &AnyDevice, benchmark: GfBenchmark, scheduler: &str, processes: u32) -> Vec<Service> {
    let source = BenchmarkSequence::new(&[benchmark], processes, 8000 / processes, device.capacity(), 0);
    let config = RunConfig {
        block: BlockConfig { queue_depth: Some(1), ..BlockConfig::default() },
        rotational: true,
        log: true,
        ..RunConfig::default()
    };
    let scheduler = SchedulerSpec::parse(scheduler).unwrap();
    let mut log = run(source, device.clone(), &scheduler, &config, &Progress::default()).unwrap().log.unwrap();
    log.sort_by_key(|r| (r.issue, r.lba));
    let mut services: Vec<Service> = Vec::new();
    for r in &log {
        let (issue, end) = (r.issue.unwrap(), r.lba.0 + u64::from(r.sectors.0));
        match services.last_mut() {
            Some(last) if last.0 == issue && last.3 == r.lba.0 => last.3 = end,
            _ => services.push((issue, r.completion.unwrap(), r.lba.0, end)),
        }
    }
    services
}

fn cache_kib(spec: &DiskSpec) -> u64 {
    let DeviceSpec::Mechanical(drive) = &spec.device else { panic!("{}", spec.name) };
    drive.cache.size_kib
}

/// The shares of reads that hit the disk's cache (by their time) and the simulated cache. The simulated cache gets each
/// request when the disk served it.
fn hits(disk: &str, benchmark: GfBenchmark, processes: u32) -> (f64, f64) {
    let spec = load_disk(disk).unwrap();
    let device = spec.build().unwrap();
    let (_, _, model) = three_tables(&mut Synchronous::new(device.clone()), cache_kib(&spec), LIMIT, 0).unwrap();
    let services = served(&device, benchmark, "cfq", processes);
    let mut cache = SimulatedCache::new(model);
    let (mut real, mut simulated, mut previous_end) = (0, 0, 0);
    for &(issue, completion, start, end) in &services {
        simulated += u32::from(cache.read(start, end, previous_end, issue));
        if cache.ahead_from().is_some() {
            cache.ahead_since(completion);
        }
        // A tenth more for each further sector, which three tables give.
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

/// How much slower a table-based disk of three tables that learns on line is than `spec`, whose requests it gets. A
/// request comes when it came to the disk, or, with `think`, as long after the one before as there.
fn slower(spec: &DiskSpec, (benchmark, scheduler): (GfBenchmark, &str), processes: u32, think: bool) -> f64 {
    let device = spec.build().unwrap();
    let (form, _, cache) = three_tables(&mut Synchronous::new(device.clone()), cache_kib(spec), LIMIT, 0).unwrap();
    let training = Training { form, samples: 4, seed: 0 };
    let trained = training.run_reads(&mut Synchronous::new(device.clone()), || ()).unwrap();
    let mut disk = TableDisk::new(TableModel { tables: trained.tables.averaged(64), cache, queue_depth: 1 });
    let (mut real, mut ours, mut idle_since, mut real_idle_since) = (0, 0, Nanos::ZERO, Nanos::ZERO);
    let (mut previous_end, mut out) = (Lba(0), Vec::new());
    for (issue, completion, start, end) in served(&device, benchmark, scheduler, processes) {
        let at = if think { idle_since + issue.since(real_idle_since) } else { issue };
        let (op, flags, sectors) = (Op::Read, Flags::empty(), Sectors((end - start) as u32));
        let request = DeviceRequest { id: RequestId::from_index(0), op, lba: Lba(start), sectors, flags };
        disk.submit(request, at);
        disk.advance(Nanos::MAX, &mut out);
        idle_since = out.pop().unwrap().at;
        ours += idle_since.since(at).0;
        real += completion.since(issue).0;
        disk.observe(&request, previous_end, completion.since(issue));
        (real_idle_since, previous_end) = (completion, Lba(end));
    }
    ours as f64 / real as f64 - 1.0
}

/// Shows why LKR takes so much longer with three tables in `gf-table-accuracy`.
#[test]
fn a_table_disk_that_is_late_reads_ahead_less_and_is_later() {
    let spec = load_disk("st3400620as").unwrap();
    let mut plain = spec.clone();
    let DeviceSpec::Mechanical(drive) = &mut plain.device else { panic!() };
    drive.cache.read_on_arrival = false;
    let lkr = (GfBenchmark::KernelRead, "cfq");
    for processes in [1, 8] {
        let late = slower(&spec, lkr, processes, false);
        let in_time = slower(&spec, lkr, processes, true);
        let no_arrival = slower(&plain, lkr, processes, true);
        let percent = [late, in_time, no_arrival].map(|share| format!("{:+.1} %", 100.0 * share));
        println!(
            "LKR with {processes}: as they came, with think times, a disk that does not read on arrival: {percent:?}"
        );
        assert!(late > in_time + 0.1 && in_time > no_arrival + 0.02, "{percent:?}");
    }
}

/// TAC takes about as long when other processes read in between (GF 4.6). Both caches double what they read ahead in a
/// segment that was hit, also for disks that read little ahead elsewhere.
#[test]
fn backward_readers_in_turns_are_sequential_to_the_disk_and_to_the_simulated_cache() {
    for disk in ["hd-250-32", "hd-500-32", "hd-500-16"] {
        for processes in [2, 8] {
            let spec = load_disk(disk).unwrap();
            let [idling, noop] = ["as", "noop"].map(|s| slower(&spec, (GfBenchmark::Tac, s), processes, true));
            println!("TAC with {processes} on {disk}: as {:+.1} %, noop {:+.1} %", 100.0 * idling, 100.0 * noop);
            let near = |off| (-0.15..0.05).contains(&off);
            assert!(near(idling) && near(noop), "{disk}: {idling}, {noop}");
        }
    }
}
