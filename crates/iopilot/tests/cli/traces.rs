//! `iopilot trace`.

use crate::Sandbox;
use serde_json::Value;

#[test]
fn stat_counts_what_is_there() {
    let s = Sandbox::new();
    let json: Value = serde_json::from_str(&s.ok("trace stat small.trace --json")).unwrap();
    assert_eq!(json["requests"], 400);
    assert!(s.ok("trace stat small.trace").contains("400"));
}

#[test]
fn a_converted_trace_replays_the_same() {
    let s = Sandbox::new();
    s.ok("trace convert small.trace small.parquet");
    let runs = |trace: &str| {
        let json = s.ok(&format!("simulate -w {trace} --disk hd-250-32 -s noop --mode open --json"));
        serde_json::from_str::<Value>(&json).unwrap()["runs"].clone()
    };
    assert_eq!(runs("small.trace"), runs("small.parquet"));
}

#[test]
fn formats_that_can_be_written_are_marked() {
    let s = Sandbox::new();
    let formats = s.ok("trace formats");
    assert!(formats.contains("blkparse") && formats.contains("parquet"), "{formats}");
    let line = s.refused("trace convert small.trace out.x --to blkparse");
    assert!(line.contains("blkparse"), "{line}");
}

#[test]
fn recording_without_a_device_is_refused() {
    let s = Sandbox::new();
    let line = s.refused("trace record /dev/nowhere -o out.parquet -- true");
    assert!(line.contains("/dev/nowhere"), "{line}");
}
