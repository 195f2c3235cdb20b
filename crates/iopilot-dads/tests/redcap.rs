//! `adaptive` on simulated disks.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use iopilot_dads::{simulate, simulate_logged};
use iopilot_redcap::{Miss, RedcapSpec};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, Progress, RunOptions, RunReport};
use iopilot_workload::{Workload, WorkloadOptions};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::Path;

/// Eight processes read 4 KiB and leave out 8 KiB, each in its own file near the start of the disk.
const STRIDED: &str = "[global]\nfilename=/dev/sdX\ndirect=1\nioengine=sync\nbs=4k\n\n\
                       [strided]\nrw=read:8k\nnumjobs=8\noffset=1g\noffset_increment=1g\nsize=512m\nnumber_ios=1500\n";
/// Six processes read 4 KiB at random behind its middle.
const LOOKUPS: &str = "\n[lookups]\nrw=randread\nnumjobs=6\noffset=80g\nsize=20g\nnumber_ios=500\n";

fn machine() -> Machine {
    Machine::for_disk("wd1200bb").unwrap()
}

fn workload(name: &str, jobs: &str, machine: &Machine) -> Workload {
    loaded(&format!("{name}.fio"), jobs, machine)
}

/// The workload in a file of this name.
fn loaded(name: &str, text: &str, machine: &Machine) -> Workload {
    let path = std::env::temp_dir().join(format!("iopilot-dads-redcap-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let load = Workload::load(&path, &WorkloadOptions::default(), machine.capacity()).unwrap();
    std::fs::remove_file(&path).unwrap();
    load
}

fn run(load: &Workload, redcap: &str) -> RunReport {
    let machine = machine().with_redcap((redcap != "off").then(|| RedcapSpec::parse(redcap).unwrap()));
    let scheduler = SchedulerSpec::parse("mq-deadline").unwrap();
    simulate(&machine, load, &scheduler, &RunOptions::default(), &Progress::default()).unwrap()
}

#[test]
fn a_small_load_does_not_pay_for_a_decision() {
    let machine = Machine::for_disk("hp-c2247").unwrap();
    let scheduler = SchedulerSpec::parse("clook").unwrap();
    let cached = machine.with_redcap(Some(RedcapSpec::parse("64x128k").unwrap()));
    for scale in ["0.05", "0.2"] {
        let text = format!("copytree:scale={scale}");
        let load = Workload::load(Path::new(&text), &WorkloadOptions::default(), machine.capacity()).unwrap();
        for seed in 1..=5 {
            let options = RunOptions { seed, ..RunOptions::default() };
            let seconds = |machine| {
                let run = simulate(machine, &load, &scheduler, &options, &Progress::default()).unwrap();
                run.host.unwrap().tasks_end_s.unwrap()
            };
            let (off, on) = (seconds(&machine), seconds(&cached));
            assert!(on <= 1.02 * off, "scale {scale}, seed {seed}: {on} s, {off} without");
        }
    }
}

#[test]
fn every_request_of_a_decided_run_is_logged_once_and_in_order() {
    let machine = machine().with_redcap(Some(RedcapSpec::parse("64x128k").unwrap()));
    let load = workload("logged", &STRIDED.replace("1500", "300"), &machine);
    let (scheduler, mut arrivals) = (SchedulerSpec::parse("mq-deadline").unwrap(), Vec::new());
    let (options, progress) = (RunOptions::default(), Progress::default());
    let mut keep = |record: &iopilot_trace::TraceRecord| {
        arrivals.push(record.arrival);
        Ok(())
    };
    let logged = simulate_logged(&machine, &load, &scheduler, &options, &progress, &mut keep).unwrap();
    assert!(arrivals.len() == 2400 && arrivals.is_sorted(), "{}", arrivals.len());
    assert_eq!(progress.done(), 2400);
    let plain = simulate(&machine, &load, &scheduler, &options, &progress).unwrap();
    assert_eq!((plain.elapsed_s, plain.requests), (logged.elapsed_s, logged.requests));
    let redcap = logged.redcap.unwrap();
    assert!(redcap.state.len() > 1 && redcap.checks.len() == plain.redcap.unwrap().checks.len());
    // The trials run on the machine's own disk, so that they agree with it.
    let last = redcap.checks.last().unwrap();
    let (predicted, measured) = (last.predicted_ms.unwrap(), last.measured_ms.unwrap());
    assert!((0.7..1.4).contains(&(predicted / measured)), "{last:?}");
}

#[test]
fn the_first_clear_window_turns_it_on() {
    let load = workload("clear", STRIDED, &machine());
    let redcap = run(&load, "64x128k").redcap.unwrap();
    assert!(redcap.state[1].active && redcap.state[1].time_s <= 0.5, "{:?}", redcap.state);
}

/// Eight processes read, and the queue takes four requests: it is always full.
#[test]
fn above_a_shallow_queue_it_reads_segments_in_one_request() {
    let mut machine = machine();
    (machine.block.queue_depth, machine.block.host_tags) = (Some(4), Some(4));
    let load = workload("shallow", STRIDED, &machine);
    let scheduler = SchedulerSpec::parse("none").unwrap();
    let run = |redcap: Option<&str>| {
        let machine = machine.with_redcap(redcap.map(|text| RedcapSpec::parse(text).unwrap()));
        simulate(&machine, &load, &scheduler, &RunOptions::default(), &Progress::default()).unwrap()
    };
    let [off, split, free] = [None, Some("64x128k,miss=split"), Some("64x128k")].map(run);
    assert!(free.elapsed_s < 0.65 * off.elapsed_s, "{} s, {} without", free.elapsed_s, off.elapsed_s);
    assert!(free.elapsed_s < 0.8 * split.elapsed_s, "{} s, {} by split", free.elapsed_s, split.elapsed_s);
    assert_eq!(free.redcap.unwrap().checks.last().unwrap().miss, Miss::Combined);
}

#[test]
fn by_region_a_cache_serves_the_processes_that_gain_and_no_others() {
    let load = workload("mixture", &format!("{STRIDED}{LOOKUPS}"), &machine());
    let [off, always, undivided] =
        ["off", "64x128k,algorithm=always", "64x128k,regions=1"].map(|redcap| run(&load, redcap).response_ms.mean);
    let divided = run(&load, "64x128k");
    let mean = divided.response_ms.mean;
    for other in [off, always, undivided] {
        assert!(mean < 0.9 * other, "{mean} ms with regions; {off} without a cache, {always}, {undivided}");
    }
    let redcap = divided.redcap.unwrap();
    // 20 of 112 GiB are read at random, as groups of 1.75 GiB.
    assert!((15.0..30.0).contains(&redcap.off_percent), "{} % are off", redcap.off_percent);
    assert!(redcap.counters.pass_bys > 2000 && redcap.counters.hits > 10_000, "{:?}", redcap.counters);
    // Each decision says so, too.
    let last = redcap.checks.last().unwrap();
    assert!((last.off_percent - redcap.off_percent).abs() < 1.0, "{last:?}");
}

/// Four processes that read blocks at random, and then as many of a file backwards, in turn. A phase has `reads` reads.
fn in_turn(machine: &Machine, reads: u64) -> Workload {
    let mut random = Pcg64Mcg::seed_from_u64(reads);
    let mut lines = String::from("# columns: time_ms,op,lba,sectors,pid,completion_ms\n");
    for n in 0..2500 {
        for process in 0..4 {
            let lba = match n / reads % 2 {
                0 => random.random_range(0..25_000_000) * 8,
                _ => 40_000_000 * (process + 1) - 8 * n,
            };
            lines += &format!("{},R,{lba},8,{process},{}\n", n * 10, n * 10 + 9);
        }
    }
    loaded(&format!("in-turn-{reads}.csv"), &lines, machine)
}

#[test]
fn where_the_cache_hardly_helps_it_neither_costs_nor_flaps() {
    let machine = machine();
    for reads in [3, 12, 100, 400] {
        let load = in_turn(&machine, reads);
        let [off, always, adaptive] = ["off", "64x128k,algorithm=always", "64x128k"].map(|redcap| run(&load, redcap));
        let seconds = [off.elapsed_s, always.elapsed_s, adaptive.elapsed_s];
        assert!(seconds[1] > 1.03 * seconds[0], "phases of {reads}: always on costs: {seconds:?}");
        assert!(seconds[2] < 1.01 * seconds[0], "phases of {reads}: {seconds:?}");
        let changes = adaptive.redcap.unwrap().state.len() - 1;
        assert!(changes <= 8, "phases of {reads}: {changes} changes");
    }
}

#[test]
fn where_the_cache_is_of_use_everywhere_regions_cost_nothing() {
    let load = workload("strided", STRIDED, &machine());
    let [divided, undivided] = ["64x128k", "64x128k,regions=1"].map(|redcap| run(&load, redcap).response_ms.mean);
    assert!(divided < 1.05 * undivided, "{divided} against {undivided} ms");
}

#[test]
fn segments_become_as_long_as_pays() {
    let load = workload("segments", STRIDED, &machine());
    let fixed = run(&load, "256x32k,resize=off");
    let free = run(&load, "256x32k");
    let (fixed_ms, free_ms) = (fixed.response_ms.mean, free.response_ms.mean);
    assert!(free_ms < 0.8 * fixed_ms, "{free_ms} ms with other segments, {fixed_ms} without");
    let (fixed, free) = (fixed.redcap.unwrap(), free.redcap.unwrap());
    assert_eq!(fixed.geometry.to_string(), "256x32k");
    assert!(free.geometry.segment_blocks >= 32 && free.geometry.bytes() == 8 << 20, "{}", free.geometry);
}

#[test]
fn a_cache_grows_to_hold_all_streams_but_not_beyond_its_cap() {
    // While a process thinks, the segment that it reads from may have to make room.
    let think = STRIDED.replace("number_ios=1500", "number_ios=400\nthinktime=50ms");
    let jobs = think.replace("numjobs=8", "numjobs=32");
    let load = workload("grows", &jobs, &machine());
    let [small, grown] = ["16x128k", "16x128k,cap=8"].map(|redcap| run(&load, redcap));
    let (small_ms, grown_ms) = (small.response_ms.mean, grown.response_ms.mean);
    assert!(grown_ms < 0.8 * small_ms, "{grown_ms} ms where it may grow, {small_ms} where not");
    let redcap = grown.redcap.unwrap();
    assert!(redcap.geometry.bytes() > 2 << 20, "{}", redcap.geometry);
    assert!(redcap.checks.iter().all(|check| check.geometry.bytes() <= 8 << 20));
    assert!(small.redcap.unwrap().checks.iter().all(|check| check.geometry.bytes() <= 2 << 20));
}
