//! The demo, as `make demo` runs it.

use crate::Sandbox;

#[test]
fn shows_a_table_and_writes_a_page() {
    let s = Sandbox::new();
    let text = s.ok("demo");
    assert!(text.contains("mq-deadline") && text.contains("bfq"), "{text}");
    // The star, and what the sentence calls best, are one, and one that a current kernel has.
    let stars: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("* ")?.split(' ').next()).collect();
    assert_eq!(stars.len(), 1, "{text}");
    assert!(text.contains(&format!("{} is best", stars[0])) && text.matches(" is best").count() == 1, "{text}");
    assert!(["none", "mq-deadline", "kyber", "bfq"].contains(&stars[0]) && !text.contains("better choice"), "{text}");
    assert!(text.contains("iopilot trace record"), "it tells what to do next: {text}");
    assert!(text.lines().all(|l| l.chars().count() <= 120), "{text}");
    let page = std::fs::read_to_string(s.path().join("iopilot-demo.html")).unwrap();
    assert!(page.contains("Seeks"));
}
