//! Generators and what they issue.

use super::{GangerSpec, on_own_cpus};
use crate::testing::{SourceLog, TestDevice};
use iopilot_block::{Criticality, Flags, Nanos, Op};
use proptest::prelude::*;

const CAPACITY: u64 = 2 << 20;

const OPEN: &str = r#"
requests = 20000
[[generator]]
name = "open"
blocking_factor = 8
read_probability = 0.66
size_sectors = { distribution = "exponential", base = 1.0, mean = 8.0 }
general_time_ms = { distribution = "exponential", mean = 10.0 }
"#;

fn spec(text: &str) -> GangerSpec {
    GangerSpec::from_toml(text, "g.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn run_on(device: &TestDevice, text: &str) -> SourceLog {
    device.run(&mut on_own_cpus(&spec(text), CAPACITY, 1).unwrap_or_else(|e| panic!("{e}")))
}

fn complaint(text: &str) -> String {
    match GangerSpec::from_toml(text, "g.toml").and_then(|spec| on_own_cpus(&spec, CAPACITY, 1)) {
        Ok(_) => panic!("nothing is wrong"),
        Err(e) => e.to_string(),
    }
}

fn issue_gaps_ms(log: &SourceLog) -> Vec<f64> {
    log.requests.windows(2).map(|w| w[1].at.since(w[0].at).as_millis_f64()).collect()
}

#[test]
fn without_critical_requests_the_computation_times_are_the_inter_arrival_times() {
    let fast = run_on(&TestDevice::fixed(1), OPEN);
    let slow = run_on(&TestDevice::fixed(1000), OPEN);
    let gaps = issue_gaps_ms(&fast);
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean - 10.0).abs() < 0.3, "{mean}");
    assert_eq!(gaps, issue_gaps_ms(&slow), "an open generator does not care how fast the disk is");
    assert_eq!(fast.requests.len(), 20000);
    let reads = fast.requests.iter().filter(|s| s.arrival.op == Op::Read).count() as f64;
    assert!((reads / 20000.0 - 0.66).abs() < 0.02);
    assert!(fast.requests.iter().all(|s| s.arrival.lba.0 % 8 == 0 && s.arrival.sectors.0 % 8 == 0));
    assert!(fast.requests.iter().all(|s| s.arrival.criticality == Criticality::TimeNonCritical));
}

#[test]
fn with_critical_requests_only_the_model_is_closed() {
    let closed = format!("{OPEN}processes = 5\ntime_critical_probability = 1.0\n").replace("20000", "2000");
    let log = run_on(&TestDevice::fixed(20), &closed);
    assert!(log.depth.values().all(|&d| d == 1));
    assert_eq!((log.depth.len(), log.exits.len()), (5, 5));
    // Each process: 20 ms of service and 10 ms of thought on average.
    let span = log.requests.last().unwrap().at.as_secs_f64();
    assert!((span - 2000.0 * 0.030 / 5.0).abs() < 0.5, "{span}");
    let zero = closed.replace("{ distribution = \"exponential\", mean = 10.0 }", "0");
    let log = run_on(&TestDevice::fixed(20), &zero);
    let per_process: Vec<_> = log.requests.iter().filter(|s| s.arrival.process.0 == 1002).collect();
    assert!(per_process.windows(2).all(|w| w[1].at == w[0].done), "no think time");
}

#[test]
fn a_limited_request_is_waited_for_once_its_limit_of_computation_has_passed() {
    let text = r#"
requests = 200
[[generator]]
read_probability = 1
size_sectors = 8
general_time_ms = 4
time_limited_probability = 1.0
time_limit_ms = 6
"#;
    // Requests at 4, 8 ms of computation; at 10 ms the first one's limit has passed.
    let log = run_on(&TestDevice::fixed(20), text);
    let at: Vec<f64> = log.requests.iter().take(4).map(|s| s.at.as_millis_f64()).collect();
    // It completes at 24 ms; 2 ms of computation were left until the third request. The second request's limit is at 14 ms of
    // computation, which is 28 ms.
    assert_eq!(at[..3], [4.0, 8.0, 26.0]);
    assert!(log.requests.iter().all(|s| s.arrival.flags == Flags::READ_AHEAD));
    assert!(log.requests.iter().all(|s| s.arrival.criticality == Criticality::TimeLimited));
    // A disk that is fast enough is never waited for.
    let log = run_on(&TestDevice::fixed(5), text);
    assert!(issue_gaps_ms(&log).iter().all(|&gap| gap == 4.0));
}

#[test]
fn sequential_and_local_requests_have_their_shares_and_times() {
    let text = r#"
requests = 20000
[[generator]]
read_probability = 0.5
size_sectors = 16
sequential_probability = 0.5
local_probability = 0.3
local_distance_sectors = { distribution = "uniform", min = -1000, max = 1000 }
sequential_time_ms = 1
local_time_ms = 2
general_time_ms = 3
time_critical_probability = 0.5
"#;
    let log = run_on(&TestDevice::fixed(0), text);
    let (mut sequential, mut local) = (0, 0);
    for w in log.requests.windows(2) {
        let (a, b) = (w[0].arrival, w[1].arrival);
        let gap = w[1].at.since(w[0].at).as_millis_f64();
        if b.lba == a.lba + a.sectors && gap < 1.5 {
            sequential += 1;
            assert_eq!(a.op, b.op, "a sequential request keeps the direction");
        } else if gap < 2.5 {
            local += 1;
            assert!(b.lba.distance(a.lba) <= 1000);
        }
    }
    assert!((f64::from(sequential) / 20000.0 - 0.5).abs() < 0.02, "{sequential}");
    assert!((f64::from(local) / 20000.0 - 0.3).abs() < 0.02, "{local}");
}

#[test]
fn duration_and_counts_end_the_run() {
    let for_ten_seconds = OPEN.replace("requests = 20000", "duration_s = 10");
    let log = run_on(&TestDevice::default(), &for_ten_seconds);
    assert!(log.requests.iter().all(|s| s.at < Nanos::from_secs(10)));
    assert!((900..1100).contains(&log.requests.len()), "{}", log.requests.len());
    let each = format!("{}\nrequests = 7\nprocesses = 3\nstart_s = 2\n", OPEN.replace("requests = 20000", ""));
    let log = run_on(&TestDevice::default(), &each);
    assert_eq!((log.requests.len(), log.exits.len()), (21, 3));
    assert!(log.requests.iter().all(|s| s.at >= Nanos::from_secs(2)));
    let flood = OPEN.replace("{ distribution = \"exponential\", mean = 10.0 }", "0");
    let log = run_on(&TestDevice::default(), &flood);
    assert!(log.requests.len() == 20000 && log.batches.iter().all(|&b| b == 1));
}

#[test]
fn errors_name_file_line_and_key() {
    let with = |line: &str| format!("{OPEN}{line}\n");
    for (text, expected) in [
        (with("read_probabilty = 1"), "g.toml:9: read_probabilty: got an unknown key, expected `read_probability`"),
        (with("processes = 0"), "g.toml:9: processes: got 0, expected a whole number from 1 to 16384"),
        (
            with("time_critical_probability = 1.5"),
            "g.toml:9: time_critical_probability: got 1.5, expected a number from 0 to 1",
        ),
        (with("time_limited_probability = 0.5"), "g.toml:3: time_limit_ms: got nothing, expected this key"),
        (
            with("sequential_probability = 0.8\nlocal_probability = 0.5\nlocal_distance_sectors = 1"),
            "a sum of at most 1",
        ),
        (
            with("local_time_ms = { distribution = \"normale\", mean = 1 }"),
            "g.toml:9: distribution: got \"normale\", expected `normal`",
        ),
        (
            with("local_time_ms = { distribution = \"normal\", mean = 1 }"),
            "g.toml:9: deviation: got nothing, expected this key",
        ),
        (
            with("local_time_ms = { distribution = \"normal\", men = 1 }"),
            "g.toml:9: men: got an unknown key, expected `mean`",
        ),
        (with("local_time_ms = -4"), "g.toml:9: local_time_ms: got -4, expected values of at least 0"),
        (
            with("capacity_sectors = 99999999"),
            "g.toml:3: capacity_sectors: got 99999999, expected at most the 2097152 sectors",
        ),
        (with("capacity_sectors = 3"), "g.toml:3: size_sectors: got 3, expected sizes that fit the capacity"),
        (OPEN.replace("requests = 20000", ""), "g.toml:3: requests: got nothing, expected an end"),
        ("requests = 5".into(), "g.toml: generator: got nothing, expected at least one [[generator]] table"),
        ("requests = \n".into(), "g.toml:1: TOML: got"),
        ("generator = 5".into(), "g.toml:1: generator: got 5, expected [[generator]] tables"),
    ] {
        let message = complaint(&text);
        assert!(message.contains(expected), "{expected}\n{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_makes_the_parser_panic(text in "(\\PC{0,20}\n){0,6}") {
        let _ = GangerSpec::from_toml(&text, "noise.toml");
    }

    #[test]
    fn generators_keep_the_protocol_and_the_device(
        (critical, limited) in (0.0..0.6f64, 0.0..0.4f64),
        (sequential, local) in (0.0..0.6f64, 0.0..0.4f64),
        (processes, factor, mean) in (1u32..5, 1u32..17, 0.0..20.0f64),
        kind in proptest::sample::select(vec!["exponential", "poisson"]),
        (seed, blocking) in (0u64..50, proptest::sample::select(vec![0.0, 0.3])),
    ) {
        let text = format!(
            "requests = 400\n[[generator]]\nprocesses = {processes}\nblocking_factor = {factor}\nfirst_sector = 1000\n\
             capacity_sectors = 50000\nread_probability = 0.5\ntime_critical_probability = {critical}\n\
             time_limited_probability = {limited}\ntime_limit_ms = 5\nsequential_probability = {sequential}\n\
             local_probability = {local}\n\
             local_distance_sectors = {{ distribution = \"normal\", mean = 0, deviation = 2000 }}\n\
             size_sectors = {{ distribution = \"twovalue\", default = 8, second = 128, probability = 0.1 }}\n\
             general_time_ms = {{ distribution = \"{kind}\", mean = {mean} }}\n"
        );
        let device = TestDevice { seed, blocking, ..TestDevice::default() };
        let log = device.run(&mut on_own_cpus(&spec(&text), CAPACITY, seed).unwrap());
        prop_assert_eq!(log.requests.len(), 400);
        prop_assert_eq!(log.exits.len(), processes as usize);
        for s in &log.requests {
            let (start, sectors) = (s.arrival.lba.0, u64::from(s.arrival.sectors.0));
            prop_assert!(start >= 1000 && start + sectors <= 51000 && sectors > 0);
            prop_assert_eq!((start - 1000) % u64::from(factor), 0);
            if s.arrival.criticality == Criticality::TimeCritical {
                let issues_meanwhile = log.requests.iter().any(|o| {
                    o.arrival.process == s.arrival.process && o.at > s.at && o.at < s.done
                });
                prop_assert!(!issues_meanwhile, "a process computes while it waits");
            }
        }
        prop_assert_eq!(&log, &device.run(&mut on_own_cpus(&spec(&text), CAPACITY, seed).unwrap()));
    }
}
