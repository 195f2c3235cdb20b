use super::*;
use crate::tests::fifo_disk::FifoDisk;
use iopilot_block::{Criticality, Flags, IoPriority, ProcessId};

const US: u64 = 1_000;

fn comparison(spec: &str) -> ReferenceComparison<FifoDisk> {
    ReferenceComparison::new(&RedcapSpec::parse(spec).unwrap(), FifoDisk::new(Nanos(100 * US), Nanos(10 * US)))
}

fn read(lba: u64, sectors: u32) -> Arrival {
    Arrival {
        handle: SourceHandle(0),
        op: Op::Read,
        lba: Lba(lba),
        sectors: Sectors(sectors),
        flags: Flags::empty(),
        process: ProcessId(1),
        priority: IoPriority::default(),
        criticality: Criticality::default(),
        cpu: 0,
    }
}

fn hit(blocks: u64, us: u64) -> Sums {
    Sums { hit_blocks: blocks, hit_time: Nanos(us * US), ..Sums::default() }
}

fn miss(blocks: u64, prefetched: u64) -> Sums {
    Sums { miss_blocks: blocks, prefetch_blocks: prefetched, ..Sums::default() }
}

/// `n` reads of `sums` while active, one at a time on the reference disk. Returns the verdicts with the number of the read.
fn active(c: &mut ReferenceComparison<FifoDisk>, n: u32, sums: Sums, model_us: u64) -> Vec<(u32, ActivationVerdict)> {
    let blocks = sums.hit_blocks + sums.miss_blocks;
    let mut verdicts = Vec::new();
    for i in 1..=n {
        let now = Nanos(c.disk.now.0 + 10_000 * US);
        c.advance(now);
        verdicts.extend(c.overdue(true).map(|verdict| (i, verdict)));
        let batch = c.admit();
        c.mirror(&read(0, blocks as u32 * 8), batch, blocks, now);
        c.finished(batch, &sums, Nanos(model_us * US), true);
        c.advance(Nanos(now.0 + 5_000 * US));
        verdicts.extend(c.check(true).map(|verdict| (i, verdict)));
    }
    verdicts
}

fn costs((read, verdict): (u32, ActivationVerdict)) -> (u32, u64, u64, bool) {
    (read, verdict.with_cache.0 / US, verdict.without_cache.0 / US, verdict.good)
}

#[test]
fn a_request_takes_its_wait_and_the_models_time() {
    let mut c = comparison("algorithm=vd");
    let (inserted, dispatched, completed) = (Nanos(5 * US), Nanos(12 * US), Nanos(9_000 * US));
    let served = PartTimes { inserted, dispatched, completed, merged: Sectors(0) };
    // 3.1: 7 us of waiting, and 100 + 2 * 10 us of the model; the measured time does not count.
    assert_eq!(c.real_time((Lba(0), Sectors(16)), &served, true), Nanos(127 * US));
    assert_eq!(c.real_time((Lba(0), Sectors(16)), &served, false), Nanos(120 * US));
}

#[test]
fn an_active_cache_is_compared_with_the_originals_every_1000_reads() {
    let mut c = comparison("algorithm=vd");
    // The reference disk takes 120 us for two blocks: 60 us each. Copies take 2 us.
    let verdicts = active(&mut c, 2_500, hit(2, 4), 0);
    assert_eq!(verdicts.iter().map(|&v| costs(v)).collect::<Vec<_>>(), [(1_000, 2, 60, true), (2_000, 2, 60, true)]);
    // 3.2 is strict: equal is not enough.
    assert!(!active(&mut comparison("algorithm=vd"), 1_000, hit(2, 120), 0)[0].1.active);
    let waited = Sums { wait_time: Nanos(US), ..hit(2, 118) };
    assert!(active(&mut comparison("algorithm=vd"), 1_000, waited, 0)[0].1.active);
}

#[test]
fn if_all_blocks_count_prefetched_blocks_make_up_for_their_time() {
    // 7.2: a random read of a block that takes 410 us with its prefetch, and 110 us without.
    let verdict = |spec| costs(active(&mut comparison(spec), 1_000, miss(1, 31), 410)[0]);
    assert_eq!(verdict("algorithm=vd"), (1_000, 410, 110, false));
    assert_eq!(verdict("algorithm=vd-all-blocks"), (1_000, 12, 110, true));
}

#[test]
fn sums_weigh_by_blocks_and_ratios_by_reads() {
    // A hit of 32 blocks at 400 us against 420 by the disk; a miss of one block at 114 us against 110.
    let mixed = |spec: &str| {
        let mut c = comparison(spec);
        active(&mut c, 500, hit(32, 400), 0);
        active(&mut c, 500, miss(1, 0), 114)[0].1
    };
    // 3.2: (400 + 114) / 33 against (420 + 110) / 33.
    assert!(mixed("algorithm=vd").good);
    // 3.3: 12.5 + 114 against 13.125 + 110.
    let each = mixed("algorithm=vd,ratio=each");
    assert_eq!((each.good, each.with_cache.0, each.without_cache.0), (false, 126_500 / 2, 123_125 / 2));
}

#[test]
fn an_inactive_cache_would_have_asked_the_reference_disk() {
    let mut c = comparison("algorithm=vd,copy_us_per_kib=0.5");
    // In the active period, a copied block took 3 us.
    active(&mut c, 10, hit(2, 6), 0);
    c.switched(false);
    let mut verdict = None;
    for i in 0..1_000 {
        let now = Nanos(c.disk.now.0 + 10_000 * US);
        let batch = c.admit();
        let id = c.reference_begin(batch).unwrap();
        // Every other read is a hit of 4 blocks, the others miss with 1 and read 8.
        let sums = if i % 2 == 0 { hit(4, 0) } else { miss(1, 7) };
        if i % 2 == 0 {
            c.reference_hit(id, &read(0, 32), 4, now);
        } else {
            c.reference_disk(id, &read(0, 8), (Lba(0), Sectors(64)), now);
        }
        c.reference_end(id, &sums);
        c.advance(Nanos(now.0 + 5_000 * US));
        c.finished(batch, &sums, Nanos(100 * US), false);
        verdict = verdict.or(c.check(false));
    }
    // 3.4: (4 * 3 + 180) us for 5 blocks; 3.1: 200 us for 5.
    assert_eq!(costs((0, verdict.unwrap())), (0, 38, 40, true));
}

#[test]
fn the_slower_disk_may_be_an_interval_behind() {
    let mut c = comparison("algorithm=vd");
    let mut verdicts = Vec::new();
    // Requests come faster than the reference disk serves them: it takes 110 us for each.
    for i in 1..=2_001u64 {
        let now = Nanos(i * 50 * US);
        c.advance(now);
        verdicts.extend(c.check(true).map(|verdict| (i, verdict)));
        verdicts.extend(c.overdue(true).map(|verdict| (i, verdict)));
        let batch = c.admit();
        c.mirror(&read(0, 8), batch, 1, now);
        c.finished(batch, &hit(1, 1), Nanos::ZERO, true);
    }
    // Read 2001 finds both intervals full: some 900 were served by then, with ever longer waits.
    let [(2_001, ActivationVerdict { with_cache: Nanos(1_000), without_cache, good: true, .. })] = verdicts[..] else {
        panic!("{verdicts:?}")
    };
    assert!((20_000 * US..40_000 * US).contains(&without_cache.0), "{without_cache}");
}

#[test]
fn nothing_is_compared_during_a_congestion() {
    let mut c = comparison("algorithm=vd");
    active(&mut c, 900, hit(1, 1), 0);
    let submitted = c.disk.requests.len();
    c.disk.congested = true;
    assert_eq!(active(&mut c, 500, hit(1, 1), 0), []);
    assert_eq!(c.disk.requests.len(), submitted);
    c.disk.congested = false;
    assert_eq!(active(&mut c, 1_500, hit(1, 1), 0).len(), 1, "from zero");
}

#[test]
fn a_change_of_state_resets_the_comparison() {
    let mut c = comparison("algorithm=vd");
    active(&mut c, 999, hit(1, 1), 0);
    let now = c.disk.now;
    let batch = c.admit();
    c.mirror(&read(0, 8), batch, 1, now);
    c.switched(false);
    c.finished(batch, &hit(1, 1), Nanos::ZERO, true);
    assert_eq!((c.check(false), c.next_event()), (None, None));
    c.switched(true);
    assert_eq!(active(&mut c, 1_000, hit(1, 1), 0).len(), 1);
}
