//! `iopilot disk probe`.

use crate::Sandbox;
use crate::loop_device::Loop;
#[cfg(target_os = "linux")]
use crate::vdisks::{Disks, device};
#[cfg(target_os = "linux")]
use iopilot_testing::skipped;
use serde_json::Value;
use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;

#[test]
fn what_was_found_is_told_and_is_a_disk() {
    let s = Sandbox::new();
    let told = s.ok("disk probe wd1200bb --quiet --json -o found.toml");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((&told["heads"], &told["cache"]["segments"]), (&6.into(), &16.into()));
    let rpm = told["rpm"]["value"].as_f64().expect("a number");
    assert!((rpm - 7200.0).abs() < 1.0, "{rpm}");
    assert!(told["seek"].as_array().is_some_and(|seek| seek.len() > 20));
    let table = s.ok("disk probe found.toml --quiet");
    assert!(table.contains("cache segments") && table.contains("assumed: "), "{table}");
    s.ok("disk show found.toml");
    s.holds_nothing_but(&["small.trace", "found.toml"]);
}

#[test]
fn what_does_not_turn_leaves_nothing() {
    let s = Sandbox::new();
    let done = s.run("disk probe ssd-64-simple --quiet -o found.toml");
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(done.stderr.contains("no rotation is to be seen"), "{}", done.stderr);
    s.holds_nothing_but(&["small.trace"]);
}

/// A disk that is probed quickly.
#[cfg(target_os = "linux")]
const SMALL: &str = r#"
name = "small"
model = "a small one"
type = "mechanical"

[geometry]
capacity_sectors = 600_000
heads = 2
layout = "cylinder"
outer_rate_mb_s = 60.0
inner_rate_mb_s = 50.0
zones = 2

[mechanics]
rotation_rpm = 15000.0
head_switch_ms = 0.5
write_settle_ms = 0.1

[mechanics.seek]
single_cylinder_ms = 0.6
average_ms = 2.0
full_stroke_ms = 4.0

[interface]
rate_mb_s = 100.0
queue_depth = 1
read_overhead_ms = 0.2
hit_overhead_ms = 0.1
write_overhead_ms = 0.1

[cache]
size_kib = 512
segments = 4
read_ahead_sequential_sectors = 64
read_ahead_random_sectors = 32
read_ahead_on_hit = true
"#;

/// The accuracy depends on the machine's load, to which other tests add. With `IOPILOT_TEST_QUIET` set, on an otherwise
/// idle machine, all results must be right. Elsewhere they must be plausible, or refused.
#[cfg(target_os = "linux")]
#[test]
fn a_live_disk_is_found_to_be_what_it_is_and_is_only_read() {
    let Some(disks) = Disks::new() else { return };
    disks.sandbox.write("small.toml", SMALL);
    let disk = disks.attach("--disk small.toml");
    let line = format!("disk probe {} --json -o found.toml", device(&disk));
    let done = disks.sandbox.run(&format!("{line} --time-limit 1"));
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(done.stderr.contains("not done within 1 s"), "{}", done.stderr);
    assert!(!disks.sandbox.path().join("found.toml").exists());

    let done = disks.sandbox.run(&format!("{line} --time-limit 300"));
    let quiet = std::env::var_os("IOPILOT_TEST_QUIET").is_some();
    if done.code == 0 {
        let told: Value = serde_json::from_str(&done.stdout).expect("JSON");
        let rpm = told["rpm"]["value"].as_f64().expect("a number");
        assert!((rpm / 15_000.0 - 1.0).abs() < 1e-3, "{rpm}");
        assert!(told["noise_us"].as_f64().is_some_and(|noise| noise > 0.1), "{told}");
        disks.sandbox.ok("disk show found.toml");
        let zones = told["zones"].as_array().unwrap();
        let tracks: Vec<_> = zones.iter().map(|zone| zone["sectors_per_track"].as_u64().unwrap()).collect();
        if quiet {
            assert_eq!(told["cache"]["segments"], 4, "{told}");
            assert_eq!((tracks.first(), tracks.last()), (Some(&545), Some(&454)), "{tracks:?}");
        } else {
            skipped("exact figures only: IOPILOT_TEST_QUIET does not say that the machine is quiet");
        }
    } else {
        assert!(done.code == 1 && !quiet, "{}", done.stderr);
        skipped(&format!("the machine is too busy: {}", done.stderr.trim_end()));
        assert!(!disks.sandbox.path().join("found.toml").exists());
    }
    assert_eq!(fs::metadata(disks.sandbox.path().join("disk.img")).unwrap().blocks(), 0, "nothing was written");
    disks.ok("detach vd0");
    disks.are_gone();
}

#[test]
fn a_live_disk_that_does_not_turn_is_told_at_once() {
    let s = Sandbox::new();
    let Some(disk) = Loop::attach(&s, 64 << 20) else { return };
    let done = s.run(&format!("disk probe {} --quiet -o found.toml", disk.0));
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(done.stderr.contains("no rotation is to be seen"), "{}", done.stderr);
    assert!(!s.path().join("found.toml").exists());
    assert!(fs::read(s.path().join("image")).unwrap().iter().all(|&byte| byte == 0));
}
