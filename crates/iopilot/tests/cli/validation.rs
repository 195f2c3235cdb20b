//! `iopilot disk validate`.

use crate::{DRIVE, Sandbox};
use std::fmt::Write;

/// Requests in DiskSim's validate format with made-up times.
fn measured() -> String {
    let mut trace = String::new();
    for i in 0..60u64 {
        let op = if i % 3 == 2 { "W" } else { "R" };
        writeln!(trace, "{op} Hit {} 8 {}.0 20000.0", i * 7_919_000 % 400_000_000, 8_000 + i * 13).unwrap();
    }
    trace
}

#[test]
fn both_means_and_their_distance_are_told_for_all_for_reads_and_for_writes() {
    let s = Sandbox::new();
    s.write("measured.trace", measured());
    let table = s.ok("disk validate hp-c2247 measured.trace --quiet");
    assert!(table.contains("demerit ms") && table.contains("request by request"), "{table}");
    let json: serde_json::Value =
        serde_json::from_str(&s.ok("disk validate hd-500-32 measured.trace --json")).expect("JSON");
    let number = |key: &str| json.pointer(key).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{key}"));
    assert_eq!(number("/requests"), 60.0);
    assert_eq!(number("/reads/requests") + number("/writes/requests"), 60.0);
    assert!((number("/mean_measured_ms") - 8.3835).abs() < 1e-9);
    let percent = 100.0 * number("/demerit_ms") / number("/mean_measured_ms");
    assert!((number("/demerit_percent") - percent).abs() < 1e-9);
    assert!(number("/mean_model_ms") > 0.0 && number("/errors/off_half_rotation") <= 1.0);
    assert!(number("/errors/median_ms") <= number("/errors/p95_ms"));
}

#[test]
fn the_clocks_differ_and_the_page_has_the_curves() {
    let s = Sandbox::new();
    s.write("measured.trace", measured());
    let model = s.ok("disk validate hd-500-32 measured.trace --json");
    let clock = s.ok("disk validate hd-500-32 measured.trace --json --clock measured --think before --quiet");
    assert_ne!(model, clock);
    s.ok("disk validate hd-500-32 measured.trace --quiet --report page.html");
    let page = std::fs::read_to_string(s.path().join("page.html")).unwrap();
    assert!(page.contains("Cumulative distributions") && page.ends_with("</html>\n"));
    s.holds_nothing_but(&["small.trace", "measured.trace", "page.html"]);
}

#[test]
fn parts_of_a_trace_are_compared_as_a_calibration_cuts_it() {
    let s = Sandbox::new();
    s.write("drive.toml", DRIVE);
    let mut trace = String::new();
    for i in 0..600u64 {
        let service = 2_000 + i * 37 % 9_000;
        writeln!(trace, "{} Hit {} 8 {service}.0 20000.0", if i % 3 == 2 { "W" } else { "R" }, i * 7919 % 300_000)
            .unwrap();
    }
    s.write("measured.trace", trace);
    let compared = |options: &str| -> serde_json::Value {
        let command = format!("--quiet disk validate drive.toml measured.trace --train 40% --json {options}");
        serde_json::from_str(&s.ok(&command)).expect("JSON")
    };
    let count = |part: &str| compared(part)["requests"].as_u64().expect("a count");
    assert_eq!((count("--part train"), count("--part test"), count("")), (240, 360, 600));
    // What a calibration says of its test requests is what comes out here.
    let told = s.ok("disk calibrate drive.toml measured.trace --train 40% --json");
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let test = compared("--calibrate --part test --clock measured");
    for key in ["demerit_ms", "mean_model_ms"] {
        assert_eq!(told["test"][key], test[key], "{key}");
    }
    assert_eq!(told["test"]["writes"], test["writes"]);
    assert_ne!(compared("--part test"), compared("--part test --calibrate"));
    let line = s.refused("disk validate drive.toml measured.trace --as-disksim");
    assert!(line.contains("--as-disksim") && line.contains("drive.toml"), "{line}");
    let line = s.refused("disk validate hd-500-32 measured.trace --calibrate");
    assert!(line.contains("--calibrate") && line.contains("type = \"drive\""), "{line}");
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let s = Sandbox::new();
    s.write("measured.trace", measured());
    s.write("broken.trace", "R Hit 10 8 5000.0 1.0\nR Hit ten 8 5000.0 1.0\n");
    s.write("beyond.trace", "R Hit 99999999999 8 5000.0 1.0\n");
    s.write("drive.parv", "disksim_global Global { Init Seed = }\n");
    let line = s.refused("disk validate hd-500-32 broken.trace");
    assert!(line.contains("broken.trace:2") && line.contains("ten"), "{line}");
    let line = s.refused("disk validate hd-500-32 beyond.trace --quiet");
    assert!(line.contains("beyond.trace") && line.contains("lie on the drive"), "{line}");
    let line = s.refused("disk validate ssd-64 measured.trace");
    assert!(line.contains("a disk that turns"), "{line}");
    let line = s.refused("disk validate drive.parv measured.trace");
    assert!(line.contains("drive.parv:1"), "{line}");
    let line = s.refused("disk validate hd-500-33 measured.trace");
    assert!(line.contains("hd-500-32"), "{line}");
    s.refused("disk validate hd-500-32 absent.trace");
}
