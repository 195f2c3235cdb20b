//! What `adaptive` decides, on windows made by hand.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use iopilot_block::{Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_catalogue::AnyDevice;
use iopilot_dads::{RedcapCheck, RedcapPilot};
use iopilot_redcap::RedcapSpec;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, RunOptions};
use iopilot_trace::TraceRecord;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Reads in a window.
const READS: u64 = 64;

/// A pilot, and the number of its windows so far.
struct Flown {
    pilot: RedcapPilot<AnyDevice>,
    windows: u64,
}

impl Flown {
    fn new(redcap: &str) -> Self {
        let machine = Machine::for_disk("wd1200bb").unwrap();
        let (spec, scheduler) = (RedcapSpec::parse(redcap).unwrap(), SchedulerSpec::parse("mq-deadline").unwrap());
        let config = machine.run_config(&RunOptions::default());
        let pilot = RedcapPilot::new(&spec, machine.device(), &scheduler, &config, machine.capacity());
        Self { pilot, windows: 0 }
    }

    /// A window in which one process reads 4 KiB at these sectors, one after the other.
    fn window(&mut self, sectors: impl IntoIterator<Item = u64>) -> RedcapCheck {
        let start = Nanos::from_secs(self.windows);
        self.windows += 1;
        let read = |(n, sector): (u64, u64)| {
            let arrival = start + Nanos::from_millis(10 * n);
            TraceRecord {
                process: Some(ProcessId(1)),
                issue: Some(arrival),
                completion: Some(arrival + Nanos::from_millis(9)),
                ..TraceRecord::new(arrival, Op::Read, Lba(sector), Sectors(8))
            }
        };
        let records: Vec<TraceRecord> = (0..).zip(sectors).map(read).collect();
        self.pilot.check(&records, 0).unwrap().unwrap()
    }

    /// Runs this many windows of `load`. Returns those in which the cache was turned on or off.
    fn changes(&mut self, windows: u64, mut load: impl FnMut() -> Vec<u64>) -> Vec<u64> {
        let mut changes = Vec::new();
        for n in 0..windows {
            let before = self.pilot.setting().active;
            if self.window(load()).setting.active != before {
                changes.push(n);
            }
        }
        changes
    }
}

/// Reads at random.
fn at_random(random: &mut Pcg64Mcg) -> Vec<u64> {
    (0..READS).map(|_| random.random_range(0..25_000_000) * 8).collect()
}

/// A file that is read backwards, from where the last read ended.
fn backwards(from: &mut u64) -> Vec<u64> {
    *from -= 8 * READS;
    (1..=READS).rev().map(|n| *from + 8 * n).collect()
}

/// Reads at random. After half of them, the two or three blocks before are read, the last first. Without a cache, each
/// costs a turn of the disk. That is as much as prefetches of 32 KiB cost.
fn neither_nor(random: &mut Pcg64Mcg) -> Vec<u64> {
    let mut sectors = Vec::new();
    while sectors.len() < READS as usize {
        let sector = random.random_range(8..25_000_000) * 8;
        let further = if random.random_bool(0.5) { random.random_range(2..=3) } else { 0 };
        sectors.extend((0..=further).map(|n| sector - 8 * n));
    }
    sectors
}

/// At random places, every sixteenth block of 256 KiB, in any order. A segment of 32 KiB has one of them, and one of
/// 256 KiB all four.
fn sparse(random: &mut Pcg64Mcg) -> Vec<u64> {
    let mut sectors = Vec::new();
    while sectors.len() < READS as usize {
        let start = random.random_range(0..400_000) * 512;
        let first = random.random_range(0..4);
        sectors.extend((0..4).map(|n| start + (first + 3 * n) % 4 * 128));
    }
    sectors
}

#[test]
fn a_clear_gain_turns_it_on_within_two_windows_and_a_clear_loss_off() {
    let (mut flown, mut random, mut from) =
        (Flown::new("64x128k,resize=off,regions=1"), Pcg64Mcg::seed_from_u64(1), 150_000_000);
    assert!(flown.changes(10, || at_random(&mut random)).is_empty(), "it is off, and is of no use");
    for round in 0..3 {
        for load in ["gains", "loses"] {
            let changes = flown.changes(20, || match load {
                "gains" => backwards(&mut from),
                _ => at_random(&mut random),
            });
            assert!(changes.len() == 1 && changes[0] <= 1, "round {round} {load}: {changes:?}");
        }
    }
}

#[test]
fn where_it_hardly_matters_it_is_left_alone() {
    for seed in 0..3 {
        let (mut flown, mut random) = (Flown::new("256x32k,resize=off,regions=1"), Pcg64Mcg::seed_from_u64(seed));
        let mut gains = Vec::new();
        let changes = flown.changes(100, || neither_nor(&mut random));
        assert!(changes.is_empty(), "seed {seed}: {changes:?}");
        for _ in 0..20 {
            let check = flown.window(neither_nor(&mut random));
            gains.push(1.0 - check.with_s / check.without_s);
        }
        let mean = gains.iter().sum::<f64>() / gains.len() as f64;
        assert!(mean.abs() < 0.03, "seed {seed}: it would save {mean} of the time");
        assert!(gains.iter().any(|gain| *gain > 0.02) && gains.iter().any(|gain| *gain < -0.02), "{gains:?}");
    }
}

#[test]
fn what_a_large_cache_comes_to_hold_counts() {
    // Blocks of 48 MiB at random, none of which is read twice within a window.
    let (mut flown, mut random) = (Flown::new("512x128k,resize=off,regions=1"), Pcg64Mcg::seed_from_u64(1));
    let changes = flown.changes(80, || (0..READS).map(|_| random.random_range(0..12_288) * 8).collect());
    assert!(changes.len() == 1, "{changes:?}");
    let check = flown.window((0..READS).map(|_| random.random_range(0..12_288) * 8));
    assert!(check.with_s < 0.5 * check.without_s, "{check:?}");
}

#[test]
fn a_change_of_size_may_turn_it_on() {
    let (mut flown, mut random) = (Flown::new("256x32k"), Pcg64Mcg::seed_from_u64(1));
    let mut windows = 0;
    let check = loop {
        let check = flown.window(sparse(&mut random));
        windows += 1;
        if check.changes || windows > 200 {
            break check;
        }
        assert!(!check.setting.active && check.setting.geometry.to_string() == "256x32k", "{check:?}");
    };
    // The trial of other segments decided this, not that of the present cache: it was off, and both change.
    assert!(check.setting.active && check.changes, "{check:?}");
    assert_eq!(check.setting.geometry.to_string(), "32x256k");
    assert!(check.everywhere_s > check.without_s, "with short segments it is of no use: {check:?}");
    // Twice the windows of eight seconds, as each window lasts one second.
    assert!((16..=20).contains(&windows), "after {windows} windows");
    assert_eq!(flown.changes(50, || sparse(&mut random)), [0; 0], "it stays on");
}
