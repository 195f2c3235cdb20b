//! `iopilot disk calibrate`.

use crate::{DRIVE, Sandbox};
use serde_json::Value;
use std::fmt::Write;

/// Requests whose times have nothing to do with any spindle.
fn trace(count: u64) -> String {
    let mut text = String::new();
    for i in 0..count {
        let (block, service) = (i * 7919 % 300_000, 3_000 + i * 7_919 % 9_000);
        writeln!(text, "{} Hit {block} 8 {service}.0 20000.0", if i % 3 == 0 { 'W' } else { 'R' }).unwrap();
    }
    text
}

fn sandbox(requests: u64) -> Sandbox {
    let s = Sandbox::new();
    s.write("drive.toml", DRIVE);
    s.write("measured.trace", trace(requests));
    s
}

#[test]
fn the_error_is_that_of_the_requests_that_were_not_fitted_to() {
    let s = sandbox(600);
    let told = s.ok("disk calibrate drive.toml measured.trace --train 40% --json -o model.toml");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["train_requests"], &told["test_requests"]), (&240.into(), &360.into()));
    for key in ["demerit_ms", "rmse_ms", "within_half_ms", "off_half_rotation"] {
        assert!(told["test"][key].as_f64().unwrap() >= 0.0, "{key}");
    }
    assert_eq!(told["phase"], Value::Null);
    let whole: Value =
        serde_json::from_str(&s.ok("--quiet disk validate model.toml measured.trace --clock measured --json")).unwrap();
    assert_eq!(whole["requests"], 600);
    let shown: Value = serde_json::from_str(&s.ok("disk show model.toml --json")).unwrap();
    let drive = &shown["drive"];
    assert_eq!(drive["measured"]["think"], "after");
    assert_eq!(drive["mechanics"]["rotation_rpm"], 10000.0);
}

#[test]
fn a_table_says_what_was_found() {
    let s = sandbox(500);
    let text = s.ok("disk calibrate drive.toml measured.trace");
    assert!(text.contains("fitted to 250 requests, tested on the 250 after them"), "{text}");
    assert!(text.contains("none to be seen"), "{text}");
    assert!(text.contains("off by over half a rotation"), "{text}");
}

#[test]
fn what_cannot_be_calibrated_is_refused() {
    let s = sandbox(150);
    let told = s.refused("disk calibrate drive.toml measured.trace -o model.toml");
    assert!(told.contains("measured.trace") && told.contains("75 requests to fit to"), "{told}");
    let told = s.refused("disk calibrate hd-320-16 measured.trace");
    assert!(told.contains("type = \"drive\""), "{told}");
    s.write("beyond.trace", format!("{}R Hit 99999999 8 3000.0 20000.0\n", trace(500)));
    let told = s.refused("disk calibrate drive.toml beyond.trace");
    assert!(told.contains("beyond.trace") && told.contains("99999999"), "{told}");
    assert_eq!(s.run("disk calibrate drive.toml measured.trace --train 100%").code, 2);
    s.holds_nothing_but(&["drive.toml", "measured.trace", "beyond.trace", "small.trace"]);
}
