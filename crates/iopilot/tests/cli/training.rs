//! `disk train`: a disk as tables, and the tables as a disk.

use crate::Sandbox;
use serde_json::Value;

#[test]
fn tables_are_trained_and_serve_as_a_disk() {
    let s = Sandbox::new();
    for form in ["2", "3"] {
        let line = format!("disk train hp-c2247 -o table.toml --form {form} --samples 2 --json");
        let told: Value = serde_json::from_str(&s.ok(&line)).unwrap();
        let tables = told["tables"].as_array().unwrap();
        let names: Vec<&str> = tables.iter().map(|t| t["table"].as_str().unwrap()).collect();
        assert_eq!(names, if form == "2" { vec!["read", "write"] } else { vec!["read_miss", "read_hit", "write"] });
        for table in tables.iter().filter(|t| t["table"] != "read_hit") {
            assert!(table["filled"].as_f64() > table["cells"].as_f64().map(|n| 0.8 * n), "{table}");
        }
        let first = std::fs::read_to_string(s.path().join("table.toml")).unwrap();
        s.ok(&line);
        assert!(first == std::fs::read_to_string(s.path().join("table.toml")).unwrap(), "training is deterministic");

        let run = |disk: &str| -> Value {
            let line = format!("simulate -w small.trace --disk {disk} -s noop --fit wrap --json");
            serde_json::from_str(&s.ok(&line)).unwrap()
        };
        let (table, disk) = (run("table.toml"), run("hp-c2247"));
        assert_eq!(table["machine"]["capacity_bytes"], disk["machine"]["capacity_bytes"]);
        let mean = |run: &Value| run["runs"][0]["service_ms"]["mean"].as_f64().unwrap();
        let ratio = mean(&table) / mean(&disk);
        assert!((0.5..2.0).contains(&ratio), "form {form}: {ratio}");
        assert_eq!(s.ok("disk show table.toml --toml"), first);
        s.ok("disk show table.toml");
    }
    s.holds_nothing_but(&["small.trace", "table.toml"]);
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let s = Sandbox::new();
    assert!(s.refused("disk train hp-c2248 -o t.toml").contains("hp-c2247"));
    assert!(s.refused("disk train hp-c2247 -o nowhere/t.toml").contains("nowhere/t.toml"));
    assert!(s.refused("disk train hp-c2247 -o t.toml --form 4").contains("--form"));
    assert!(s.refused("disk train hp-c2247 -o t.toml --samples 0").contains("--samples"));
    s.ok("disk train hp-c2247 -o t.toml --form 2 --samples 1");
    let text = std::fs::read_to_string(s.path().join("t.toml")).unwrap();
    s.write("t.toml", text.replacen("size_kib = 8\n", "size_kib = 9\n", 1));
    let line = s.refused("compare small.trace --disk t.toml --fit wrap");
    assert!(line.contains("t.toml:") && line.contains("table.row[1].size_kib: got 9, expected 8"), "{line}");
    s.holds_nothing_but(&["small.trace", "t.toml"]);
}
