//! `iopilot disk probe`.

use crate::Sandbox;
use serde_json::Value;

#[test]
fn what_was_found_is_told_and_is_a_disk() {
    let s = Sandbox::new();
    let told = s.ok("disk probe wd1200bb --quiet --json -o found.toml");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((&told["heads"], &told["cache"]["segments"]), (&6.into(), &12.into()));
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
