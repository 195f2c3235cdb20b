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
    assert_eq!(kept["redcap"]["state"].as_array().unwrap().len(), 1, "{}", kept["redcap"]["state"]);
    assert!(!kept["redcap"]["checks"].as_array().unwrap().is_empty());
    // At random over 100 GB, as fast as the disk goes: a prefetch is never used.
    let mut lines = String::from("# columns: time_ms,op,lba,sectors,pid,completion_ms\n");
    for n in 0..1500_u64 {
        lines += &format!("{},R,{},8,1,{}\n", n * 12, (n * 7_919_317) % 25_000_000 * 8, n * 12 + 11);
    }
    s.write("random.csv", &lines);
    let (off, never) = (run("random.csv", "64x128k"), run("random.csv", "64x128k,algorithm=never"));
    let state = off["redcap"]["state"].as_array().unwrap();
    assert_eq!(state.last().unwrap()["active"], false, "{state:?}");
    assert!(state[1]["time_s"].as_f64().unwrap() <= 4.0, "{state:?}");
    let seconds = |run: &Value| run["elapsed_s"].as_f64().unwrap();
    let always = seconds(&run("random.csv", "64x128k,algorithm=always"));
    assert!(seconds(&off) - seconds(&never) < 0.4 * (always - seconds(&never)), "{off}");
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
    refused("64x128k,algorithm=vd", "virtual disk");
    refused("off,off", "--redcap: got off twice, expected each cache once");
    refused("64x128k,algorithn=v1", "algorithm");
}
