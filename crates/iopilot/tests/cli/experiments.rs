//! `experiment list` and `experiment run`.

use crate::Sandbox;
use iopilot_testing::has;
use serde_json::Value;

#[test]
fn experiments_are_listed_and_an_unknown_one_is_refused() {
    let s = Sandbox::new();
    let list: Value = serde_json::from_str(&s.ok("experiment list --json")).unwrap();
    let text = s.ok("experiment list");
    for entry in list.as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        assert!(text.lines().any(|l| l.split_whitespace().next() == Some(name)), "{name}: {text}");
    }
    let line = s.refused("experiment run gf-cache-tims");
    assert!(line.contains("gf-cache-tims") && line.contains("`gf-cache-times`"), "{line}");
}

#[test]
fn each_experiment_has_its_page() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab");
    let pages = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let pages: String = pages.collect();
    let list: Value = serde_json::from_str(&Sandbox::new().ok("experiment list --json")).unwrap();
    for entry in list.as_array().unwrap() {
        let command = format!("iopilot experiment run {}", entry["name"].as_str().unwrap());
        assert!(pages.contains(&command), "no page of docs/lab has `{command}`");
    }
}

#[test]
fn an_experiment_tells_its_claims_and_writes_the_same_to_files() {
    let s = Sandbox::new();
    let text = s.ok("experiment run gf-cache-times --quick");
    assert!(text.contains("claims reproduced") && text.contains("goal: "), "{text}");
    let json = s.ok("experiment run gf-cache-times --quick --json --out results");
    assert_eq!(std::fs::read_to_string(s.path().join("results/gf-cache-times.json")).unwrap(), json);
    let told: Value = serde_json::from_str(&json).unwrap();
    let rows = told["tables"]["times"].as_array().unwrap();
    let csv = std::fs::read_to_string(s.path().join("results/gf-cache-times-times.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + rows.len());
    for row in rows {
        let us = |key: &str| row[key].as_f64().unwrap();
        assert!(us("hit_us") < 1000.0 && us("miss_us") > 1000.0, "{row}");
    }
    for claim in told["claims"].as_array().unwrap() {
        assert_eq!(claim["reproduced"].as_bool().unwrap(), claim["because"].is_null(), "{claim}");
    }
}

/// GF 3.5.2 and 3.6.4, in small.
#[test]
fn a_cache_beside_a_virtual_disk_gains_where_blocks_are_read_backwards() {
    let s = Sandbox::new();
    for (name, disks) in [("redcap-virtual-disk", ["clean", "aged"]), ("redcap-ssd", ["SSD-160", "SSD-64"])] {
        let one = s.ok(&format!("experiment run {name} --quick --json --threads 1 --out results"));
        for disk in disks {
            let svg = std::fs::read_to_string(s.path().join(format!("results/{name}-{disk}.svg"))).unwrap();
            assert!(svg.contains("CFQ + REDCAP") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{disk}");
        }
        assert!(one == s.ok(&format!("experiment run {name} --quick --json --threads 2")), "threads change nothing");
        let told: Value = serde_json::from_str(&one).unwrap();
        let alone = told["tables"]["alone"].as_array().unwrap();
        let backwards = alone.iter().filter(|row| row["benchmark"] == "TAC");
        assert!(backwards.clone().count() == 8);
        for row in backwards {
            assert!(
                row["gain_percent"].as_f64().unwrap() > 5.0 && row["hit_percent"].as_f64().unwrap() > 85.0,
                "{row}"
            );
        }
        assert_eq!(told["tables"]["at_once"].as_array().unwrap().len(), 4);
        assert!(told["claims"].as_array().unwrap().len() > 30, "{}", told["claims"]);
    }
}

/// GF 3.5.1 and 3.6.3, in small: the tables follow what they learn from, and not without the size of requests.
#[test]
fn the_table_based_disk_follows_a_disk() {
    let s = Sandbox::new();
    let one = s.ok("experiment run gf-table-accuracy --quick --json --threads 1 --out results");
    for picture in ["disk-1", "disk-cache-off-8", "ssd-32"] {
        let svg = std::fs::read_to_string(s.path().join(format!("results/gf-table-accuracy-{picture}.svg"))).unwrap();
        assert!(svg.contains("VD 64") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{picture}");
    }
    assert!(one == s.ok("experiment run gf-table-accuracy --quick --json --threads 2"), "threads change nothing");
    let told: Value = serde_json::from_str(&one).unwrap();
    let rows = told["tables"]["differences"].as_array().unwrap();
    let row = |device: &str, disk: &str| {
        let found = rows.iter().find(|r| r["device"] == device && r["disk"] == disk && r["processes"] == 1);
        found.unwrap_or_else(|| panic!("{device}, {disk}")).clone()
    };
    let all = |device: &str, disk: &str| row(device, disk)["all_%"].as_f64().unwrap().abs();
    assert!(all("disk", "VD 64") < 5.0);
    assert!(all("disk, cache off", "VD 64, same order") < 1.0);
    assert!(all("SSD", "VD 64") < 2.0);
    assert!(all("disk", "VD 64, no size") > 10.0);
    // Table 3.2 (a) of the source, as it stands there: 316 of 351 µs.
    assert!((row("disk", "GF VD 64")["TAC_%"].as_f64().unwrap() + 9.97).abs() < 0.01);
    let claims = told["claims"].as_array().unwrap();
    let ruined = claims.iter().find(|c| c["claim"].as_str().unwrap().contains("ruins")).unwrap();
    assert_eq!(ruined["reproduced"], true);
}

/// On a real block device, which needs root, FUSE and loop devices. The accuracy of the figures depends on the
/// machine's load; which request is chosen next hardly does.
#[cfg(target_os = "linux")]
#[test]
fn the_kernel_is_simulated_from_what_reaches_a_virtual_disk() {
    if !has(&["root", "/dev/fuse", "/dev/loop-control"]) {
        return;
    }
    let s = Sandbox::new();
    let json: Value = serde_json::from_str(&s.ok("experiment run kernel-fidelity --quick --json")).unwrap();
    let tables = &json["tables"];
    let cells = tables["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 16);
    for cell in cells {
        for (real, ours) in [("kernel_mean_ms", "mean_ms"), ("kernel_mb_s", "mb_s"), ("kernel_p99_ms", "p99_ms")] {
            let ratio = cell[ours].as_f64().unwrap() / cell[real].as_f64().unwrap();
            assert!((0.1..10.0).contains(&ratio), "{cell}");
        }
    }
    for table in ["predicted", "predicted_mean"] {
        let rows = tables[table].as_array().unwrap();
        assert_eq!(rows.len(), 16);
        assert!(rows.iter().all(|row| row["bfq"].as_f64() > Some(-90.0)), "{rows:?}");
    }
    let choices = tables["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 3);
    for row in choices {
        assert_eq!(row["choices"].as_u64().unwrap(), 640, "{row}");
        assert!(row["same_percent"].as_f64().unwrap() > 90.0, "{row}");
    }
}

/// Whichever scheduler is faster on this machine, the autopilot runs, the file system stays sound, and the previous
/// scheduler is restored, which the experiment itself checks.
#[cfg(target_os = "linux")]
#[test]
fn the_autopilot_flies_over_benchmarks_on_a_virtual_disk() {
    if !has(&["root", "/dev/fuse", "/dev/loop-control", "mkfs.ext4", "kill"]) {
        return;
    }
    let s = Sandbox::new();
    let json: Value = serde_json::from_str(&s.ok("experiment run dads-live --quick --json --out results")).unwrap();
    let times = json["tables"]["times"].as_array().unwrap();
    let runs: Vec<_> = times.iter().map(|row| row["run"].as_str().unwrap()).collect();
    assert_eq!(runs, ["none", "bfq", "DADS from none", "DADS from bfq"]);
    for row in times {
        let sum = row["IOR_s"].as_f64().unwrap() + row["TAC_s"].as_f64().unwrap();
        assert!((row["total_s"].as_f64().unwrap() - sum).abs() < 1e-6 && sum > 0.0, "{row}");
    }
    assert_eq!(json["claims"].as_array().unwrap().len(), 3);
    let mixed = json["tables"]["mixed"].as_array().unwrap();
    let runs: Vec<_> = mixed.iter().map(|row| row["run"].as_str().unwrap()).collect();
    assert_eq!(runs, ["none", "bfq", "DADS from bfq"]);
    assert!(mixed.iter().all(|row| row["random_s"].as_f64() > Some(0.0)), "{mixed:?}");
    for picture in ["dads-live-timeline.svg", "dads-live-mixed.svg"] {
        assert!(s.path().join("results").join(picture).exists(), "{picture}");
    }
}

/// Holds whatever the machine's load, on which the times depend: programs read through the cache, and nothing stays
/// attached.
#[cfg(target_os = "linux")]
#[test]
fn redcap_is_put_over_virtual_disks() {
    if !has(&["root", "io_uring", "/dev/fuse", "/dev/loop-control", "mkfs.ext4", "find", "fio", "chrt"]) {
        return;
    }
    let s = Sandbox::new();
    let json: Value = serde_json::from_str(&s.ok("experiment run redcap-live --quick --json")).unwrap();
    let times = &json["tables"]["times"][0];
    assert_eq!((times["load"].as_str(), times["disk"].as_str()), (Some("find-cat-1"), Some("hd-500-16")));
    assert!(times["bare_s"].as_f64() > Some(0.0) && times["always_s"].as_f64() > Some(0.0), "{times}");
    let json: Value = serde_json::from_str(&s.ok("experiment run redcap-cost --quick --json")).unwrap();
    let hits = json["tables"]["hits"].as_array().unwrap();
    assert!(hits.len() == 3 && hits.iter().all(|row| row["hits_iops"].as_f64() > Some(0.0)), "{hits:?}");
    assert_eq!(json["claims"].as_array().unwrap().len(), 5);
    // Other tests may have caches of other names at the same time.
    assert!(!std::fs::read_to_string("/proc/mounts").unwrap().contains("/redcap/lab/mnt"));
    let text = s.ok("experiment run redcap-live --quick");
    let measured = |name: &str| times[format!("{name}_s")].as_f64().is_some_and(|seconds| seconds > 0.0);
    for name in ["larger page cache", "nbdkit cache", "nbdkit readahead+cache", "dm-cache"] {
        assert!(measured(name) || text.contains(&format!("left out: {name}: ")), "{name}: {text}");
    }
}

/// Holds whatever the machine's load, on which the gains depend.
#[cfg(target_os = "linux")]
#[test]
fn the_autopilot_flies_without_a_model() {
    if !has(&["root", "/dev/fuse", "/dev/loop-control", "fio", "kill"]) {
        return;
    }
    let s = Sandbox::new();
    let json: Value = serde_json::from_str(&s.ok("experiment run dads-live-no-model --quick --json")).unwrap();
    for (table, figure, flown) in [("saturated", "iops", "DADS from none"), ("changing", "total_s", "DADS from none")] {
        let rows = json["tables"][table].as_array().unwrap();
        let runs: Vec<_> = rows.iter().map(|row| row["run"].as_str().unwrap()).collect();
        assert_eq!(runs, ["none", "mq-deadline", "kyber", "bfq", flown]);
        assert!(rows.iter().all(|row| row[figure].as_f64() > Some(0.0)), "{rows:?}");
    }
    assert_eq!(json["claims"].as_array().unwrap().len(), 2);
}

/// Holds whatever the machine's load, on which the figures depend: each load is recorded, predicted, run under each
/// scheduler, and judged. Nothing stays mounted or attached.
#[cfg(target_os = "linux")]
#[test]
fn what_is_predicted_from_one_recording_is_run_for_real() {
    if !has(&["root", "/dev/fuse", "/dev/loop-control", "mkfs.ext4", "grep", "cat"]) {
        return;
    }
    let s = Sandbox::new();
    let told: Value = serde_json::from_str(&s.ok("experiment run prediction --quick --json")).unwrap();
    let rows = told["tables"]["predictions"].as_array().unwrap();
    let cells: Vec<_> = rows.iter().map(|row| [&row["load"], &row["scheduler"]].map(|v| v.as_str().unwrap())).collect();
    let expected =
        ["grep", "two-cats"].into_iter().flat_map(|load| ["none", "mq-deadline"].map(|scheduler| [load, scheduler]));
    assert_eq!(cells, expected.collect::<Vec<_>>());
    for row in rows {
        let ratio = row["predicted_s"].as_f64().unwrap() / row["real_s"].as_f64().unwrap();
        assert!((ratio - row["ratio"].as_f64().unwrap()).abs() < 1e-6 && (0.1..10.0).contains(&ratio), "{row}");
        assert!(row["spread_min_s"].as_f64() <= row["predicted_s"].as_f64(), "{row}");
    }
    let verdicts = told["tables"]["verdicts"].as_array().unwrap();
    assert!(
        verdicts.len() == 2 && verdicts.iter().all(|row| row["cost_percent"].as_f64() >= Some(0.0)),
        "{verdicts:?}"
    );
    assert_eq!(told["claims"].as_array().unwrap().len(), 5);
    assert!(!std::fs::read_to_string("/proc/mounts").unwrap().contains("pristine.img"));
}

#[test]
fn what_a_check_costs_is_told() {
    let s = Sandbox::new();
    let told: Value = serde_json::from_str(&s.ok("experiment run dads-cost --quick --json")).unwrap();
    let rows = told["tables"]["checks"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        // A tenth of the window is within what a check simulates.
        assert_eq!((&row["candidates"], &row["simulated_requests"]), (&32.into(), &320_000.into()), "{row}");
    }
}
