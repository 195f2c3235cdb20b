//! `compare`: how sure it is, and what it takes from a recording.

use crate::Sandbox;
use iopilot_block::{Nanos, ProcessId};
use iopilot_trace::{Format, ReadOptions, RecordedSystem, TraceReader, TraceRecord, TraceWriter};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashSet;

/// Eight processes that read at random, and one that keeps eight requests in flight.
const JOBS: &str = "[global]\nfilename=/dev/x\nsize=4g\nbs=4k\nrw=randread\ndirect=1\nthinktime=2000\n\
                    [readers]\nioengine=psync\nnumjobs=8\nnumber_ios=60\n\
                    [deep]\nioengine=libaio\niodepth=8\nthinktime=0\nnumber_ios=300\n";

const SHALLOW: &str = "disk = \"hd-500-16\"\n[block]\nqueue_depth = 4\nhost_tags = 4\nnr_requests = 256\n";

/// A simulation of [`JOBS`] on [`SHALLOW`] under `scheduler`, written as a recording of that machine.
fn recorded(s: &Sandbox, scheduler: &str, name: &str) {
    s.write("jobs.fio", JOBS);
    s.write("shallow.toml", SHALLOW);
    s.ok(&format!("simulate -w jobs.fio --machine shallow.toml -s {scheduler} --requests-out plain.parquet"));
    rewrite(s, "plain.parquet", name, Some(&system(scheduler, "1", 4)), |_| {});
}

/// A machine of two CPUs with a disk that takes `depth` requests at once.
fn system(scheduler: &str, rotational: &str, depth: u32) -> RecordedSystem {
    let nr_requests = if scheduler == "none" { depth.to_string() } else { "256".to_owned() };
    let queue = [("rotational", rotational), ("nr_requests", &nr_requests), ("max_sectors_kb", "1280")];
    RecordedSystem {
        kernel: "6.12".into(),
        cpus: 2,
        device: "sdx".into(),
        scheduler: scheduler.into(),
        queue: queue.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        queue_depth: Some(depth),
        hardware_tags: Some(128),
        ..RecordedSystem::default()
    }
}

/// Copies a trace with `system`, each record changed by `change`.
fn rewrite(s: &Sandbox, from: &str, to: &str, system: Option<&RecordedSystem>, change: impl Fn(&mut TraceRecord)) {
    let reader = TraceReader::open(&s.path().join(from), &ReadOptions::default()).unwrap();
    let system = system.cloned().or(reader.recorded_system().cloned());
    let mut records: Vec<TraceRecord> = reader.map(Result::unwrap).collect();
    records.iter_mut().for_each(change);
    records.sort_by_key(|r| r.arrival);
    let mut writer = TraceWriter::create(&s.path().join(to), Format::Parquet).unwrap();
    if let Some(system) = &system {
        writer.set_recorded_system(system);
    }
    records.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap();
}

fn json(s: &Sandbox, line: &str) -> Value {
    serde_json::from_str(&s.ok(line)).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn the_self_replay_comes_first_and_the_settings_are_the_recording_s() {
    let s = Sandbox::new();
    recorded(&s, "mq-deadline", "a.parquet");
    let text = s.ok("compare a.parquet --disk hd-500-16 -s none,mq-deadline");
    assert!(text.starts_with("self-replay under mq-deadline"), "{text}");
    assert!(!text.contains("warning:"), "{text}");
    let told: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(
        "block layer as recorded on sdx (Linux 6.12, mq-deadline): nr_requests 256, host_tags 4, queue_depth 4"
    ));
    let replay = &json(&s, "compare a.parquet --disk hd-500-16 -s none --json")["self_replays"][0];
    for error in ["elapsed_error_percent", "wait_error_percent"] {
        assert!(number(&replay[error]).abs() < 3.0, "{replay}");
    }
    // The same on another disk is far off, and warned of.
    let text = s.ok("compare a.parquet --disk savvio-10k4-600g -s none,mq-deadline");
    assert!(text.contains("warning: the model is more than 10 % off"), "{text}");
    // If the recording says that its disk was another, the difference is no error of the model.
    let other =
        RecordedSystem { sectors: 1 << 21, model: Some("QEMU HARDDISK".into()), ..system("mq-deadline", "1", 4) };
    rewrite(&s, "a.parquet", "other.parquet", Some(&other), |_| {});
    let text = s.ok("compare other.parquet --disk savvio-10k4-600g -s none,mq-deadline");
    assert!(!text.contains("warning:") && text.contains("recorded on another disk (sdx, QEMU HARDDISK)"), "{text}");
    let replay = &json(&s, "compare other.parquet --disk savvio-10k4-600g -s none --json")["self_replays"][0];
    assert_eq!(replay["same_disk"], false, "{replay}");
    let text = s.ok("compare a.parquet --disk hd-500-16 -s none,mq-deadline --settings default");
    assert!(!text.contains("block layer as recorded"), "{text}");
}

#[test]
fn several_recordings_are_one_comparison_with_a_spread() {
    let s = Sandbox::new();
    recorded(&s, "mq-deadline", "a.parquet");
    recorded(&s, "bfq", "b.parquet");
    let both = json(&s, "compare a.parquet b.parquet --disk hd-500-16 -s none,bfq --json");
    assert_eq!(both["self_replays"].as_array().unwrap().len(), 2);
    for run in both["runs"].as_array().unwrap() {
        let spread = &run["spread"];
        assert_eq!(number(&spread["replays"]), 10.0);
        let range = &spread["wait_ms_mean"];
        let value = number(&run["wait_ms_mean"]);
        assert!(number(&range["min"]) <= value && value <= number(&range["max"]), "{run}");
    }
    let once = json(&s, "compare a.parquet --disk hd-500-16 -s none --replays 1 --json");
    assert!(once["runs"][0]["spread"].is_null());
    let line = s.refused("compare a.parquet jobs.fio --disk hd-500-16");
    assert!(line.contains("jobs.fio") && line.contains("another recording of the same load"), "{line}");
}

#[test]
fn a_process_that_sleeps_for_a_tag_waits() {
    // One process keeps eight in flight on a disk of depth 4: under `none` it sleeps for tags instead, and gains nothing.
    let s = Sandbox::new();
    s.write("shallow.toml", SHALLOW);
    let job =
        "[a]\nfilename=/dev/x\nsize=4g\nbs=4k\nrw=randread\ndirect=1\nioengine=libaio\niodepth=8\nnumber_ios=600\n";
    s.write("deep.fio", job);
    s.ok("simulate -w deep.fio --machine shallow.toml -s mq-deadline --requests-out deep.parquet");
    let compared = json(&s, "compare deep.parquet --machine shallow.toml -s none,mq-deadline --json");
    let of = |n: usize, key: &str| number(&compared["runs"][n][key]);
    let elapsed = of(0, "elapsed_s") / of(1, "elapsed_s");
    let waits = of(0, "wait_ms_mean") / of(1, "wait_ms_mean");
    assert!((waits / elapsed - 1.0).abs() < 0.03, "waits {waits}, takes {elapsed} times as long");
}

#[test]
fn a_stall_of_the_machine_is_named_and_left_out() {
    let s = Sandbox::new();
    recorded(&s, "mq-deadline", "a.parquet");
    // It lasts from 0.4 s to 2.4 s. What is in flight completes meanwhile, and all processes go on at its end.
    let (begin, length) = (Nanos::from_millis(400), Nanos::from_secs(2));
    let gone_on = RefCell::new(HashSet::new());
    rewrite(&s, "a.parquet", "stalled.parquet", None, |r| {
        if r.arrival <= begin {
            return;
        }
        for time in [&mut r.inserted, &mut r.issue, &mut r.completion] {
            *time = time.map(|t| t + length);
        }
        r.arrival += length;
        let mut gone_on = gone_on.borrow_mut();
        if gone_on.insert(r.process) {
            r.arrival = begin + length + Nanos::from_micros(20 * gone_on.len() as u64);
        }
    });
    let text = s.ok("compare stalled.parquet --disk hd-500-16 -s mq-deadline,bfq");
    let told: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("a stall of the machine left out of think times"), "{told}");
    let elapsed = |trace: &str| {
        number(&json(&s, &format!("compare {trace} --disk hd-500-16 -s mq-deadline --json"))["runs"][0]["elapsed_s"])
    };
    let (with, without) = (elapsed("stalled.parquet"), elapsed("a.parquet"));
    assert!((with / without - 1.0).abs() < 0.15, "{with} s, {without} s without the stall");
}

#[test]
fn a_completion_that_was_lost_is_told_of_and_its_process_waits_all_the_same() {
    let s = Sandbox::new();
    recorded(&s, "mq-deadline", "a.parquet");
    let process = |r: &TraceRecord| r.process.unwrap_or(ProcessId(0)).0;
    rewrite(&s, "a.parquet", "lost.parquet", None, |r| {
        if r.lba.0 / 8 % 40 == 7 && process(r) > 0 {
            r.completion = None;
        }
    });
    let text = s.ok("compare lost.parquet --disk hd-500-16 -s mq-deadline");
    assert!(text.contains("have no completion in the trace"), "{text}");
    let elapsed = |trace: &str| {
        number(&json(&s, &format!("compare {trace} --disk hd-500-16 -s mq-deadline --json"))["runs"][0]["elapsed_s"])
    };
    let (lost, whole) = (elapsed("lost.parquet"), elapsed("a.parquet"));
    assert!((lost / whole - 1.0).abs() < 0.1, "{lost} s, {whole} s with all completions");
}

#[test]
fn equal_throughput_does_not_hide_waiting() {
    // Ten streams, and a reader that comes now and then.
    let s = Sandbox::new();
    s.write(
        "interactive.fio",
        "[global]\nioengine=libaio\ndirect=1\ntime_based\nfilename=/dev/x\n\
         [background]\nruntime=6\nrw=read\nbs=128k\niodepth=2\nnumjobs=10\noffset_increment=5%\nsize=4%\n\
         [app]\nruntime=2\nstartdelay=3\nrw=randread\nbs=16k\niodepth=1\noffset=60%\nsize=5%\nnumber_ios=100\n",
    );
    let compared = json(&s, "compare interactive.fio --disk ssd-160 -s none,mq-deadline,bfq,kyber --replays 1 --json");
    let verdict = &compared["verdict"];
    assert_eq!(verdict["best"], "bfq", "{verdict}");
    assert!(verdict["text"].as_str().unwrap().contains("bfq is best: processes wait 0."), "{verdict}");
}

#[test]
fn tasks_are_compared_with_the_spread_of_tasks() {
    // Requests from outside come at their own times, so that all runs take as long; how long a task takes does differ.
    let s = Sandbox::new();
    s.write(
        "open.toml",
        "type = \"programs\"\n[[file]]\nname = \"pages\"\nsize = \"512m\"\n[[file]]\nname = \"archive\"\nsize = \"256m\"\n\
         [[channel]]\nname = \"requests\"\n[[external]]\nname = \"request\"\ncount = 200\nhandler_us = 30\nput = \"requests\"\n\
         bytes = 1\ntask = true\nperiod_ms = { distribution = \"exponential\", mean = 60.0 }\n\
         [[process]]\nname = \"worker\"\ncount = 8\ndaemon = true\nevents = [{ get = \"requests\", bytes = 1 }, { compute_ms = 1 },\n\
         { read = \"pages\", offset = \"random\", bytes = \"16k\" }, { answer = \"requests\" }]\n\
         [[process]]\nname = \"scanner\"\ndaemon = true\nevents = [{ repeat = 8, events = [{ read = \"archive\", bytes = \"256k\" }] },\n\
         { nap_ms = 1 }]\n",
    );
    let compared = json(&s, "compare open.toml --disk wd1200bb -s mq-deadline,bfq --json");
    let verdict = &compared["verdict"];
    assert_eq!((&verdict["measure"], &verdict["best"]), (&"task_s_mean".into(), &"mq-deadline".into()), "{verdict}");
    assert_eq!(verdict["equals"].as_array().unwrap().len(), 1, "{verdict}");
    for run in compared["runs"].as_array().unwrap() {
        let (range, value) = (&run["spread"]["task_s_mean"], number(&run["task_s_mean"]));
        assert!(number(&range["min"]) <= value && value <= number(&range["max"]), "{run}");
        assert!(number(&run["spread"]["percent"]) < 100.0, "{}", run["spread"]);
    }
}

#[test]
fn the_cost_of_a_slow_host_is_found_in_its_recording() {
    let s = Sandbox::new();
    s.write("slow.toml", "disk = \"ssd-160\"\n[block]\nnr_requests = 256\n[host]\ntransport_us = 45\n");
    s.write(
        "fast.fio",
        "[a]\nfilename=/dev/x\nsize=4g\nbs=4k\nrw=randread\ndirect=1\nioengine=psync\nnumjobs=16\nnumber_ios=200\n",
    );
    s.ok("simulate -w fast.fio --machine slow.toml -s mq-deadline --requests-out plain.parquet");
    rewrite(&s, "plain.parquet", "fast.parquet", Some(&system("mq-deadline", "0", 32)), |_| {});
    let compared = json(&s, "compare fast.parquet --disk ssd-160 -s mq-deadline,none --json");
    let replay = &compared["self_replays"][0];
    assert!(number(&replay["wait_error_percent"]).abs() < 3.0, "{replay}");
    let notes = compared["workload"]["notes"].to_string();
    let fitted = notes.split("transport_us ").nth(1).and_then(|rest| rest.split(',').next()?.parse::<f64>().ok());
    assert!(fitted.is_some_and(|us| (40.0..50.0).contains(&us)), "{notes}");
    // The user's setting is kept; and a slow disk does not reveal its host's speed.
    let kept = s.ok("compare fast.parquet --machine slow.toml -s mq-deadline --json");
    assert!(!kept.contains("transport_us"), "{kept}");
    recorded(&s, "mq-deadline", "slow.parquet");
    assert!(!s.ok("compare slow.parquet --disk hd-500-16 -s mq-deadline --json").contains("transport_us"));
}
