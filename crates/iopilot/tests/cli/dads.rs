//! `dads replay`: the autopilot on a simulated disk.

use crate::Sandbox;
use serde_json::Value;

const JOBS: &str = "[global]\nfilename=/dev/sdX\ndirect=1\n\n[streams]\nioengine=sync\nrw=read\nbs=64k\nnumjobs=2\noffset_increment=20g\n\
                    size=10g\nio_size=30m\n\n[lookups]\nstonewall\nioengine=libaio\nrw=randread\nbs=4k\niodepth=16\n\
                    number_ios=300\n";
const REPLAY: &str = "dads replay load.fio --disk hd-500-16 --policy thesis --interval 1 --candidates none,mq-deadline,bfq:low_latency=0";

/// Nothing is given but a load and a disk.
const CONFIRMED: &str = "dads replay load.fio --disk hd-500-16";

fn sandbox() -> Sandbox {
    let s = Sandbox::new();
    s.write("load.fio", JOBS);
    s
}

#[test]
fn tells_what_was_decided_and_compares() {
    let s = sandbox();
    let text = s.ok(REPLAY);
    assert!(text.contains("bfq:low_latency=0 would have saved"), "{text}");
    for name in ["dads", "oracle", "none", "mq-deadline"] {
        assert!(text.lines().any(|l| l.trim_start_matches(['*', ' ']).starts_with(name)), "{name}: {text}");
    }
    assert!(text.contains("with foresight of each interval"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 120), "{text}");
}

#[test]
fn json_audit_and_page_tell_the_same_checks() {
    let s = sandbox();
    let json: Value =
        serde_json::from_str(&s.ok(&format!("{REPLAY} --json --audit audit.jsonl --report page.html"))).unwrap();
    let checks = json["checks"].as_array().unwrap();
    let audit = std::fs::read_to_string(s.path().join("audit.jsonl")).unwrap();
    let lines: Vec<Value> = audit.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(checks, &lines);
    let documented = include_str!("../../../../docs/reference/dads.md");
    for section in [&json, &checks[0], &checks[0]["candidates"][0]] {
        for key in section.as_object().unwrap().keys() {
            let known = ["machine", "workload", "runs", "verdict"].contains(&key.as_str());
            assert!(known || documented.contains(&format!("`{key}`")), "{key}");
        }
    }
    let page = std::fs::read_to_string(s.path().join("page.html")).unwrap();
    assert_eq!(page.matches("<circle").count(), checks.iter().filter(|c| c["candidates"][0].is_object()).count());
    let runs: Vec<&str> = json["runs"].as_array().unwrap().iter().map(|r| r["scheduler"].as_str().unwrap()).collect();
    assert_eq!(runs, ["dads", "none", "mq-deadline", "bfq:low_latency=0", "oracle"]);
    assert_eq!(json["changes"], checks.iter().filter(|c| c["decision"] != c["scheduler"]).count());
    // Every run served the same.
    assert!(json["runs"].as_array().unwrap().iter().all(|r| r["bytes"] == json["runs"][0]["bytes"]));
}

#[test]
fn by_default_the_disk_confirms_what_simulation_proposes() {
    let s = sandbox();
    let json: Value = serde_json::from_str(&s.ok(&format!("{CONFIRMED} --no-oracle --json"))).unwrap();
    let time = |name: &str| {
        let runs = json["runs"].as_array().unwrap();
        runs.iter().find(|r| r["scheduler"] == name).unwrap()["elapsed_s"].as_f64().unwrap()
    };
    let (dads, none, best) = (time("dads"), time("none"), time("bfq:low_latency=0"));
    assert!(dads < 0.75 * none && best < dads, "{dads} s, {none} s with none, {best} s with the best");
    let reasons: Vec<&str> = json["checks"].as_array().unwrap().iter().map(|c| c["reason"].as_str().unwrap()).collect();
    let first = |reason: &str| reasons.iter().position(|r| *r == reason).unwrap();
    assert!(first("trial") < first("adopted"), "{reasons:?}");
    let alone: Value =
        serde_json::from_str(&s.ok(&format!("{CONFIRMED} --no-oracle --no-disk-trials --json"))).unwrap();
    let checks = alone["checks"].as_array().unwrap();
    assert!(checks.iter().all(|c| c["reason"] != "trial") && checks.iter().any(|c| c["reason"] == "better"));
    for option in ["--revert", "--renew"] {
        let e = s.refused(&format!("{CONFIRMED} {option}"));
        assert!(e.contains(option) && e.contains("--policy thesis"), "{e}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let s = sandbox();
    let on = |n| s.ok(&format!("{CONFIRMED} --json --objective p99 --threads {n}"));
    assert!(on(1) == on(2));
}

#[test]
fn a_grid_of_tunables_is_as_many_candidates() {
    let s = sandbox();
    let line = "dads replay load.fio --disk hd-500-16 --json --no-oracle --candidate mq-deadline:fifo_batch=1,16,64 \
                --candidate kyber --initial mq-deadline:fifo_batch=16";
    let json: Value = serde_json::from_str(&s.ok(line)).unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 5);
    assert_eq!(json["checks"][0]["scheduler"], "mq-deadline:fifo_batch=16");
}

#[test]
fn bad_input_is_one_line() {
    let s = sandbox();
    let replay = "dads replay load.fio --disk hd-500-16";
    for (options, expected) in [
        ("--candidates none,cfq", "candidates: got cfq, expected schedulers of one kernel, as none is"),
        ("--candidates none,bfq --initial kyber", "--initial: got kyber, expected one of the candidates: none, bfq"),
        ("--candidates none,none", "candidates: got none twice"),
        ("--interval 0", "--interval: got 0, expected 0.001 to 86400 seconds"),
        ("--interval -1", "--interval: got -1"),
        ("--objective speed", "objective: got speed, expected one of service-time, busy-time, p99"),
        ("--audit nowhere/a.jsonl", "--audit: got nowhere/a.jsonl"),
    ] {
        let e = s.refused(&format!("{replay} {options}"));
        assert!(e.contains(expected), "{options}: {e}");
    }
}

/// GF 4.6, in small: when the autopilot begins with the worse scheduler, it changes at the first check. It is never the
/// worst.
#[test]
fn the_autopilot_follows_the_better_of_two_schedulers() {
    let s = Sandbox::new();
    let one = s.ok("experiment run gf-dads --quick --json --threads 1 --out results");
    assert!(one == s.ok("experiment run gf-dads --quick --json --threads 2"), "threads change nothing");
    for disk in ["hd-500-16", "ssd-160"] {
        let svg = std::fs::read_to_string(s.path().join(format!("results/gf-dads-{disk}.svg"))).unwrap();
        assert!(svg.contains("AS, Deadline: TOTAL") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{disk}");
    }
    let told: Value = serde_json::from_str(&one).unwrap();
    for (figure, disk, better) in [("figure_4_4", "hd-500-16", "AS"), ("figure_4_9", "ssd-160", "Deadline")] {
        let rows = told["tables"][figure].as_array().unwrap();
        let number = |scheduler: &str, key: &str| {
            let row = rows.iter().find(|r| r["scheduler"] == scheduler && r["disk"] == disk);
            row.unwrap_or_else(|| panic!("{scheduler} on {disk}"))[key].as_f64().unwrap()
        };
        let worse = if better == "AS" { "Deadline" } else { "AS" };
        // The first benchmark has sequential readers only, so one change is all that is needed.
        assert!(number(better, "IOR") < number(worse, "IOR"), "{disk}");
        for begun in [format!("{better}-{worse}"), format!("{worse}-{better}")] {
            assert!(number(&begun, "total") < number(worse, "total"), "{begun} on {disk}");
            assert!(number(&begun, "checks") > 5.0);
        }
        assert!(number(&format!("{worse}-{better}"), "changes") >= 1.0, "{disk}");
    }
    for claim in told["claims"].as_array().unwrap() {
        assert_eq!(claim["reproduced"].as_bool().unwrap(), claim["because"].is_null(), "{claim}");
        let source = claim["source"].as_str().unwrap();
        assert!(source.starts_with("GF 4.") || source.starts_with("trials that last"), "{claim}");
    }
}

/// Four processes that read backwards, each in its place: with a cache, most reads are copies.
#[test]
fn trials_have_the_cache_that_the_disk_has() {
    let s = Sandbox::new();
    let mut lines = String::from("# columns: time_ms,op,lba,sectors,pid,completion_ms\n");
    for n in 0..3000_u64 {
        let lba = 40_000_000 * (n % 4 + 1) - n / 4 * 8;
        lines += &format!("{},R,{lba},8,{},{}\n", n * 3, n % 4, n * 3 + 2);
    }
    s.write("backwards.csv", &lines);
    let replay = "dads replay backwards.csv --disk wd1200bb --policy thesis --interval 1 --candidates none,mq-deadline";
    let run = |redcap: &str| -> Value {
        serde_json::from_str(&s.ok(&format!("{replay} --no-oracle --json {redcap}"))).unwrap()
    };
    let (plain, cached) = (run(""), run("--redcap 64x128k,algorithm=v2"));
    let names: Vec<_> = cached["runs"].as_array().unwrap().iter().map(|r| r["scheduler"].as_str().unwrap()).collect();
    assert_eq!(names, ["dads", "none + 64x128k,algorithm=v2", "mq-deadline + 64x128k,algorithm=v2"]);
    let hits = &cached["runs"][0]["redcap"]["hits"];
    assert!(plain["runs"][0]["redcap"].is_null() && hits.as_u64() > Some(2000), "{hits}");
    // What a request costs in trials, on average.
    let cost = |run: &Value| {
        let checks = run["checks"].as_array().unwrap();
        let of = |check: &Value| check["candidates"][0]["cost"].as_f64().unwrap() / check["tried"].as_f64().unwrap();
        assert!(checks.len() > 3, "{checks:?}");
        checks.iter().map(of).sum::<f64>() / checks.len() as f64
    };
    assert!(cost(&cached) < 0.5 * cost(&plain), "{} against {} s", cost(&cached), cost(&plain));
    let never = run("--redcap 64x128k,algorithm=never");
    assert!((cost(&never) / cost(&plain) - 1.0).abs() < 0.05, "{} against {} s", cost(&never), cost(&plain));
    // `adaptive` decides beside the autopilot.
    let adaptive = run("--redcap 64x128k");
    let redcap = &adaptive["runs"][0]["redcap"];
    assert!(redcap["hits"].as_u64() > Some(2000) && !redcap["checks"].as_array().unwrap().is_empty(), "{redcap}");
}
