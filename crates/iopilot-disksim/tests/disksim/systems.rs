//! Whole systems: a small one by hand, and the reference results of DiskSim 4.0.

// The lint exempts only `#[test]` functions, not their helpers.
#![allow(clippy::unwrap_used)]

use crate::data;
use iopilot_disksim::system::{Override, SystemOptions, SystemReport, TraceFormat, TraceInput, run_system};
use std::path::Path;

const QUEUE: &str = "disksim_ioqueue { Scheduling policy = 1, Cylinder mapping strategy = 0,
    Write initiation delay = 0.0, Read initiation delay = 0.0, Sequential stream scheme = 0, Maximum concat size = 0,
    Overlapping request scheme = 0, Sequential stream diff maximum = 0, Scheduling timeout scheme = 0,
    Timeout time/weight = 0, Timeout scheduling = 0, Scheduling priority scheme = 0, Priority scheduling = 0 }";

/// A file with `disks` simple disks of 10 ms under a controller, followed by `rest`.
fn file(disks: usize, rest: &str) -> String {
    let last = disks - 1;
    let leaves: Vec<String> = (0..disks).map(|i| format!("disksim_simpledisk disk{i} []")).collect();
    format!(
        "disksim_global Global {{ Init Seed = 42, Real Seed = 42, Stat definition file = statdefs }}
disksim_iodriver DRIVER {{ type = 1, Constant access time = 0.0, Scheduler = {QUEUE}, Use queueing in subsystem = 0 }}
disksim_bus TOP {{ type = 2, Arbitration type = 1, Arbitration time = 0.0, Read block transfer time = 0.0,
  Write block transfer time = 0.0, Print stats = 0 }}
disksim_ctlr CTLR {{ type = 1, Scale for delays = 0.0, Bulk sector transfer time = 0.0, Maximum queue length = 0,
  Print stats = 1 }}
disksim_simpledisk SD {{ Block count = 100000, Access time = 10.0, Command overhead = 0.5,
  Bus transaction latency = 0.0, Bulk sector transfer time = 0.0, Never disconnect = 0, Print stats = 1,
  Max queue length = 1, Scheduler = {QUEUE} }}
instantiate [ driver0 ] as DRIVER
instantiate [ bus0, bus1 ] as TOP
instantiate [ ctlr0 ] as CTLR
instantiate [ disk0 .. disk{last} ] as SD
topology disksim_iodriver driver0 [ disksim_bus bus0 [ disksim_ctlr ctlr0 [ disksim_bus bus1 [ {} ] ] ] ]
{rest}",
        leaves.join(", ")
    )
}

fn logorg(scheme: &str, redundancy: &str, devices: usize) -> String {
    let mode = if scheme == "Asis" { "Parts" } else { "Array" };
    format!(
        "disksim_logorg org0 {{ Addressing mode = {mode}, Distribution scheme = {scheme}, Redundancy scheme = {redundancy},
  devices = [ disk0 .. disk{} ], Stripe unit = 64, Synch writes for safety = 0, Number of copies = 2,
  Copy choice on read = 6, RMW vs. reconstruct = 0.5, Parity stripe unit = 64, Parity rotation type = 1 }}\n",
        devices - 1
    )
}

fn load(processors: u32, generators: &str) -> String {
    format!(
        "disksim_pf Proc {{ Number of processors = {processors}, Process-Flow Time Scale = 1.0 }}
disksim_synthio Synthio {{ Number of I/O requests to generate = 500, Maximum time of trace generated = 1000.0,
  System call/return with each request = 0, Think time from call to request = 0.0,
  Think time from request to return = 0.0, Generators = [ {generators} ] }}\n"
    )
}

fn generator(target: &str, capacity: u64, critical: f64, think: f64) -> String {
    format!(
        "disksim_synthgen {{ Storage capacity per device = {capacity}, devices = [ {target} ], Blocking factor = 8,
  Probability of sequential access = 0.2, Probability of local access = 0.3, Probability of read access = 0.66,
  Probability of time-critical request = {critical:?}, Probability of time-limited request = 0.0,
  Time-limited think times = [ normal, 30.0, 100.0 ], General inter-arrival times = [ exponential, 0.0, {think:?} ],
  Sequential inter-arrival times = [ exponential, 0.0, {think:?} ],
  Local inter-arrival times = [ exponential, 0.0, {think:?} ], Local distances = [ normal, 0.0, 4000.0 ],
  Sizes = [ exponential, 0.0, 8.0 ] }}"
    )
}

fn run_text(text: &str, trace: Option<&str>) -> Result<SystemReport, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.parv");
    std::fs::write(&path, text).unwrap();
    let trace = trace.map(|text| TraceInput::from_text("trace", text, TraceFormat::Ascii));
    run_system(&path, &[], trace, &SystemOptions::default()).map(|run| run.report).map_err(|e| e.to_string())
}

#[test]
fn a_trace_over_one_disk_by_hand() {
    let text = file(1, &logorg("Asis", "Noredun", 1));
    // Command 0.5 and access 10 each, one after the other; the run ends with the last arrival.
    let report = run_text(&text, Some("0.0 0 100 8 1\n1.0 0 200 8 0\n100.0 0 300 8 1\n")).unwrap();
    assert_eq!((report.requests, report.outstanding, report.ended.as_str()), (2, 1, "trace"));
    assert!((report.response_ms.mean - (10.5 + 20.0) / 2.0).abs() < 1e-9, "{:?}", report.response_ms);
    assert!((report.access_ms.mean - 10.5).abs() < 1e-9);
    assert!((report.queue_ms.max - 9.5).abs() < 1e-9);
}

#[test]
fn mappings_and_what_lies_outside() {
    let map = "disksim_iosim IS { I/O Trace Time Scale = 1.0, I/O Mappings = [ disksim_iomap { tracedev = 0x1e,
  simdev = disk1, locScale = 1024, sizeScale = 1, offset = 10 } ] }\ninstantiate [ iosim ] as IS\n";
    let text = file(2, &(logorg("Asis", "Noredun", 2) + map));
    let report = run_text(&text, Some("0.0 30 100 8 1\n50.0 0 5 8 1\n99.0 0 5 8 1\n")).unwrap();
    assert_eq!(report.devices.iter().map(|d| d.requests).collect::<Vec<_>>(), [1, 1]);
    let e = run_text(&text, Some("0.0 0 100 8 1\n1.0 0 99999 8 1\n")).unwrap_err();
    assert!(e.starts_with("trace:2: request: got device 0, block 99999, 8 blocks, expected"), "{e}");
}

#[test]
fn a_closed_load_keeps_as_many_requests_as_there_are_processes() {
    let three = [generator("disk0", 100_000, 1.0, 0.0), generator("disk0", 100_000, 1.0, 0.0)].join(", ");
    let text = file(1, &(logorg("Asis", "Noredun", 1) + &load(2, &three)));
    let report = run_text(&text, None).unwrap();
    assert_eq!(report.ended, "load");
    // Two processes share a disk that takes 10.5 ms: each waits for the other.
    assert!((report.overall.response_ms.mean - 21.0).abs() < 0.05, "{:?}", report.overall);
}

#[test]
fn with_one_processor_and_nobody_waiting_only_the_last_generator_issues() {
    let two = [generator("disk0", 100_000, 0.0, 20.0), generator("disk1", 100_000, 0.0, 20.0)].join(", ");
    let rest = logorg("Asis", "Noredun", 2);
    let report = run_text(&file(2, &(rest.clone() + &load(1, &two))), None).unwrap();
    assert_eq!(report.devices[0].requests, 0);
    assert!(report.devices[1].requests > 450);
    let report = run_text(&file(2, &(rest + &load(2, &two))), None).unwrap();
    assert!(report.devices.iter().all(|d| d.requests > 150));
}

#[test]
fn every_organisation_serves_all_requests() {
    for (scheme, redundancy, accesses) in [
        ("Striped", "Noredun", 1.0..2.0),
        ("Striped", "Shadowed", 1.3..2.0),
        ("Striped", "Parity_disk", 1.7..3.0),
        ("Striped", "Parity_rotated", 1.7..3.0),
        ("Random", "Noredun", 1.0..1.001),
        ("Ideal", "Noredun", 1.0..1.001),
    ] {
        let rest = logorg(scheme, redundancy, 4) + &load(4, &generator("org0", 150_000, 1.0, 5.0));
        let report = run_text(&file(4, &rest), None).unwrap();
        assert_eq!(report.requests + report.outstanding, 500, "{scheme} {redundancy}");
        let per_request = report.devices.iter().map(|d| d.requests).sum::<u64>() as f64 / report.requests as f64;
        assert!(accesses.contains(&per_request), "{scheme} {redundancy}: {per_request} accesses a request");
    }
}

#[test]
fn runs_are_repeatable_and_seeds_matter() {
    let rest = logorg("Striped", "Parity_rotated", 4) + &load(3, &generator("org0", 150_000, 0.2, 15.0));
    let text = file(4, &rest);
    let report = run_text(&text, None).unwrap();
    assert_eq!(report, run_text(&text, None).unwrap());
    assert_ne!(report, run_text(&text.replace("Real Seed = 42", "Real Seed = 43"), None).unwrap());
    // The last-written of the two seeds is used.
    assert_eq!(report, run_text(&text.replace("Init Seed = 42", "Init Seed = 7"), None).unwrap());
}

#[test]
fn a_load_that_cannot_be_drawn_is_an_error_and_no_hang() {
    let text = file(1, &(logorg("Asis", "Noredun", 1) + &load(1, &generator("disk0", 100_000, 1.0, 1.0))));
    let e = run_text(&text.replace("Sizes = [ exponential, 0.0, 8.0 ]", "Sizes = [ uniform, -9.0, -8.0 ]"), None);
    assert!(e.clone().unwrap_err().contains("Generators: got generator 0"), "{e:?}");
    let e = run_text(&file(1, &logorg("Asis", "Noredun", 1)), None).unwrap_err();
    assert!(e.contains("load: got none, expected a synthetic load"), "{e}");
}

#[test]
fn warm_up_leaves_the_beginning_out() {
    let text = file(1, &logorg("Asis", "Noredun", 1));
    let text = text.replace("Real Seed = 42,", "Real Seed = 42, Statistic warm-up time = 0.05,");
    let report = run_text(&text, Some("0.0 0 100 8 1\n60.0 0 200 8 0\n200.0 0 300 8 1\n")).unwrap();
    assert_eq!(report.requests, 1);
}

#[test]
fn constant_access_times_need_nothing_below() {
    let text =
        file(1, &logorg("Asis", "Noredun", 1)).replace("Constant access time = 0.0", "Constant access time = 3.0");
    let report = run_text(&text, Some("0.0 0 100 8 1\n60.0 0 200 8 0\n200.0 0 300 8 1\n")).unwrap();
    assert!((report.response_ms.max - 3.0).abs() < 1e-9);
}

fn runs() -> Option<std::path::PathBuf> {
    data().map(|folder| folder.join("runs"))
}

/// DiskSim 4.0's own means, and the required accuracy of ours.
#[test]
fn the_references_of_disksim_4() {
    let Some(folder) = runs() else { return };
    let reference = |name: &str, trace: Option<&str>, mean: f64, percent: f64| {
        let trace = trace.map(|t| TraceInput::open(&folder.join(t), TraceFormat::Ascii).unwrap());
        let run = run_system(&folder.join(name), &[], trace, &SystemOptions::default()).unwrap();
        let ours = run.report.response_ms.mean;
        assert!((ours / mean - 1.0).abs() < percent / 100.0, "{name}: {ours} ms, DiskSim {mean} ms");
    };
    reference("synthopen.parv", None, 10.94, 0.3);
    reference("synthclosed.parv", None, 87.8, 0.5);
    reference("synthraid5.parv", None, 22.86, 2.0);
    // Processes wait here, so the first request that completes in another order changes all later ones. This is the
    // spread over seeds.
    reference("synthcachemem.parv", None, 24.65, 6.0);
    reference("ascii.parv", Some("ascii.trace"), 13.77, 0.3);
}

/// A cache device: processes wait here as well, so single runs scatter; the mean over ten seeds does not.
#[test]
fn a_cache_device_is_as_fast_as_in_disksim_4() {
    let Some(folder) = runs() else { return };
    let mean = |seed: u32| {
        let options = SystemOptions { seed: Some(seed) };
        run_system(&folder.join("synthcachedev.parv"), &[], None, &options).unwrap().report.response_ms.mean
    };
    let means: Vec<f64> = (1..=10).map(mean).collect();
    let ours = means.iter().sum::<f64>() / 10.0;
    assert!((ours / 29.2 - 1.0).abs() < 0.03, "{ours} ms, DiskSim 29.2 ms: {means:?}");
}

#[test]
fn overrides_reach_nested_blocks() {
    let Some(folder) = runs() else { return };
    let path: &Path = &folder.join("synthclosed.parv");
    let set = |text: &str| run_system(path, &[text.parse::<Override>().unwrap()], None, &SystemOptions::default());
    let fcfs = set("driver0:Scheduler:Scheduling policy=1").unwrap().report.response_ms.mean;
    let clook = set("driver0:Scheduler:Scheduling policy=3").unwrap().report.response_ms.mean;
    assert!(fcfs > 1.05 * clook, "{fcfs} {clook}");
    let e = set("driver0:Scheduler:Scheduling polici=1").unwrap_err().to_string();
    assert!(e.contains("Scheduling polici"), "{e}");
}

/// Ganger A.1.2.1: the driver and the drive may have a queue with any policy. (DiskSim 4.0 aborts with some, and loses
/// requests with others.)
#[test]
fn every_policy_at_the_driver_and_on_board_serves_everything() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let folder = tempfile::tempdir().unwrap();
    for name in ["statdefs", "tiny.diskspecs", "tiny.model", "tiny.seek"] {
        std::fs::copy(files.join(name), folder.path().join(name)).unwrap();
    }
    // Thirty processes, each of which waits for its own request.
    let text = std::fs::read_to_string(files.join("tiny.parv")).unwrap();
    let (before, rest) = text.split_once("Generators = [").unwrap();
    let generator = rest.trim().trim_end_matches('}').trim().trim_end_matches(']').trim();
    let text = format!("{before}Generators = [ {} ]\n}}\n", vec![generator; 30].join(", "));
    let path = folder.path().join("tiny.parv");
    std::fs::write(&path, text).unwrap();
    let with = |settings: &[String]| {
        let pressed = ["Synthio:Number of I/O requests to generate=700", "Proc:Number of processors=30"];
        let all = pressed.iter().map(|&s| s.to_owned()).chain(settings.iter().cloned());
        let overrides: Vec<Override> = all.map(|o| o.parse().unwrap()).collect();
        run_system(&path, &overrides, None, &SystemOptions::default()).unwrap().report
    };
    let at_driver = |policy: u32| {
        with(&["driver0:Use queueing in subsystem=0".into(), format!("driver0:Scheduler:Scheduling policy={policy}")])
    };
    let on_board = |policy: u32| {
        with(&["disk*:Max queue length=16".into(), format!("disk*:Scheduler:Scheduling policy={policy}")])
    };
    let fcfs = (at_driver(1), on_board(1));
    assert!(fcfs.0.queue_ms.mean > fcfs.0.access_ms.mean, "there is something to choose from");
    for policy in 2..=28 {
        for (report, first) in [(at_driver(policy), &fcfs.0), (on_board(policy), &fcfs.1)] {
            assert_eq!(report.ended, first.ended, "policy {policy}");
            assert!(report.requests + report.outstanding >= 700, "policy {policy}: {}", report.requests);
            // Policies like SPTF know the positions of the heads, and gain from it.
            if matches!(policy, 8 | 10 | 24) {
                let (gained, of) = (report.response_ms.mean, first.response_ms.mean);
                assert!(gained < 0.9 * of, "policy {policy}: {gained} of {of}");
            }
        }
    }
}
