//! Write-back: merging in the plug, and throttling.

use super::*;

fn us(us: u64) -> Nanos {
    Nanos::from_micros(us)
}

/// Bios of 64 KiB in sequence, `gap` apart, of one task.
fn bios(count: u64, gap: Nanos) -> Vec<ReplayRecord> {
    let bio = |n| ReplayRecord { arrival: Nanos(n * gap.0), ..record(0, 1, Op::Write, n * 128, 128) };
    (0..count).map(bio).collect()
}

fn dispatched(records: Vec<ReplayRecord>, scheduler: &str, block: BlockConfig) -> u64 {
    let requests = records.len() as u64;
    let device = Fixed::new(Nanos::from_millis(1), 32);
    let spec = SchedulerSpec::parse(scheduler).unwrap();
    let config = RunConfig { block, ..RunConfig::default() };
    let report = run(Open::new(records), device, &spec, &config, &Progress::default()).unwrap();
    assert_eq!(report.requests, requests);
    report.dispatched
}

#[test]
fn bios_of_write_back_that_follow_one_another_are_merged_in_the_plug() {
    // 1280 KiB are 20 bios.
    for scheduler in ["none", "mq-deadline", "bfq"] {
        assert_eq!(dispatched(bios(200, us(20)), scheduler, BlockConfig::default()), 10, "{scheduler}");
    }
    let unplugged = BlockConfig { plug: Some(false), wbt_lat_usec: Some(0), ..BlockConfig::default() };
    assert_eq!(dispatched(bios(30, us(20)), "none", unplugged), 30);
    assert_eq!(dispatched(bios(50, us(1500)), "none", BlockConfig::default()), 50, "the task sleeps between two bios");
}

#[test]
fn bios_that_were_unplugged_before_the_next_came_are_not_merged() {
    let mut records = bios(40, us(20));
    for record in &mut records[..20] {
        record.plugged_ns = 2_000;
    }
    assert_eq!(dispatched(records, "bfq", BlockConfig::default()), 21);
}

#[test]
fn blocks_of_a_journal_are_merged_in_the_plug_although_a_process_waits_for_the_last() {
    let block = |n: u64| ReplayRecord {
        arrival: us(3 * n),
        flags: Flags::SYNC | Flags::META,
        criticality: Criticality::TimeCritical,
        ..record(0, 1, Op::Write, n * 8, 8)
    };
    assert_eq!(dispatched((0..3).map(block).collect(), "mq-deadline", BlockConfig::default()), 1);
    // Another task's request in between flushes the plug.
    let mut records: Vec<_> = (0..3).map(block).collect();
    records.insert(1, ReplayRecord { arrival: us(1), ..record(0, 2, Op::Read, 5000, 8) });
    assert_eq!(dispatched(records, "none", BlockConfig::default()), 3);
}

#[test]
fn a_long_request_at_the_end_of_the_plug_still_grows() {
    // Three bios of 256 KiB. Each is longer than the limit at which another request flushes the plug.
    let records: Vec<_> = (0..3).map(|n| record(0, 1, Op::Write, n * 512, 512)).collect();
    assert_eq!(dispatched(records, "none", BlockConfig::default()), 1);
}

#[test]
fn write_back_leaves_room_for_others() {
    // Random writes of one task, all at once. The device never has more than `wbt` admits.
    let writes = || (0..100).map(|n| record(500, n, Op::Write, u64::from(n) * 1000, 8)).collect::<Vec<_>>();
    let most = |wbt_lat_usec| {
        let device = Fixed::new(Nanos::from_millis(1), 32);
        let block = BlockConfig { wbt_lat_usec, ..BlockConfig::default() };
        let config = RunConfig { block, ..RunConfig::default() };
        let spec = SchedulerSpec::parse("none").unwrap();
        let report = run(Open::new(writes()), device, &spec, &config, &Progress::default()).unwrap();
        // Of 1 ms each.
        report.service_ms.max
    };
    assert!((31.0..33.0).contains(&most(Some(0))), "{}", most(Some(0)));
    assert!((15.0..17.0).contains(&most(None)), "{}", most(None));
}
