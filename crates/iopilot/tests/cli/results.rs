//! `compare` and `simulate`: tables, JSON, determinism.

use crate::Sandbox;
use serde_json::Value;

const COMPARE: &str = "compare small.trace --disk hd-250-32";

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_documented_keys_are_the_keys() {
    let s = Sandbox::new();
    let json: Value = serde_json::from_str(&s.ok(&format!("{COMPARE} --scheduler noop,mq-deadline --json"))).unwrap();
    let documented = include_str!("../../../../docs/reference/report.md");
    let mut sections = vec![&json, &json["machine"], &json["workload"], &json["verdict"]];
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    sections.extend([&runs[0], &runs[0]["response_ms"], &runs[0]["processes"][0]]);
    for section in sections {
        for key in keys(section) {
            assert!(documented.contains(&format!("`{key}`")) || documented.contains(&format!("\"{key}\"")), "{key}");
        }
    }
    for key in
        ["scheduler", "requests", "reads", "writes", "bytes", "elapsed_s", "throughput_mb_s", "iops", "merged", "jain"]
    {
        assert!(!runs[0][key].is_null(), "{key}");
    }
    assert_eq!(keys(&runs[0]["service_ms"]), ["max", "mean", "p50", "p95", "p99"]);
}

#[test]
fn every_request_is_served_under_every_scheduler() {
    let s = Sandbox::new();
    let json: Value = serde_json::from_str(&s.ok(&format!("{COMPARE} --scheduler all,positional --json"))).unwrap();
    let listed: Value = serde_json::from_str(&s.ok("scheduler list --json")).unwrap();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), listed.as_array().unwrap().len());
    for run in runs {
        assert_eq!(run["requests"], 400, "{}", run["scheduler"]);
        assert_eq!(run["bytes"], 400 * 4096, "{}", run["scheduler"]);
    }
    let means = || runs.iter().map(|r| r["response_ms"]["mean"].as_f64().unwrap());
    if json["verdict"]["measure"] == "response_ms.mean" {
        let best = runs.iter().find(|r| r["scheduler"] == json["verdict"]["best"]).unwrap();
        assert!(means().all(|m| best["response_ms"]["mean"].as_f64().unwrap() <= m));
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let s = Sandbox::new();
    for mode in ["open", "closed --population 8"] {
        let one = s.ok(&format!("{COMPARE} --mode {mode} --json --threads 1"));
        let two = s.ok(&format!("{COMPARE} --mode {mode} --json --threads 2"));
        assert!(one == two, "{mode}");
        let page = |threads| {
            s.ok(&format!("{COMPARE} --mode {mode} --report page.html --threads {threads}"));
            std::fs::read(s.path().join("page.html")).unwrap()
        };
        assert!(page(1) == page(2), "{mode}");
    }
}

#[test]
fn prio_goes_around_any_scheduler_of_a_list() {
    let s = Sandbox::new();
    let json: Value = serde_json::from_str(
        &s.ok(&format!("{COMPARE} --scheduler clook,prio(clook,bfq:low_latency=0):aging_ms=100 --json")),
    )
    .unwrap();
    let runs = json["runs"].as_array().unwrap();
    let mut names: Vec<_> = runs.iter().map(|run| run["scheduler"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["clook", "prio(bfq:low_latency=0):aging_ms=100", "prio(clook):aging_ms=100"]);
    assert!(runs.iter().all(|run| run["requests"] == 400));
    let error = s.refused(&format!("{COMPARE} --scheduler prio(clock)"));
    assert!(error.contains("did you mean `clook`?"), "{error}");
}

#[test]
fn a_list_of_schedulers_is_run_as_asked() {
    let s = Sandbox::new();
    let line = format!("{COMPARE} --sort asked --scheduler none,mq-deadline:fifo_batch=4,mq-deadline");
    let table = s.ok(&line);
    let rows: Vec<&str> = table.lines().filter(|l| l.contains("none") || l.contains("mq-deadline")).take(3).collect();
    assert!(rows[0].contains("none") && rows[1].contains("mq-deadline:fifo_batch=4"), "{table}");
    assert!(table.lines().all(|l| l.chars().count() <= 120), "{table}");
    let compared: Value = serde_json::from_str(&s.ok(&format!("{line} --json"))).unwrap();
    let winners = compared["verdict"]["winners"].as_array().unwrap();
    assert_eq!(rows.iter().filter(|l| l.starts_with('*')).count(), winners.len(), "{table}");
}

#[test]
fn a_narrow_terminal_gets_a_narrow_table() {
    let s = Sandbox::new();
    let output = s.command().args(COMPARE.split(' ')).env("COLUMNS", "60").output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.lines().all(|l| l.chars().count() <= 60), "{table}");
    assert!(table.contains("mean"));
}

#[test]
fn simulate_tells_of_each_run_and_writes_its_requests() {
    let s = Sandbox::new();
    let text =
        s.ok("simulate --workload small.trace --disk hd-250-32 --scheduler noop --requests-out requests.parquet");
    for word in ["noop", "400 (", "response", "service", "cache hits"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let stat: Value = serde_json::from_str(&s.ok("trace stat requests.parquet --json")).unwrap();
    assert_eq!(stat["requests"], 400);
}

#[test]
fn a_machine_can_be_described() {
    let s = Sandbox::new();
    s.write("machine.toml", "name = \"mine\"\ndisk = \"hd-250-32\"\n\n[block]\nqueue_depth = 1\n");
    let json: Value = serde_json::from_str(&s.ok("simulate -w small.trace -m machine.toml --json")).unwrap();
    assert_eq!(json["machine"]["name"], "mine");
    assert_eq!(json["machine"]["queue_depth"], 1);
}

#[test]
fn an_array_can_be_described() {
    let s = Sandbox::new();
    let array = "[array]\nlevel = \"raid5\"\nmembers = 4\ndisk = \"hd-250-32\"\n";
    s.write("whole.toml", array);
    s.write("degraded.toml", format!("{array}failed = [1]\n"));
    let json = |file: &str| -> Value {
        serde_json::from_str(&s.ok(&format!("simulate -w small.trace -m {file} -s noop --json"))).unwrap()
    };
    let (whole, degraded) = (json("whole.toml"), json("degraded.toml"));
    assert_eq!(whole["machine"]["disk"], "RAID 5 of 4 x hd-250-32");
    assert_eq!(whole["runs"][0]["requests"], degraded["runs"][0]["requests"]);
    assert_ne!(whole["runs"][0]["response_ms"]["mean"], degraded["runs"][0]["response_ms"]["mean"]);
}

#[test]
fn the_example_machines_run() {
    let s = Sandbox::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/machines");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        s.ok(&format!("compare small.trace --machine {} --scheduler noop,none,bfq --fit wrap", file.display()));
    }
}

/// Scheduling by the arm's position beats scheduling by block number, which beats arrival order (Carroll 2.2.5).
#[test]
fn shortest_positioning_time_first_serves_random_reads_best() {
    let s = Sandbox::new();
    s.write("readers.fio", "[r]\nrw=randread\nbs=4k\ndirect=1\nnorandommap\nnumjobs=128\nruntime=10\ntime_based\n");
    let line = "compare readers.fio --disk hd-500-16 --scheduler fcfs,sstf,sptf,ioqueue:policy=SPTF --json";
    let comparison: Value = serde_json::from_str(&s.ok(line)).unwrap();
    let rate = |i: usize| comparison["runs"][i]["throughput_mb_s"].as_f64().unwrap();
    let rates = [rate(0), rate(1), rate(2)];
    // The disk reorders by position itself, among the 32 requests it takes.
    assert!(rates[2] > 1.05 * rates[1] && rates[1] > 1.05 * rates[0], "{rates:?}");
    assert_eq!(rate(2), rate(3));
    assert_eq!(comparison["verdict"]["best"], "sptf");
}

#[test]
fn an_array_tells_what_its_members_did() {
    let s = Sandbox::new();
    s.write(
        "raid5.toml",
        "[array]\nlevel = \"raid5\"\nmembers = 4\nstripe_unit_kib = 64\ndisk = \"hd-250-32\"\nfailed = [2]\n",
    );
    let line = "simulate --workload small.trace --machine raid5.toml --scheduler none";
    let json: Value = serde_json::from_str(&s.ok(&format!("{line} --json"))).unwrap();
    let device = &json["runs"][0]["device"];
    assert_eq!(device["kind"], "array");
    assert_eq!(device["lost_members"], serde_json::json!([2]));
    let members = device["members"].as_array().unwrap();
    assert_eq!(members.len(), 4);
    let count = |m: &Value| m["reads"].as_u64().unwrap() + m["writes"].as_u64().unwrap();
    assert_eq!(count(&members[2]), 0, "it is not there");
    // At least one member serves a request; all others serve a request to the lost member.
    assert!(members.iter().map(count).sum::<u64>() > json["runs"][0]["dispatched"].as_u64().unwrap());
    let elapsed = json["runs"][0]["elapsed_s"].as_f64().unwrap();
    assert!(members.iter().all(|m| m["busy_s"].as_f64().unwrap() <= elapsed + 1.0));
    let text = s.ok(line);
    assert!(text.contains("degraded: without member 2") && text.contains("4 with 0 to"), "{text}");
    let disk: Value = serde_json::from_str(&s.ok(&format!("{COMPARE} --scheduler none --json"))).unwrap();
    assert!(disk["runs"][0].get("device").is_none(), "a disk has nothing to add");
}

#[test]
fn solid_state_and_hybrid_drives_tell_what_their_flash_did() {
    let s = Sandbox::new();
    s.write("job.fio", "[j]\nrw=randrw\nbs=4k\nsize=64m\nio_size=8m\niodepth=8\nioengine=libaio\ndirect=1\n");
    let device = |disk: &str| {
        let line = format!("simulate --workload job.fio --disk {disk} --scheduler none");
        let json: Value = serde_json::from_str(&s.ok(&format!("{line} --json"))).unwrap();
        (json["runs"][0]["device"].clone(), s.ok(&line))
    };
    let (ssd, text) = device("ssd-160");
    assert_eq!(ssd["kind"], "ssd");
    let written = ssd["host_written_bytes"].as_u64().unwrap();
    assert!(written > 2_000_000 && ssd["host_read_bytes"].as_u64().unwrap() + written == 8 << 20);
    assert!(text.contains("flash written"), "{text}");
    let (hybrid, text) = device("momentus-xt-750g");
    assert_eq!((&hybrid["kind"], &hybrid["ssd"]["kind"]), (&Value::from("hybrid"), &Value::Null));
    assert!(hybrid["cache"]["read_miss_sectors"].as_u64().unwrap() > 0);
    assert!(text.contains("from flash") && text.contains("copied to flash"), "{text}");
}
