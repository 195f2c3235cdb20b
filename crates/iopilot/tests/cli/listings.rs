//! The catalogues of disks and schedulers.

use crate::Sandbox;
use serde_json::Value;
use std::path::Path;

#[test]
fn every_scheduler_is_listed_and_shown() {
    let s = Sandbox::new();
    let list: Value = serde_json::from_str(&s.ok("scheduler list --json")).unwrap();
    let text = s.ok("scheduler list");
    for entry in list.as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        assert!(text.lines().any(|l| l.split_whitespace().next() == Some(name)), "{name}: {text}");
        let shown = s.ok(&format!("scheduler show {name}"));
        for tunable in entry["tunables"].as_array().unwrap() {
            assert!(shown.contains(tunable["name"].as_str().unwrap()), "{name}: {shown}");
        }
    }
    let shown = s.ok("scheduler show mq-deadline");
    assert!(shown.contains("read_expire = 500  (ms"), "{shown}");
    assert!(text.contains("\nprio(SCHEDULER)"), "{text}");
    assert!(s.ok("scheduler show prio").contains("aging_ms = 0  (ms"));
    let inside = s.ok("scheduler show prio(mq-deadline)");
    assert!(inside.contains("aging_ms = 0") && inside.contains("read_expire = 500"), "{inside}");
}

#[test]
fn the_table_of_disks_is_printed_as_it_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/disks.md");
    let table = Sandbox::new().ok("disk list --markdown");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(&format!("<!-- catalogue -->\n{table}<!-- /catalogue -->")),
        "docs/reference/disks.md: its table is not the output of `iopilot disk list --markdown`"
    );
}

#[test]
fn every_disk_is_listed_and_its_toml_describes_the_same_disk() {
    let s = Sandbox::new();
    let list: Value = serde_json::from_str(&s.ok("disk list --json")).unwrap();
    let text = s.ok("disk list");
    for entry in list.as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        assert!(text.contains(name), "{name}: {text}");
        let shown = s.ok(&format!("disk show {name}"));
        assert!(shown.contains(name));
        // Every value has its mark, and they are counted.
        let counts = ["data_sheet", "paper", "derived"].map(|mark| entry["values_from"][mark].as_u64().unwrap());
        let counted =
            format!("values: {} from a data sheet, {} from a paper, {} derived", counts[0], counts[1], counts[2]);
        assert!(shown.contains(&counted), "{shown}");
        let marked = shown.lines().filter(|l| ["data sheet: ", "paper: ", "derived: "].iter().any(|m| l.contains(m)));
        assert_eq!(marked.count() as u64, counts.iter().sum::<u64>(), "{shown}");
        s.write("copy.toml", s.ok(&format!("disk show {name} --toml")));
        assert_eq!(s.ok(&format!("disk show {name} --json")), s.ok("disk show copy.toml --json"), "{name}");
    }
}
