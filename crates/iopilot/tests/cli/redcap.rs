//! `--redcap`: a cache in RAM above the block layer.

use crate::Sandbox;
use serde_json::Value;

/// Two processes that read their own places backwards, 4 KiB at a time.
fn backwards(s: &Sandbox) {
    let mut lines = String::from("# columns: time_ms,op,lba,sectors,pid,completion_ms\n");
    for n in 0..600_u64 {
        let (process, step) = (n % 2, n / 2);
        let lba = 1_000_000 * (process + 1) + (300 - step) * 8;
        let at = n * 10;
        lines += &format!("{at},R,{lba},8,{process},{}\n", at + 8);
    }
    s.write("backwards.csv", &lines);
}

fn json(s: &Sandbox, command: &str) -> Value {
    serde_json::from_str(&s.ok(command)).unwrap()
}

#[test]
fn caches_are_compared_under_each_scheduler() {
    let s = Sandbox::new();
    backwards(&s);
    let compared = json(
        &s,
        "compare backwards.csv --disk wd1200bb --scheduler mq-deadline,none --redcap off,64x128k,algorithm=always --replays 1 --json",
    );
    let names: Vec<_> =
        compared["runs"].as_array().unwrap().iter().map(|run| run["scheduler"].as_str().unwrap()).collect();
    let cached = "mq-deadline + 64x128k,algorithm=always";
    assert_eq!(names, ["mq-deadline", cached, "none", "none + 64x128k,algorithm=always"]);
    assert!(compared["verdict"]["best"].as_str().unwrap().contains("64x128k"), "{}", compared["verdict"]);
    let (plain, with) = (&compared["runs"][0], &compared["runs"][1]);
    assert!(plain["redcap"].is_null());
    let redcap = &with["redcap"];
    // 300 reads of each are 2400 sectors: ten or eleven segments of 256.
    assert!((20..=22).contains(&redcap["misses"].as_u64().unwrap()), "{redcap}");
    assert_eq!(with["requests"], 600);
    assert!(redcap["disk"]["requests"].as_u64().unwrap() < 70, "{redcap}");
    assert!(with["wait_ms_mean"].as_f64().unwrap() < plain["wait_ms_mean"].as_f64().unwrap() / 3.0);
    // Its keys are documented.
    let documented = include_str!("../../../../docs/reference/report.md");
    for key in redcap.as_object().unwrap().keys() {
        assert!(documented.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn the_page_shows_what_the_caches_did() {
    let s = Sandbox::new();
    backwards(&s);
    s.ok("compare backwards.csv --disk wd1200bb --scheduler noop --redcap off,64x128k,algorithm=v1 --replays 1 --report page.html");
    let page = std::fs::read_to_string(s.path().join("page.html")).unwrap();
    for text in ["<h2>REDCAP</h2>", "class=\"in-use\"", "cost with\"", "hits: ", "used: "] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(page.matches("<figure>").count(), 1);
}

#[test]
fn a_machine_may_have_one_and_a_run_shows_both_sides() {
    let s = Sandbox::new();
    backwards(&s);
    s.write("m.toml", "disk = \"wd1200bb\"\n[redcap]\ngeometry = \"64x128k\"\nalgorithm = \"v1\"\n");
    let text = s.ok("simulate -w backwards.csv --machine m.toml -s noop");
    for part in ["noop + 64x128k,algorithm=v1", "REDCAP active", "from its RAM", "at the disk"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let without = s.ok("simulate -w backwards.csv --machine m.toml -s noop --redcap off");
    assert!(!without.contains("REDCAP"), "{without}");
}

#[test]
fn trials_in_virtual_time_keep_what_pays_and_turn_off_what_does_not() {
    let s = Sandbox::new();
    backwards(&s);
    let run = |name: &str, redcap: &str| {
        let report = json(&s, &format!("simulate -w {name} --disk wd1200bb -s deadline --redcap {redcap} --json"));
        report["runs"][0].clone()
    };
    let kept = run("backwards.csv", "64x128k");
    // The cache is off until its first trial, and on from then on.
    let state = |run: &Value| run["redcap"]["state"].as_array().unwrap().clone();
    let actives: Vec<_> = state(&kept).iter().map(|change| change["active"].as_bool().unwrap()).collect();
    assert_eq!(actives, [false, true], "{}", kept["redcap"]["state"]);
    assert!(state(&kept)[1]["time_s"].as_f64() <= Some(2.0), "{}", kept["redcap"]["state"]);
    random(&s, 1500);
    let (off, never) = (run("random.csv", "64x128k"), run("random.csv", "64x128k,algorithm=never"));
    assert_eq!(state(&off).last().unwrap()["active"], false, "{}", off["redcap"]["state"]);
    assert!(!off["redcap"]["checks"].as_array().unwrap().is_empty());
    let seconds = |run: &Value| run["elapsed_s"].as_f64().unwrap();
    let always = seconds(&run("random.csv", "64x128k,algorithm=always"));
    assert!(seconds(&off) - seconds(&never) < 0.1 * (always - seconds(&never)), "{off}");
}

#[test]
fn a_run_that_is_decided_on_writes_its_requests() {
    let s = Sandbox::new();
    backwards(&s);
    let simulated = |options: &str| {
        json(&s, &format!("simulate backwards.csv --disk wd1200bb -s mq-deadline --redcap 64x128k {options} --json"))
    };
    let (plain, logged) = (simulated(""), simulated("--requests-out out.parquet"));
    assert_eq!(plain["runs"], logged["runs"]);
    let written = json(&s, "trace stat out.parquet --json");
    assert_eq!(written["requests"], 600, "{written}");
}

#[test]
fn other_segments_turn_a_cache_on_that_was_off() {
    let s = Sandbox::new();
    // At places all over the disk, every sixteenth block of 256 KiB, in any order. A segment of 32 KiB has one of them.
    let mut lines = String::from("# columns: time_ms,op,lba,sectors,pid,completion_ms\n");
    for n in 0..6000_u64 {
        let place = (n / 4 * 7_919_317) % 400_000 * 512;
        let lba = place + (n / 4 + 3 * n) % 4 * 128;
        lines += &format!("{},R,{lba},8,1,{}\n", n * 10, n * 10 + 9);
    }
    s.write("sparse.csv", &lines);
    let run = |redcap: &str| {
        let report =
            json(&s, &format!("simulate -w sparse.csv --disk wd1200bb -s mq-deadline --redcap {redcap} --json"));
        report["runs"][0].clone()
    };
    let [fixed, free] = ["256x32k,resize=off", "256x32k"].map(run);
    let (fixed_state, state) = (&fixed["redcap"]["state"], free["redcap"]["state"].as_array().unwrap());
    assert_eq!(fixed_state.as_array().unwrap().len(), 1, "with short segments it is off all the time: {fixed_state}");
    let actives: Vec<_> = state.iter().map(|change| change["active"].as_bool().unwrap()).collect();
    assert_eq!(actives, [false, true], "{state:?}");
    let checks = free["redcap"]["checks"].as_array().unwrap();
    let change = checks.iter().find(|check| check["active"][1] == true).unwrap();
    let segments = |check: &Value| check["geometry"].as_str().unwrap().to_owned();
    assert_eq!((segments(&checks[0]), segments(change)), ("256x32k".to_owned(), "32x256k".to_owned()));
    let mean = |run: &Value| run["wait_ms_mean"].as_f64().unwrap();
    assert!(mean(&free) < 0.9 * mean(&fixed), "{} ms, and {} without other segments", mean(&free), mean(&fixed));
}

/// Reads of one process at random over 100 GB, as fast as the disk goes: a prefetch is never used.
fn random(s: &Sandbox, reads: u64) {
    let mut lines = String::from("# columns: time_ms,op,lba,sectors,pid,completion_ms\n");
    for n in 0..reads {
        lines += &format!("{},R,{},8,1,{}\n", n * 12, (n * 7_919_317) % 25_000_000 * 8, n * 12 + 11);
    }
    s.write("random.csv", &lines);
}

#[test]
fn a_virtual_disk_tells_whether_a_cache_pays() {
    let s = Sandbox::new();
    random(&s, 3000);
    s.write("m.toml", "disk = \"wd1200bb\"\n[redcap]\ngeometry = \"512x128k\"\nalgorithm = \"vd\"\n");
    let off = &json(&s, "simulate -w random.csv --machine m.toml -s cfq --json")["runs"][0]["redcap"];
    let checks = off["checks"].as_array().unwrap();
    // The first check, after 1000 reads, is the last one that finds it in use.
    assert_eq!(
        (&checks[0]["active"][0], &checks[0]["active"][1]),
        (&Value::from(true), &Value::from(false)),
        "{checks:?}"
    );
    assert!(checks[1..].iter().all(|check| check["active"][1] == false), "{checks:?}");
    assert!((1000..1010).contains(&checks[0]["reads"].as_u64().unwrap()), "{checks:?}");
    // A block of 4 KiB in a read of its own takes less than 32 of them.
    let cost = |check: &Value, side: &str| check[side].as_f64().unwrap();
    for check in checks {
        let (with, without) = (cost(check, "with_cache_ms"), cost(check, "without_cache_ms"));
        assert!(without > 5.0 && with > without && with < without + 6.0, "{check}");
    }
    // As printed, equation 3.3 divides by the prefetched blocks, too.
    let compared = json(
        &s,
        "compare random.csv --disk wd1200bb --scheduler cfq --redcap off,512x128k,algorithm=vd-all-blocks,512x128k,algorithm=vd --replays 1 --json",
    );
    let seconds = |run: usize| compared["runs"][run]["elapsed_s"].as_f64().unwrap();
    let literal = &compared["runs"][1]["redcap"];
    assert!(literal["checks"].as_array().unwrap().iter().all(|check| check["active"][1] == true), "{literal}");
    assert!(seconds(2) - seconds(0) < 0.5 * (seconds(1) - seconds(0)), "{} {} {}", seconds(0), seconds(1), seconds(2));
}

#[test]
fn a_cache_that_pays_stays_on_beside_a_virtual_disk() {
    let s = Sandbox::new();
    let mut lines = String::from("# columns: time_ms,op,lba,sectors,pid,completion_ms\n");
    for n in 0..6000_u64 {
        // Four processes that read backwards.
        let lba = 40_000_000 * (n % 4 + 1) - n / 4 * 8;
        lines += &format!("{},R,{lba},8,{},{}\n", n * 3, n % 4, n * 3 + 2);
    }
    s.write("backwards.csv", &lines);
    for scheduler in ["as", "noop", "mq-deadline"] {
        let report = json(
            &s,
            &format!("simulate -w backwards.csv --disk wd1200bb -s {scheduler} --redcap 512x128k,algorithm=vd --json"),
        );
        let redcap = &report["runs"][0]["redcap"];
        assert_eq!(
            redcap["state"].as_array().unwrap().len(),
            1,
            "{scheduler}: {} {}",
            redcap["state"],
            redcap["checks"]
        );
        assert!(redcap["hits"].as_u64().unwrap() > 5000, "{redcap}");
    }
}

#[test]
fn what_is_no_cache_is_refused() {
    let s = Sandbox::new();
    backwards(&s);
    let refused = |redcap: &str, expected: &str| {
        let error = s.refused(&format!("compare backwards.csv --disk wd1200bb --scheduler none --redcap {redcap}"));
        assert!(error.contains(expected), "{redcap}: {error}");
    };
    refused("64x100k", "got 64x100k, expected 32k, 64k, 128k or 256k");
    refused("64x128k,algorithm=v3", "v3");
    refused("64x128k,algorithm=vd,ratio=both", "sums, each");
    refused("off,off", "--redcap: got off twice, expected each cache once");
    refused("64x128k,algorithn=v1", "algorithm");
}

/// The command of docs/lab/redcap.md on two of the traces; its table has what came out.
#[test]
fn recorded_traces_gain_what_the_laboratory_says() {
    let s = Sandbox::new();
    let page = include_str!("../../../../docs/lab/redcap.md");
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces");
    for trace in ["sqlite", "backward-read"] {
        let command = format!(
            "compare {traces}/{trace}.parquet --disk wd1200bb --scheduler mq-deadline --redcap off,64x128k,512x128k,512x128k,algorithm=v2 --replays 1 --json"
        );
        let compared = json(&s, &command);
        let waits: Vec<f64> =
            compared["runs"].as_array().unwrap().iter().map(|run| run["wait_ms_mean"].as_f64().unwrap()).collect();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{trace}`"))).unwrap();
        let told: Vec<f64> = row.split('|').skip(2).filter_map(|cell| cell.trim().parse().ok()).collect();
        assert_eq!(told.len(), 4, "{row}");
        for (told, wait) in told.iter().zip(&waits) {
            assert!((told - wait).abs() <= 0.006, "{trace}: {told} ms on the page, {wait} ms now");
        }
    }
}
