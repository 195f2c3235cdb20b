//! `iopilot disk train` on a loop device. Needs root and loop devices; prints a line if they are missing.

use crate::Sandbox;
use crate::loop_device::Loop;
use serde_json::Value;
use std::fs;

#[test]
fn a_live_disk_becomes_a_model_and_is_only_read() {
    let s = Sandbox::new();
    let image = s.path().join("image");
    let Some(disk) = Loop::attach(&s, 32 << 20) else { return };
    let told: Value =
        serde_json::from_str(&s.ok(&format!("disk train {} -o t.toml --samples 1 --form 2 --json", disk.0))).unwrap();
    let tables = told["tables"].as_array().unwrap();
    assert!(tables[0]["filled"].as_u64().unwrap() > 300 && tables[1]["filled"] == 0, "{told}");
    assert!(fs::read(&image).unwrap().iter().all(|&byte| byte == 0), "nothing was written");
    s.ok("compare small.trace --disk t.toml --scheduler none,mq-deadline --fit wrap");
    assert!(fs::read_to_string(s.path().join("t.toml")).unwrap().contains("reads only"));

    let told = s.ok(&format!("disk train {} -o w.toml --samples 1 --form 2 --destroy-data", disk.0));
    assert!(told.contains("write"), "{told}");
    assert!(fs::read(&image).unwrap().iter().any(|&byte| byte != 0));
    s.refused("disk train wd1200bb -o x.toml --destroy-data");
    s.refused("disk train /dev/null -o x.toml");
}
