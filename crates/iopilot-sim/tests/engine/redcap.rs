//! REDCAP between the workload and the block layer.

use super::*;
use iopilot_redcap::RedcapSpec;
use iopilot_sim::Session;

fn with_cache(source: impl Source, redcap: Option<&str>, config: RunConfig) -> RunReport {
    let device = Fixed::new(Nanos::from_millis(1), 4);
    let spec = SchedulerSpec::parse("mq-deadline").unwrap();
    let config = RunConfig { redcap: redcap.map(|text| RedcapSpec::parse(text).unwrap()), ..config };
    run(source, device, &spec, &config, &Progress::default()).unwrap()
}

/// Reads of 4 KiB, 10 ms apart, of one process.
fn reads(lbas: impl IntoIterator<Item = u64>) -> Open<Vec<ReplayRecord>> {
    Open::new((0..).zip(lbas).map(|(n, lba)| record(10 * n, 1, Op::Read, lba, 8)).collect())
}

#[test]
fn neighbours_are_copied_and_only_the_first_read_of_a_segment_reaches_the_disk() {
    // Backwards, as `tac` reads.
    let backwards = || reads((0..64).rev().map(|n| n * 8));
    let plain = with_cache(backwards(), None, RunConfig::default());
    let cached = with_cache(backwards(), Some("64x128k,algorithm=always"), RunConfig::default());
    let redcap = cached.redcap.as_ref().unwrap();
    assert_eq!((cached.requests, plain.requests), (64, 64), "the workload sees its own requests");
    assert_eq!((redcap.counters.misses, redcap.counters.hits, redcap.disk.prefetches), (2, 62, 2));
    assert_eq!(redcap.disk.requests, 4);
    assert!(cached.response_ms.p50 < 0.1 && plain.response_ms.p50 > 0.9, "{}", cached.response_ms.p50);
    assert_eq!(cached.scheduler, "mq-deadline + 64x128k,algorithm=always");
}

/// Reads one place after another, without thinking.
struct Chain(Vec<u64>, Option<Nanos>);

impl Source for Chain {
    fn next_event(&self) -> Option<Nanos> {
        self.1.filter(|_| !self.0.is_empty())
    }

    fn advance(&mut self, _: Nanos, out: &mut Vec<Step>) {
        out.extend(self.0.pop().map(|lba| {
            Step::Request(Arrival {
                op: Op::Read,
                lba: Lba(lba),
                sectors: Sectors(8),
                flags: Flags::empty(),
                process: ProcessId(1),
                priority: IoPriority::default(),
                criticality: Criticality::TimeCritical,
                cpu: 0,
                handle: SourceHandle(0),
            })
        }));
        self.1 = None;
    }

    fn completed(&mut self, _: SourceHandle, now: Nanos) {
        self.1 = Some(now);
    }

    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}
}

#[test]
fn a_task_does_not_sleep_for_what_is_copied_at_once() {
    // A miss, and 30 hits of 4 KiB behind it.
    let reads = || Chain((0..31).rev().map(|n| n * 8).collect(), Some(Nanos::ZERO));
    let host = CpuOverheads { resume_us: Some(1_000.0), issue_us: Some(0.0), ..CpuOverheads::default() };
    let config = RunConfig { host, ..RunConfig::default() };
    let report = with_cache(reads(), Some("64x128k,algorithm=always,copy_us_per_kib=1"), config);
    assert_eq!(report.redcap.unwrap().counters.misses, 1);
    // 1 ms for the miss, 1 ms for the prefetch, 1 ms each until the task continues, and the copies.
    assert!(report.elapsed_s < 0.0045, "{}", report.elapsed_s);
}

#[test]
fn a_cache_that_is_never_active_changes_nothing() {
    let mixed = || {
        let any = |n: u64| {
            let op = if n % 3 == 0 { Op::Write } else { Op::Read };
            record(n / 4, (n % 5) as u32, op, (n * 7919) % 4000 * 8, 16)
        };
        Open::new((0..400).map(any).collect::<Vec<_>>())
    };
    let (plain, never) = (
        with_cache(mixed(), None, RunConfig::default()),
        with_cache(mixed(), Some("64x128k,algorithm=never"), RunConfig::default()),
    );
    assert_eq!(never.redcap.as_ref().unwrap().disk.requests, 400);
    let figures = |run: &RunReport| (run.requests, run.elapsed_s, run.response_ms.mean, run.merged, run.waiting_s);
    assert_eq!(figures(&never), figures(&plain));
}

#[test]
fn every_request_completes_under_each_algorithm_and_few_tags() {
    for algorithm in ["always", "v0", "v1", "v2", "vd", "vd-all-blocks"] {
        for miss in ["split", "combined"] {
            let records: Vec<_> = (0..3000)
                .map(|n: u64| {
                    let op = if n % 11 == 0 { Op::Write } else { Op::Read };
                    record(n / 8, (n % 7) as u32, op, (n * n * 31 + n) % 2000 * 4, 1 + (n % 40) as u32)
                })
                .collect();
            let block = BlockConfig { nr_requests: Some(4), ..BlockConfig::default() };
            let config = RunConfig { block, outcomes: true, ..RunConfig::default() };
            let text = format!("4x32k,algorithm={algorithm},miss={miss}");
            let report = with_cache(Open::new(records), Some(&text), config);
            assert_eq!(report.requests, 3000);
            let outcomes = report.outcomes.unwrap();
            assert!(outcomes.len() == 3000 && outcomes.iter().all(|outcome| outcome.completion > Nanos::ZERO));
            let redcap = report.redcap.unwrap();
            assert!(
                miss == "combined" || redcap.counters.dropped_blocks > 0,
                "{algorithm}: nobody sleeps for a prefetch"
            );
        }
    }
}

#[test]
fn an_algorithm_that_measures_turns_itself_off_where_nothing_is_used() {
    let scattered = || reads((0..2000).map(|n| (n * 7919) % 100_000 * 8));
    let report = with_cache(scattered(), Some("64x128k,algorithm=v2"), RunConfig::default());
    let redcap = report.redcap.unwrap();
    // Two bad checks: after 100 reads, and 50 more.
    assert_eq!(redcap.checks[0].reads, 100);
    assert_eq!((redcap.checks[1].reads, redcap.checks[1].active), (150, [true, false]));
    assert_eq!(redcap.state.iter().map(|change| change.active).collect::<Vec<_>>(), [true, false]);
    assert!(redcap.counters.inactive_reads > 1800);
}

#[test]
fn a_reference_disk_follows_the_scheduler_and_ends_with_the_run() {
    let config = RunConfig { redcap: Some(RedcapSpec::parse("64x128k,algorithm=vd").unwrap()), ..RunConfig::default() };
    let source = reads((0..3000).map(|n| (n * 7919) % 100_000 * 8));
    let device = iopilot_device::ConstantDevice::simple(1 << 24, 1, Nanos::from_millis(1), 0.1);
    let of = |name| SchedulerSpec::parse(name).unwrap();
    let mut session = Session::new(source, device, &of("bfq"), &config).unwrap();
    session.run_until(Nanos::from_secs(5)).unwrap();
    session.switch(&of("mq-deadline"), Nanos::from_secs(5)).unwrap();
    assert!(!session.run_until(Nanos::MAX).unwrap());
    let (report, _) = session.finish();
    let redcap = report.redcap.unwrap();
    assert_eq!(report.requests, 3000);
    assert!(redcap.checks.len() >= 2 && redcap.checks.iter().all(|check| !check.active[1]), "{:?}", redcap.checks);
}

#[test]
fn tables_of_another_disk_are_refused() {
    use iopilot_catalogue::{TableForm, TimeTables};
    let device = Fixed::new(Nanos::from_millis(1), 4);
    let tables = TimeTables::new(TableForm::Two, 4711, 1);
    let redcap = RedcapSpec::parse("algorithm=vd").unwrap();
    let config = RunConfig { redcap: Some(redcap), tables: Some(tables.into()), ..RunConfig::default() };
    let spec = SchedulerSpec::parse("none").unwrap();
    let error = run(reads([0]), device, &spec, &config, &Progress::default()).unwrap_err().to_string();
    assert!(error.contains("sectors of the tables: got 4711"), "{error}");
}

/// Processes that each read a file block by block, without thinking.
struct Readers {
    /// The next block of each process, and when it reads it.
    next: Vec<(u64, Option<Nanos>)>,
    blocks: u64,
}

impl Source for Readers {
    fn next_event(&self) -> Option<Nanos> {
        self.next.iter().filter(|(block, _)| *block < self.blocks).filter_map(|(_, at)| *at).min()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        for (process, (block, at)) in (0..).zip(&mut self.next) {
            if *block < self.blocks && at.is_some_and(|at| at <= now) {
                out.push(Step::Request(Arrival {
                    handle: SourceHandle(u64::from(process)),
                    op: Op::Read,
                    lba: Lba((u64::from(process) << 20) + 8 * *block),
                    sectors: Sectors(8),
                    flags: Flags::empty(),
                    process: ProcessId(process),
                    priority: IoPriority::default(),
                    criticality: Criticality::TimeCritical,
                    cpu: 0,
                }));
                (*block, *at) = (*block + 1, None);
            }
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        self.next[handle.0 as usize].1 = Some(now);
    }

    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}
}

#[test]
fn a_prefetch_waits_where_more_processes_read_than_the_queue_takes() {
    for miss in ["split", "combined"] {
        // Two segments for each of eight processes, above a queue of four.
        let source = Readers { next: vec![(0, Some(Nanos::ZERO)); 8], blocks: 64 };
        let device = Fixed::new(Nanos::from_millis(1), 4);
        let block = BlockConfig { queue_depth: Some(4), host_tags: Some(4), ..BlockConfig::default() };
        let redcap = RedcapSpec::parse(&format!("64x128k,algorithm=always,miss={miss}")).unwrap();
        let config = RunConfig { redcap: Some(redcap), block, ..RunConfig::default() };
        let spec = SchedulerSpec::parse("none").unwrap();
        let report = run(source, device, &spec, &config, &Progress::default()).unwrap();
        let redcap = report.redcap.unwrap();
        assert_eq!((report.requests, redcap.counters.given_up), (512, 0));
        // A miss and a prefetch for each of the 16 segments, or both in one.
        let most = if miss == "split" { 32 } else { 16 };
        assert!(redcap.disk.requests <= most, "{miss}: {} requests", redcap.disk.requests);
        assert_eq!(redcap.counters.put_off > 0, miss == "split");
    }
}

/// Twelve reads that no process waits for at first. After a millisecond one waits for the last but one.
struct Ahead(Vec<(Nanos, Option<u64>)>);

impl Source for Ahead {
    fn next_event(&self) -> Option<Nanos> {
        self.0.last().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while self.0.last().is_some_and(|(at, _)| *at <= now) {
            let (_, number) = self.0.pop().unwrap();
            out.push(number.map_or(Step::Waits(SourceHandle(10)), |number| {
                Step::Request(Arrival {
                    handle: SourceHandle(number),
                    op: Op::Read,
                    lba: Lba(number * 10_000),
                    sectors: Sectors(8),
                    flags: Flags::empty(),
                    process: ProcessId(1),
                    priority: IoPriority::default(),
                    criticality: Criticality::TimeNonCritical,
                    cpu: 0,
                })
            }));
        }
    }

    fn completed(&mut self, _: SourceHandle, _: Nanos) {}

    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}
}

#[test]
fn that_a_process_waits_passes_through_a_cache() {
    for redcap in [None, Some("64x128k,algorithm=never"), Some("64x128k,algorithm=always")] {
        let mut steps = vec![(Nanos::from_micros(1500), None)];
        steps.extend((0..12).rev().map(|number| (Nanos::ZERO, Some(number))));
        let redcap = redcap.map(|text| RedcapSpec::parse(text).unwrap());
        let config = RunConfig { redcap: redcap.clone(), outcomes: true, ..RunConfig::default() };
        let spec = SchedulerSpec::parse("prio(mq-deadline)").unwrap();
        let device = Fixed::new(Nanos::from_millis(1), 1);
        let outcomes = run(Ahead(steps), device, &spec, &config, &Progress::default()).unwrap().outcomes.unwrap();
        let earlier = outcomes.iter().filter(|other| other.completion < outcomes[10].completion).count();
        assert!(earlier <= 3, "{redcap:?}: {earlier} come before the one that a process waits for");
        assert_eq!(outcomes[10].criticality, Criticality::TimeCritical, "{redcap:?}");
        assert_eq!(outcomes[9].criticality, Criticality::TimeNonCritical, "{redcap:?}");
    }
}
