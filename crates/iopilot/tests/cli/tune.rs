//! `tune`: what it finds, and what to do with it.

use crate::Sandbox;
use serde_json::Value;

const STREAMS: &str = "[streams]\nfilename=/dev/x\nioengine=sync\ndirect=1\nrw=read\nbs=64k\nnumjobs=4\n\
                       offset_increment=20g\nsize=10g\nio_size=16m\n";

fn sandbox() -> Sandbox {
    let s = Sandbox::new();
    s.write("streams.fio", STREAMS);
    s
}

#[test]
fn it_says_what_is_best_and_how_to_apply_it() {
    let s = sandbox();
    let text = s.ok("tune streams.fio --disk hd-500-16 --requests 200000 --udev 60-iopilot.rules");
    let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "(kernel's defaults)",
        "echo bfq > /sys/block/sdX/queue/scheduler",
        "echo 0 > /sys/block/sdX/queue/iosched/low_latency",
        "iopilot dads run /dev/sdX --candidates bfq:",
        "Held out:",
        "60-iopilot.rules to /etc/udev/rules.d",
        "of a budget of 200000",
    ] {
        assert!(told.contains(part), "{part} is missing: {text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with('*')).count(), 1, "{text}");
    let rules = std::fs::read_to_string(s.path().join("60-iopilot.rules")).unwrap();
    assert!(rules.contains("ATTR{queue/scheduler}=\"bfq\"") && rules.contains("=\"0\""), "{rules}");
}

#[test]
fn its_json_is_documented_and_the_same_each_time() {
    let s = sandbox();
    let line = "tune streams.fio --disk hd-500-16,ssd-160 --requests 100000 --json";
    let text = s.ok(line);
    assert_eq!(text, s.ok(&format!("--threads 1 {line}")));
    let json: Value = serde_json::from_str(&text).unwrap();
    let documented = include_str!("../../../../docs/reference/tune.md");
    let class = &json["classes"][0];
    let row = &class["loads"][0]["rows"][0];
    for section in [&json, class, &class["class"], &class["loads"][0], row, &row["settings"], &class["held_out"]] {
        for key in section.as_object().unwrap().keys() {
            assert!(documented.contains(&format!("`{key}`")) || documented.contains(&format!("`{key}[]`")), "{key}");
        }
    }
    assert_eq!(json["classes"].as_array().unwrap().len(), 2);
    assert!(json["requests"].as_u64().unwrap() <= 100_000, "{}", json["requests"]);
}

#[test]
fn a_trace_is_judged_where_it_was_not_chosen() {
    let s = sandbox();
    s.ok("simulate streams.fio --disk hd-500-16 -s none --requests-out streams.parquet");
    let of = |trace: &str| -> Value {
        serde_json::from_str(&s.ok(&format!("tune {trace} --disk hd-500-16 --requests 100000 --json"))).unwrap()
    };
    let held_out = &of("streams.parquet")["classes"][0]["held_out"];
    assert_eq!(held_out["judged_on"], "second half", "{held_out}");
    // 400 requests are too few to be divided.
    assert!(of("small.trace")["classes"][0]["held_out"].is_null());
}

#[test]
fn bad_input_is_one_line() {
    let s = sandbox();
    for (line, part) in [
        ("tune streams.fio --disk hd-500-17", "hd-500-16"),
        ("tune streams.fio --disk hd-500-16 --objective througput", "did you mean `throughput`?"),
        ("tune streams.fio --disk hd-500-16 --budget 0s", "--budget"),
        ("tune streams.fio --disk hd-500-16 --budget 1s --requests 5", "--requests"),
        ("tune streams.fio --disk hd-500-16 --requests 5", "at least 32000 requests"),
        ("tune streams.fio", "--disk"),
        ("tune missing.parquet --disk hd-500-16", "missing.parquet"),
        ("tune streams.fio --disk hd-500-16 --udev no/such/x.rules", "--udev"),
    ] {
        let error = s.refused(line);
        assert!(error.contains(part), "{line}: {error}");
    }
}
