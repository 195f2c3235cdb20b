//! A run in steps is the run; a change of scheduler is the kernel's.

use super::*;
use crate::{CpuOverheads, Machine, Progress, run};
use iopilot_block::{Lba, Op, ProcessId, Sectors};
use iopilot_catalogue::AnyDevice;
use iopilot_workload::replay::{Closed, Open, ReplayRecord};
use proptest::prelude::*;

fn records(n: u64, gap_us: u64) -> Vec<ReplayRecord> {
    (0..n)
        .map(|i| {
            let op = if i % 3 == 0 { Op::Write } else { Op::Read };
            let mut r =
                TraceRecord::new(Nanos::from_micros(i * gap_us), op, Lba(i * 7_919_113 % 1_000_000 * 8), Sectors(8));
            r.process = Some(ProcessId(1 + (i % 5) as u32));
            ReplayRecord::from(&r)
        })
        .collect()
}

fn disk() -> AnyDevice {
    Machine::for_disk("hd-500-16").unwrap().device()
}

fn spec(text: &str) -> SchedulerSpec {
    SchedulerSpec::parse(text).unwrap()
}

fn config() -> RunConfig {
    RunConfig { rotational: true, log: true, ..RunConfig::default() }
}

#[test]
fn stopping_changes_nothing() {
    for scheduler in ["cfq", "mq-deadline"] {
        let whole =
            run(Open::new(records(300, 3_000)), disk(), &spec(scheduler), &config(), &Progress::default()).unwrap();
        let mut session = Session::new(Open::new(records(300, 3_000)), disk(), &spec(scheduler), &config()).unwrap();
        let (mut until, mut log) = (Nanos::ZERO, Vec::new());
        while session.run_until(until).unwrap() {
            until += Nanos::from_micros(7_777);
            log.extend(session.take_log());
        }
        log.extend(session.take_log());
        assert_eq!(Some(log), whole.log);
        assert_eq!(session.finish().0.elapsed_s, whole.elapsed_s);
    }
}

#[test]
fn a_change_freezes_the_drained_queue_for_its_time() {
    let host = CpuOverheads { switch_us: 100_000.0, ..CpuOverheads::default() };
    let config = RunConfig { host, ..config() };
    let mut session = Session::new(Closed::new(records(400, 0), 8), disk(), &spec("mq-deadline"), &config).unwrap();
    let at = Nanos::from_millis(500);
    assert!(session.run_until(at).unwrap());
    let served = session.completed();
    session.switch(&spec("bfq"), at).unwrap();
    assert!(session.is_switching() && session.outstanding() > 0);
    // The eight inside are served; a completion lets another arrive, which sleeps.
    let mut now = at;
    while session.is_switching() {
        now += Nanos::from_millis(1);
        session.run_until(now).unwrap();
    }
    assert_eq!(session.completed() - served, 8);
    session.run_until(Nanos::from_secs(1_000)).unwrap();
    let mut ends: Vec<Nanos> = session.take_log().iter().filter_map(|r| r.completion).collect();
    ends.sort();
    let longest = ends.windows(2).map(|w| w[1] - w[0]).max().unwrap();
    assert!(longest >= Nanos::from_millis(100) && longest < Nanos::from_millis(140), "{longest}");
    assert_eq!((ends.len(), session.scheduler().name), (400, "bfq"));
}

#[test]
fn a_change_of_an_idle_queue_takes_its_time_only() {
    let mut session = Session::new(Open::new(records(2, 1_000_000)), disk(), &spec("none"), &config()).unwrap();
    session.run_until(Nanos::from_millis(500)).unwrap();
    session.switch(&spec("kyber"), Nanos::from_millis(500)).unwrap();
    session.run_until(Nanos::from_millis(521)).unwrap();
    assert!(session.is_switching());
    session.run_until(Nanos::from_millis(523)).unwrap();
    assert!(!session.is_switching());
}

#[test]
fn schedulers_of_another_kernel_are_refused() {
    let mut session = Session::new(Open::new(records(2, 10)), disk(), &spec("none"), &config()).unwrap();
    let e = session.switch(&spec("cfq"), Nanos::ZERO).unwrap_err().to_string();
    assert_eq!(e, "scheduler: got cfq, expected a scheduler of the kernel that has none");
}

#[test]
fn outcomes_are_indexed_by_place_in_the_trace() {
    let config = RunConfig { outcomes: true, ..config() };
    let report = run(Open::new(records(50, 20_000)), disk(), &spec("noop"), &config, &Progress::default()).unwrap();
    let outcomes = report.outcomes.unwrap();
    assert_eq!(outcomes.len(), 50);
    let mean = outcomes.iter().map(|o| o.response.as_millis_f64()).sum::<f64>() / 50.0;
    assert!((mean - report.response_ms.mean).abs() < 1e-3 * mean);
    let served: f64 = outcomes.iter().map(|o| o.service.as_millis_f64()).sum();
    assert!((served - report.service_ms.mean * report.dispatched as f64).abs() < 1e-3 * served);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Whenever schedulers are changed, among those of either kernel, every request is served once.
    #[test]
    fn changes_lose_nothing(
        old: bool,
        changes in prop::collection::vec((0u64..200, 0usize..4), 0..8),
        gap_us in 0u64..4_000,
        closed: bool,
        switch_us in prop::sample::select(vec![0.0, 22_000.0]),
    ) {
        let names = if old { ["noop", "deadline", "as", "cfq"] } else { ["none", "mq-deadline", "kyber", "bfq"] };
        let config = RunConfig { host: CpuOverheads { switch_us, ..CpuOverheads::default() }, ..config() };
        fn fly<S: Source>(
            source: S, names: [&str; 4], changes: &[(u64, usize)], config: &RunConfig,
        ) -> Result<Vec<TraceRecord>, SimError> {
            let mut session = Session::new(source, disk(), &spec(names[0]), config)?;
            let mut now = Nanos::ZERO;
            for &(wait, to) in changes {
                now += Nanos::from_millis(wait);
                session.run_until(now)?;
                session.switch(&spec(names[to]), now)?;
            }
            session.run_until(Nanos::MAX)?;
            Ok(session.take_log())
        }
        let log = if closed {
            fly(Closed::new(records(120, gap_us), 6), names, &changes, &config)
        } else {
            fly(Open::new(records(120, gap_us)), names, &changes, &config)
        };
        let mut served: Vec<u64> = log.map_err(|e| TestCaseError::fail(e.to_string()))?.iter().map(|r| r.lba.0).collect();
        let mut asked: Vec<u64> = records(120, gap_us).iter().map(|r| r.lba.0).collect();
        served.sort_unstable();
        asked.sort_unstable();
        prop_assert_eq!(served, asked);
    }
}
