//! Tests of descriptions of programs: parsing, refusals, and runs.

mod properties;
mod refused;

use super::UserProgramsSpec;
use crate::testing::{SourceLog, TestDevice};
use iopilot_block::{Criticality, HostReport, Nanos, Op, Source};
use iopilot_host::{HostSettings, Preset};
use std::fs;
use std::path::Path;

/// 1 GB, as the disk of Ganger 5.3.
const CAPACITY: u64 = 2_054_864;

fn spec(text: &str) -> UserProgramsSpec {
    UserProgramsSpec::from_toml(text, "w.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// Runs it on CPUs without costs, over a disk that takes 10 ms for each request.
fn run_free(text: &str, cpus: u16) -> (SourceLog, HostReport) {
    let mut host = spec(text).source(Some(&HostSettings::free(cpus)), CAPACITY, 1).unwrap_or_else(|e| panic!("{e}"));
    let log = TestDevice::fixed(10).run(&mut host);
    assert_eq!(host.failure(), None);
    (log, host.host_report().unwrap())
}

fn elapsed(report: &HostReport) -> Vec<(&str, f64)> {
    report.tasks.iter().map(|task| (&*task.name, task.elapsed_s)).collect()
}

fn process(name: &str, events: &str) -> String {
    format!("[[process]]\nname = \"{name}\"\nevents = [{events}]\n")
}

/// A channel of 100 bytes.
const CHANNEL: &str = "[[channel]]\nname = \"queue\"\ncapacity = 100\n";
/// A directory, a file that exists, and one that does not.
const FILES: &str =
    "[[directory]]\nname = \"home\"\n[[file]]\nname = \"data\"\nsize = \"1m\"\n[[file]]\nname = \"log\"\n";
/// A program that creates that file.
const PROGRAM: &str = "[[program]]\nname = \"cc\"\nevents = [{ create = \"log\" }]\n";

#[test]
fn events_are_done_in_order_and_loops_as_often_as_they_say() {
    let text = process(
        "a",
        "{ repeat = 3, events = [{ compute_ms = 2 }, { repeat = 2, events = [{ nap_ms = 1 }] }] }, { compute_ms = 5 }",
    );
    let (_, report) = run_free(&format!("{text}repeat = 2\n"), 1);
    assert_eq!(elapsed(&report), [("a", 2.0 * (3.0 * (2.0 + 2.0) + 5.0) / 1e3)]);
    assert_eq!(report.tasks[0].times.computation_s, 0.022);
}

#[test]
fn an_exit_ends_a_process_within_its_loops() {
    let text = process("a", "{ repeat = 9, events = [{ compute_ms = 3 }, { exit = true }] }, { compute_ms = 5 }");
    assert_eq!(elapsed(&run_free(&format!("{text}repeat = 7\n"), 1).1), [("a", 0.003)]);
}

#[test]
fn requests_to_the_driver_are_waited_for_by_their_class() {
    let text = process(
        "a",
        "{ io = \"read\", lba = 64, sectors = 16 }, { io = \"read\", sectors = 16, class = \"limited\", number = 4 }, \
         { io = \"write\", lba = \"random\", sectors = 8, class = \"noncritical\" }, { compute_ms = 3 }, { await = 4 }, \
         { await_all = true }",
    );
    let (log, report) = run_free(&text, 1);
    let requests: Vec<_> = log.requests.iter().map(|r| (r.arrival.op, r.arrival.criticality)).collect();
    assert_eq!(
        requests,
        [
            (Op::Read, Criticality::TimeCritical),
            (Op::Read, Criticality::TimeLimited),
            (Op::Write, Criticality::TimeNonCritical)
        ]
    );
    let at: Vec<u64> = log.requests.iter().map(|r| r.arrival.lba.0).collect();
    assert_eq!(at[..2], [64, 80], "the second continues behind the first");
    assert!(at[2] % 8 == 0 && at[2] + 8 <= CAPACITY);
    assert!((report.tasks[0].elapsed_s - 0.020).abs() < 1e-6, "{report:?}");
}

#[test]
fn files_are_read_in_order_and_at_random_within_them() {
    let file = "[[directory]]\nname = \"d\"\n[[file]]\nname = \"f\"\nsize = \"32k\"\ndirectory = \"d\"\n";
    // Page lookups, and read requests: one for each page, and one for the inode, which a read changes.
    let reads = |events: &str| {
        let (log, report) = run_free(&format!("{file}{}", process("a", events)), 1);
        let cache = report.cache.unwrap();
        let reads = log.requests.iter().filter(|request| request.arrival.op == Op::Read).count();
        (cache.hits + cache.misses, reads)
    };
    // 8 pages, twice: after the end, reads start over.
    assert_eq!(reads("{ repeat = 8, events = [{ read = \"f\", bytes = \"8k\" }] }"), (16, 9));
    assert_eq!(reads("{ repeat = 3, events = [{ read = \"f\" }] }"), (24, 9));
    assert_eq!(reads("{ read = \"f\", offset = \"20k\" }"), (3, 4), "from 20 to 32 KiB");
    let random = "{ repeat = 200, events = [{ read = \"f\", offset = \"random\", bytes = \"4k\" }] }";
    assert_eq!(reads(random), (200, 9), "all of it, and nothing else");
    let cached = file.replace("size", "cached = true\nsize");
    let (_, report) = run_free(&format!("{cached}{}", process("a", "{ open = \"f\" }, { read = \"f\" }")), 1);
    assert_eq!(report.cache.unwrap().misses, 0);
}

#[test]
fn each_process_has_files_of_its_own_and_shares_those_that_are_described() {
    let own = "{ create = \"tmp\" }, { write = \"tmp\", bytes = \"8k\" }, { read = \"tmp\" }, { fsync = \"tmp\" }, { remove = \"tmp\" }";
    let text = format!("{}count = 3\nrepeat = 2\n", process("a", own));
    let (_, report) = run_free(&text, 2);
    assert_eq!(elapsed(&report).len(), 3);
    assert_eq!(report.cache.unwrap().hits, 3 * 2 * 2, "each reads its own two pages");
    let shared = format!(
        "[[file]]\nname = \"log\"\n[[channel]]\nname = \"made\"\n{}{}",
        process("b", "{ get = \"made\", bytes = 1 }, { read = \"log\" }"),
        process("c", "{ create = \"log\" }, { write = \"log\", bytes = \"4k\" }, { put = \"made\", bytes = 1 }"),
    );
    assert_eq!(run_free(&shared, 1).1.cache.unwrap().hits, 1, "b reads what c has written");
}

#[test]
fn children_are_started_and_waited_for_with_files_of_their_own() {
    let child = "[[program]]\nname = \"cc\"\ntask = true\nevents = [{ compute_ms = 4 }, { mkdir = \"d\" }, \
                 { create = \"o\", directory = \"d\" }, { write = \"o\", bytes = 100 }]\n";
    let make = "{ repeat = 3, events = [{ fork = \"cc\" }, { wait = \"cc\" }] }, { fork = \"cc\" }, { fork = \"cc\" }, { wait = true }, { wait = true }";
    let (_, report) = run_free(&format!("{child}{}count = 2\n", process("make", make)), 1);
    let names: Vec<&str> = elapsed(&report).iter().map(|(name, _)| *name).collect();
    assert_eq!(names.iter().filter(|name| **name == "cc").count(), 10);
    assert!(names.contains(&"make 1") && names.contains(&"make 2"), "{names:?}");
    assert!(report.tasks.iter().any(|task| task.times.computation_s >= 0.020), "with its children's: {report:?}");
}

#[test]
fn tokens_limit_the_number_of_running_children() {
    let jobs = |tokens: u32| {
        let text = format!(
            "[[channel]]\nname = \"t\"\n[[program]]\nname = \"cc\"\nevents = [{{ get = \"t\", bytes = 1 }}, {{ nap_ms = 10 }}, \
             {{ put = \"t\", bytes = 1 }}]\n{}",
            process(
                "make",
                &format!(
                    "{{ put = \"t\", bytes = {tokens} }}, {{ repeat = 6, events = [{{ fork = \"cc\" }}] }}, \
                     {{ repeat = 6, events = [{{ wait = \"cc\" }}] }}"
                )
            )
        );
        run_free(&text, 1).1.tasks[0].elapsed_s
    };
    assert_eq!((jobs(1), jobs(2), jobs(6)), (0.060, 0.030, 0.010));
}

#[test]
fn processes_sleep_and_lock_by_name() {
    let text = format!(
        "{}state = \"sleeping\"\nkey = \"door\"\n{}",
        process("a", "{ compute_ms = 2 }, { lock = \"door\" }, { unlock = \"door\" }"),
        process(
            "b",
            "{ lock = \"door\" }, { compute_ms = 3 }, { wakeup = \"door\", all = true }, { compute_ms = 4 }, { unlock = \"door\" }"
        ),
    );
    // A lock and a key may have the same name. a is woken at 3, and has the lock at 7.
    assert_eq!(elapsed(&run_free(&text, 2).1), [("b", 0.007), ("a", 0.007)]);
}

#[test]
fn interrupts_come_at_their_times() {
    let source = |keys: &str| {
        let work = process("server", "{ get = \"q\", bytes = 1 }, { nap_ms = 1 }, { answer = \"q\" }");
        let text = format!(
            "[[channel]]\nname = \"q\"\n[[external]]\nname = \"net\"\nput = \"q\"\nbytes = 1\ntask = true\n{keys}\n{work}daemon = true\n"
        );
        run_free(&text, 1).1
    };
    let list = source("at_ms = [1, 5, 5.5]");
    assert_eq!(elapsed(&list), [("net", 0.001), ("net", 0.001), ("net", 0.0015)]);
    let every = source("period_ms = 10\nstart_ms = 5\ncount = 4");
    assert_eq!((every.external_interrupts, every.elapsed_s), (Some(4), 0.046));
    let random = source("period_ms = { distribution = \"exponential\", mean = 10.0 }\ncount = 2000");
    assert!((random.elapsed_s / 20.0 - 1.0).abs() < 0.1, "{random:?}");
    let seeds = |seed| {
        let text = fs::read_to_string(shipped("file-server.toml")).unwrap();
        let mut host = spec(&text).source(None, CAPACITY, seed).unwrap();
        TestDevice::fixed(8).run(&mut host);
        host.host_report().unwrap()
    };
    assert_eq!(seeds(1), seeds(1));
    assert_ne!(seeds(1), seeds(2));
}

fn shipped(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads").join(name)
}

#[test]
fn the_example_workloads_run() {
    let mut seen = 0;
    for entry in fs::read_dir(shipped("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for host in [HostSettings::of(Preset::Y1995, 1), HostSettings::of(Preset::Today, 4)] {
            let mut host = spec(&text).source(Some(&host), CAPACITY, 1).unwrap();
            TestDevice { service: (Nanos::from_millis(2), Nanos::from_millis(20)), ..TestDevice::default() }
                .run(&mut host);
            assert_eq!(host.failure(), None, "{}", path.display());
            assert!(host.host_report().unwrap().tasks.len() > 20, "{}", path.display());
        }
        seen += 1;
    }
    assert_eq!(seen, 2);
}
