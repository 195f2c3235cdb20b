//! Schedulers that need the position of the arm, on disks that have one and on a disk that has none.

#![allow(clippy::unwrap_used)]

use iopilot_block::{Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{BlockConfig, Machine, Progress, RunConfig, RunReport, SimError, run};
use iopilot_trace::TraceRecord;
use iopilot_workload::replay::{Closed, Open, ReplayRecord};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::Path;

/// Requests of 4 KiB in runs of `run` adjacent ones at random places, which arrive together; one request every `gap`.
fn load(disk: &str, requests: u64, gap: Nanos, reads: f64, run: u64) -> Vec<ReplayRecord> {
    let capacity = Machine::for_disk(disk).unwrap().capacity();
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let mut at = TraceRecord::new(Nanos::ZERO, Op::Read, Lba(0), Sectors(8));
    let one = |i: u64| {
        if i % run == 0 {
            let op = if rng.random_bool(reads) { Op::Read } else { Op::Write };
            let lba = Lba(rng.random_range(0..capacity / 8 - run) * 8);
            at = TraceRecord {
                process: Some(ProcessId(i as u32 % 7)),
                ..TraceRecord::new(gap * i, op, lba, Sectors(8))
            };
        } else {
            at.lba = at.lba + Sectors(8);
        }
        ReplayRecord::from(&at)
    };
    (0..requests).map(one).collect()
}

fn random_load(disk: &str, requests: u64) -> Vec<ReplayRecord> {
    load(disk, requests, Nanos::ZERO, 1.0, 1)
}

fn config(queue_depth: u32) -> RunConfig {
    let block = BlockConfig { queue_depth: Some(queue_depth), ..BlockConfig::default() };
    RunConfig { block, rotational: true, ..RunConfig::default() }
}

fn closed(disk: &str, scheduler: &str, records: &[ReplayRecord], depth: u32, population: u32) -> RunReport {
    let device = Machine::for_disk(disk).unwrap().device();
    let spec = SchedulerSpec::parse(scheduler).unwrap();
    run(Closed::new(records, population), device, &spec, &config(depth), &Progress::default()).unwrap()
}

/// The gain from knowing the rotation grows with the queue. Orders by positioning time beat orders by distance, which beat the
/// order of arrival (Worthington et al., Jacobson and Wilkes, Carroll 2.2.5).
#[test]
fn positioning_beats_distance_and_distance_beats_arrival() {
    for disk in ["hd-500-16", "hp-c2247", "wd1200bb"] {
        let records = random_load(disk, 6_000);
        let rate = |spec: &str| closed(disk, spec, &records, 1, 64).throughput_mb_s;
        let [sptf, satf, sstf, look, fcfs] = ["sptf", "satf", "sstf", "look", "fcfs"].map(rate);
        assert!(sptf > 1.1 * sstf && sstf > 1.2 * fcfs, "{disk}: {sptf}, {sstf}, {fcfs}");
        assert!((satf / sptf - 1.0).abs() < 0.02, "{disk}: small requests transfer in no time");
        let by_cylinder = rate("look-cyl");
        assert!((by_cylinder / look - 1.0).abs() < 0.1, "{disk}: {by_cylinder}, {look}");
        let tour = rate("tsps");
        assert!(tour > fcfs && tour < sptf, "{disk}: eight are fewer than 64");
    }
}

/// SPTF starves requests. Aging prevents that at some cost, and most of the gain remains.
#[test]
fn aging_trades_throughput_for_the_longest_wait() {
    let disk = "hp-c2247";
    let records = random_load(disk, 20_000);
    let run = |spec: &str| closed(disk, spec, &records, 1, 64);
    let [sptf, aged, weighted, sstf] = ["sptf", "aged-sptf", "weighted-sptf:max_wait=2000", "sstf"].map(run);
    for (name, aged) in [("aged", &aged), ("weighted", &weighted)] {
        assert!(aged.response_ms.max < 0.7 * sptf.response_ms.max, "{name}");
        assert!(aged.throughput_mb_s > sstf.throughput_mb_s, "{name}");
    }
}

/// Every byte is served under any policy, also if requests merge at their dispatch and there are few tags.
#[test]
fn nothing_is_lost_under_any_policy_and_scheme() {
    let disk = "hd-500-16";
    let records = load(disk, 1_500, Nanos::from_millis(2), 0.6, 5);
    let device = Machine::for_disk(disk).unwrap().device();
    let schemes = "priorities=1:priority_policy=4:timeout_scheme=2:timeout=20:stream_scheme=31:max_concat=64";
    let policies = (1..=28).map(|n| format!("ioqueue:policy={n}:{schemes}"));
    let mut joined = 0;
    for spec in policies.chain(SchedulerSpec::positional().iter().map(ToString::to_string)) {
        let spec = SchedulerSpec::parse(&spec).unwrap();
        for (nr_requests, depth) in [(4, 1), (128, 4)] {
            let mut config = config(depth);
            config.block.nr_requests = Some(nr_requests);
            let report = run(Open::new(&records[..]), device.clone(), &spec, &config, &Progress::default()).unwrap();
            assert_eq!(report.requests, records.len() as u64, "{spec}");
            assert_eq!(report.bytes, records.len() as u64 * 4096, "{spec}");
            joined += report.merged;
        }
    }
    assert!(joined > 10_000, "{joined}");
}

/// A closed load without think times waits for the disk only, so that a machine's `speed` divides its time under any scheduler.
#[test]
fn a_disk_of_twice_the_speed_takes_half_the_time() {
    let records = random_load("hp-c2247", 3_000);
    let elapsed = |scheduler: &str, speed: f64| {
        let text = format!("disk = \"hp-c2247\"\n[device]\nspeed = {speed:?}\n");
        let machine = Machine::from_toml(&text, Path::new("m.toml")).unwrap();
        let spec = SchedulerSpec::parse(scheduler).unwrap();
        run(Closed::new(&records[..], 16), machine.device(), &spec, &config(1), &Progress::default()).unwrap().elapsed_s
    };
    for scheduler in ["fcfs", "sptf", "clook-cyl", "prio(sptf)"] {
        let own = elapsed(scheduler, 1.0);
        for speed in [0.5, 2.0] {
            let change = elapsed(scheduler, speed) * speed / own;
            assert!((change - 1.0).abs() < 0.02, "{scheduler}, {speed}: {change}");
        }
    }
}

/// Waiting requests for the same block are read once (Ganger 6, request collapsing), and each of them completes; also around and
/// inside of `prio`.
#[test]
fn requests_for_the_same_blocks_collapse_and_none_is_lost() {
    let disk = "hp-c2247";
    let device = Machine::for_disk(disk).unwrap().device();
    // Three of each, all at once.
    let records: Vec<ReplayRecord> = random_load(disk, 300).into_iter().flat_map(|r| [r; 3]).collect();
    let run = |spec: &str, nr_requests: u32| {
        let mut config = config(1);
        config.block.nr_requests = Some(nr_requests);
        let spec = SchedulerSpec::parse(spec).unwrap();
        run(Open::new(&records[..]), device.clone(), &spec, &config, &Progress::default()).unwrap()
    };
    let apart = run("ioqueue", 1000);
    for spec in ["ioqueue:overlap=1", "ioqueue:overlap=2", "prio(ioqueue:overlap=1)"] {
        for nr_requests in [4, 1000] {
            let report = run(spec, nr_requests);
            assert_eq!((report.requests, report.bytes), (900, 900 * 4096), "{spec}, {nr_requests}");
            assert!(report.merged > 0, "{spec}, {nr_requests}");
        }
        let together = run(spec, 1000);
        assert_eq!(together.merged, 600, "{spec}: of three, two are not sent");
        assert!(together.elapsed_s < apart.elapsed_s, "{spec}");
    }
    assert_eq!(apart.merged, 0);
}

#[test]
fn a_disk_without_an_arm_is_refused_by_name() {
    let machine = Machine::for_disk("ssd-64").unwrap();
    let records = random_load("ssd-64", 10);
    for spec in SchedulerSpec::positional() {
        let run = run(Open::new(&records[..]), machine.device(), &spec, &config(1), &Progress::default());
        match run {
            Ok(_) => assert_eq!(spec.name, "ioqueue"),
            Err(e) => {
                assert!(matches!(e, SimError::Input(_)) && e.is_bad_input());
                assert!(e.to_string().contains(spec.name), "{e}");
            }
        }
    }
}
