//! The demo, as `make demo` runs it.

use crate::Sandbox;

#[test]
fn shows_a_table_and_writes_a_page() {
    let s = Sandbox::new();
    let text = s.ok("demo");
    assert!(text.contains("mq-deadline") && text.contains("bfq"), "{text}");
    assert!(text.contains("iopilot trace record"), "it tells what to do next: {text}");
    assert!(text.lines().all(|l| l.chars().count() <= 120), "{text}");
    let page = std::fs::read_to_string(s.path().join("iopilot-demo.html")).unwrap();
    assert!(page.contains("Seeks"));
}
