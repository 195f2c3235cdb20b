//! What the autopilot costs: the time of a check, the slowdown of the disk's users, memory, and CPU when idle.
//!
//! Unlike the other experiments, this one measures the machine that it runs on. All but the first table need root, FUSE
//! and fio. The output says what could not be measured.

mod undelayed_disk;

use super::{Claim, Experiment, Outcome, ResultTable, Setup};
use iopilot_block::{Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_catalogue::Catalogue;
use iopilot_dads::{AutopilotSettings, Pilot, Rule, parse_candidates};
use iopilot_sim::RunConfig;
use iopilot_trace::TraceRecord;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::time::{Duration, Instant};
use undelayed_disk::UndelayedDisk;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "dads-cost",
    source: "the project's goals",
    title: "what the autopilot takes of a machine: CPU, memory, and its users' requests",
    run,
};

/// Four schedulers, with eight settings of each that has tunables; more settings of `bfq` make up for `none`.
const CANDIDATES: [&str; 5] = [
    "none",
    "mq-deadline:fifo_batch=1,2,4,8,16,32,64,128",
    "kyber:read_lat_nsec=250000,500000,1000000,2000000,4000000,8000000,16000000,32000000",
    "bfq:low_latency=0:slice_idle=0,1,2,4,8,16,32,64",
    "bfq:low_latency=1:slice_idle=0,1,2,4,8,16,32",
];
/// Requests per second, and seconds, of the window that is checked.
const RATE: u64 = 20_000;
const WINDOW: u64 = 5;

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let (checks, slowest, candidates) = checks(setup)?;
    let mut outcome = Outcome {
        claims: vec![Claim::new(
            "goal",
            format!("a window of {WINDOW} s at {RATE} requests/s is decided within a second, on one core"),
            "below 1 s with 32 candidates",
            format!("{slowest:.2} s with {candidates}"),
            slowest < 1.0,
            "see the table; in a build that is not optimised it takes longer",
        )],
        tables: vec![checks],
        ..Outcome::default()
    };
    if setup.quick {
        outcome.notes.push("quick: a tenth of the window, and nothing was measured on a live disk".to_owned());
        return Ok(outcome);
    }
    match UndelayedDisk::attach()? {
        Ok(disk) => live(&disk, &mut outcome)?,
        Err(missing) => outcome.notes.push(format!("nothing was measured on a live disk: {missing}")),
    }
    Ok(outcome)
}

/// A check of a synthetic window on one thread, by model. Returns the table, the slowest check in seconds, and the
/// number of candidates.
fn checks(setup: &Setup<'_>) -> anyhow::Result<(ResultTable, f64, usize)> {
    let candidates = parse_candidates(&CANDIDATES)?;
    let mut table = ResultTable::new(
        "checks",
        format!(
            "A check of {WINDOW} s at {RATE} random reads/s, one thread; at most 20,000 requests are simulated for each candidate"
        ),
        &["model", "candidates", "window_requests", "simulated_requests", "seconds", "cpu_seconds"],
    );
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut slowest = 0.0f64;
    for name in ["ssd-160-simple", "ssd-160", "hd-500-16"] {
        let device = Catalogue::get(name)?.build()?;
        let requests = RATE * WINDOW / if setup.quick { 10 } else { 1 };
        let records = window(requests, iopilot_device::Device::capacity(&device), setup.seed);
        let settings = AutopilotSettings {
            revert: true,
            renew: true,
            budget: AutopilotSettings::new(candidates.clone()).budget,
            ..AutopilotSettings::thesis(candidates.clone(), Rule::THESIS)
        };
        let mut pilot = Pilot::new(settings, Rule::THESIS, device, &RunConfig::default())?;
        let began = Instant::now();
        let (check, cpu) = threads.install(|| -> anyhow::Result<_> {
            let before = cpu_of_thread()?;
            let check = pilot.check(&records, 0, Nanos::from_secs(WINDOW))?;
            Ok((check, (cpu_of_thread()? - before).as_secs_f64()))
        })?;
        let took = began.elapsed().as_secs_f64();
        // CPU time, so that other processes on the machine do not count.
        slowest = slowest.max(cpu);
        let simulated = check.tried * candidates.len() as u64;
        table.row(vec![
            name.into(),
            candidates.len().into(),
            requests.into(),
            simulated.into(),
            took.into(),
            cpu.into(),
        ]);
    }
    Ok((table, slowest, candidates.len()))
}

/// The CPU time of this thread so far.
fn cpu_of_thread() -> anyhow::Result<Duration> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(Duration::from_nanos(schedstat.split_whitespace().next().unwrap_or_default().parse()?))
}

/// Random reads of four processes, each of which an idle disk served in 150 µs.
fn window(requests: u64, capacity: u64, seed: u64) -> Vec<TraceRecord> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let apart = WINDOW * 1_000_000_000 / requests;
    let record = |n: u64| {
        let arrival = Nanos(n * apart);
        let lba = Lba(random.random_range(0..capacity / 8 - 1) * 8);
        TraceRecord {
            issue: Some(arrival + Nanos::from_micros(10)),
            completion: Some(arrival + Nanos::from_micros(160)),
            process: Some(ProcessId(1000 + (n % 4) as u32)),
            ..TraceRecord::new(arrival, Op::Read, lba, Sectors(8))
        }
    };
    (0..requests).map(record).collect()
}

/// Measures the slowdown of other users, whose requests are as fast as they can be: a disk without delays.
fn live(disk: &UndelayedDisk, outcome: &mut Outcome) -> anyhow::Result<()> {
    /// Pairs of runs; each run sees a check of the default interval. Two runs differ by a tenth by themselves. The
    /// median of this many is known to two percent.
    const PAIRS: usize = 24;
    const RUN: Duration = Duration::from_secs(6);
    /// How long the daemon is watched when there is no load.
    const IDLE: Duration = Duration::from_secs(90);
    let mut table = ResultTable::new(
        "pairs",
        format!("fio, random reads of 4 kB of a disk without delays, runs of {} s in turns", RUN.as_secs()),
        &["iodepth", "pair", "alone_iops", "flown_iops", "loss_percent"],
    );
    let mut peak = 0;
    for depth in [1, 32] {
        let mut losses = Vec::new();
        for pair in 0..PAIRS {
            let mut iops = [0.0; 2];
            // First without and then with the daemon, and the next time in the opposite order.
            for flown in [pair % 2 == 1, pair % 2 == 0] {
                let daemon = flown.then(|| disk.start_daemon()).transpose()?;
                iops[usize::from(flown)] = disk.fio(depth, RUN)?;
                if let Some(daemon) = daemon {
                    peak = peak.max(daemon.peak_kib()?);
                    daemon.stop()?;
                }
            }
            let loss = 100.0 * (1.0 - iops[1] / iops[0]);
            losses.push(loss);
            table.row(vec![depth.into(), pair.into(), iops[0].into(), iops[1].into(), loss.into()]);
        }
        losses.sort_by(f64::total_cmp);
        let median = losses[PAIRS / 2 - 1].midpoint(losses[PAIRS / 2]);
        outcome.claims.push(Claim::new(
            "goal",
            format!("users lose less than 3 % at the highest rate there is, {depth} in flight"),
            "the median of pairs below 3 %",
            format!("{median:.2} % ({:.2} to {:.2} %)", losses[0], losses[PAIRS - 1]),
            median < 3.0,
            "capturing needs CPU time, and the load keeps all CPUs busy",
        ));
    }
    let daemon = disk.start_daemon()?;
    std::thread::sleep(Duration::from_secs(2));
    let (began, before) = (Instant::now(), daemon.cpu()?);
    std::thread::sleep(IDLE);
    let share = 100.0 * (daemon.cpu()? - before).as_secs_f64() / began.elapsed().as_secs_f64();
    let idle_peak = daemon.peak_kib()?;
    daemon.stop()?;
    let mut memory = ResultTable::new("daemon", "The daemon", &["what", "value"]);
    memory.row(vec!["peak resident memory under load, MiB".into(), (peak as f64 / 1024.0).into()]);
    memory.row(vec!["peak resident memory, idle, MiB".into(), (idle_peak as f64 / 1024.0).into()]);
    memory.row(vec!["CPU when idle, % of one".into(), share.into()]);
    let mb = peak as f64 * 1.024e-3;
    outcome.claims.push(Claim::new(
        "goal",
        "memory",
        "below 100 MB",
        format!("{mb:.0} MB"),
        mb < 100.0,
        "see the table",
    ));
    outcome.claims.push(Claim::new(
        "goal",
        "an idle daemon has no visible cost",
        "below 0.1 % of a CPU",
        format!("{share:.3} % over {} s", IDLE.as_secs()),
        share < 0.1,
        "the daemon looks for work often",
    ));
    outcome.tables.extend([table, memory]);
    outcome.notes.push(
        "another process makes the load, the virtual disk has no model, and the daemon is in a dry run".to_owned(),
    );
    Ok(())
}
