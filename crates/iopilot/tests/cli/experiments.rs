//! `experiment list` and `experiment run`.

use crate::Sandbox;
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
