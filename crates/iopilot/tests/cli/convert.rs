//! Drives that DiskSim describes.

use crate::Sandbox;
use serde_json::Value;

fn with_drive() -> Sandbox {
    let s = Sandbox::new();
    s.write("tiny.diskspecs", include_str!("../../../iopilot-disksim/tests/files/tiny.diskspecs"));
    s.write("tiny.model", include_str!("../../../iopilot-disksim/tests/files/tiny.model"));
    s.write("tiny.seek", include_str!("../../../iopilot-disksim/tests/files/tiny.seek"));
    s.write("few.trace", "0.0 0 8 8 1\n5.0 0 2000 16 0\n9.0 0 16 8 1\n12.5 0 1200 4 1\n");
    s
}

#[test]
fn a_converted_drive_is_the_same_drive() {
    let s = with_drive();
    let printed = s.ok("disk convert tiny.diskspecs");
    assert!(printed.contains("[drive.layout_g1]") && printed.contains("slips = [100, 101, 702]"), "{printed}");
    s.ok("disk convert tiny.diskspecs -o ours.toml");
    assert_eq!(std::fs::read_to_string(s.path().join("ours.toml")).unwrap(), printed);
    assert_eq!(s.ok("disk show ours.toml --json"), s.ok("disk show tiny.diskspecs --json"));
    let run = |disk: &str| {
        let text = s.ok(&format!("simulate --workload few.trace --disk {disk} --scheduler none --json"));
        let mut json: Value = serde_json::from_str(&text).unwrap();
        json["machine"].take();
        json["runs"].take()
    };
    assert_eq!(run("ours.toml"), run("tiny.diskspecs"));
    s.write("machine.toml", "disk = \"tiny.diskspecs\"\n");
    s.ok("simulate --workload few.trace --machine machine.toml --scheduler none");
}

#[test]
fn what_is_wrong_in_a_drive_is_told_with_file_and_line() {
    let s = with_drive();
    let model = include_str!("../../../iopilot-disksim/tests/files/tiny.model");
    s.write("tiny.model", model.replace("Head switch time", "Head swich time"));
    let line = s.refused("disk convert tiny.diskspecs -o ours.toml");
    assert!(line.contains("tiny.model:10: parameter: got Head swich time, expected"), "{line}");
    assert!(line.contains("did you mean `Head switch time`?"), "{line}");
    assert!(!s.path().join("ours.toml").exists());
    assert!(s.refused("compare few.trace --disk tiny.diskspecs").contains("Head swich time"));
    s.write("tiny.model", &model[..model.len() / 2]);
    assert!(s.refused("disk show tiny.diskspecs").contains("got the end of the file"));
    assert!(s.refused("disk convert few.trace").contains("expected a .diskspecs or .parv file"));
    assert!(s.refused("disk convert none.parv").contains("none.parv, expected a file that can be read"));
}

#[test]
fn what_is_wrong_in_our_file_is_told_with_its_line() {
    let s = with_drive();
    let toml = s.ok("disk convert tiny.diskspecs");
    let at = |needle: &str| toml.lines().position(|l| l.starts_with(needle)).unwrap() + 1;
    for (from, to, line, expected) in [
        ("slips = [100, 101, 702]", "slips = [100, 101, 99702]", at("slips"), "zone[0].slips: got 99702"),
        ("queue_depth = 4", "queue_depth = 0", at("queue_depth"), "drive.queue_depth: got 0"),
        ("write_segments = 2", "write_segments = 9", at("write_segments"), "got 9, expected segments, 1 to 4"),
        ("head_switch_ms = 0.5", "head_switch_ms = -0.5", at("head_switch_ms"), "milliseconds, 0 to"),
        ("fast = \"always\"", "fast = \"allways\"", at("fast"), "did you mean `always`?"),
        ("segments = 4", "segmants = 4", at("segments"), "did you mean `segments`?"),
    ] {
        assert!(toml.contains(from), "{from}");
        s.write("bad.toml", toml.replacen(from, to, 1));
        let error = s.refused("disk show bad.toml");
        assert!(error.contains(&format!("bad.toml:{line}: ")) && error.contains(expected), "{error}");
    }
}
