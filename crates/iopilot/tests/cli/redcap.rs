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
fn what_is_no_cache_is_refused() {
    let s = Sandbox::new();
    backwards(&s);
    let refused = |redcap: &str, expected: &str| {
        let error = s.refused(&format!("compare backwards.csv --disk wd1200bb --scheduler none --redcap {redcap}"));
        assert!(error.contains(expected), "{redcap}: {error}");
    };
    refused("64x100k", "got 64x100k, expected 32k, 64k, 128k or 256k");
    refused("64x128k,algorithm=v3", "v3");
    refused("64x128k", "redcap: algorithm: got rig, expected always, never, v0, v1 or v2 in a simulation");
    refused("64x128k,algorithm=vd", "virtual disk");
    refused("off,off", "--redcap: got off twice, expected each cache once");
    refused("64x128k,algorithn=v1", "algorithm");
}
