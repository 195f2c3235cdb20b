//! Turning the cache on and off (GF 2.3.3).

use super::bench::{Bench, Step::*};
use super::fifo_disk::FifoDisk;
use crate::Role::*;
use crate::{CacheGeometry, CacheState};
use iopilot_block::{Nanos, Op};

fn bench() -> Bench {
    Bench::new("4x32k")
}

#[test]
fn an_inactive_cache_sends_requests_unmodified() {
    let mut b = bench();
    b.read_whole(0, 8);
    assert_eq!(b.set_active(false), []);
    assert_eq!((b.cache.state(), b.cache.segments()), (CacheState::Inactive, 0));
    assert_eq!(b.read(1, 8, 72), [Send(1, Whole, 8, 72)]);
    assert_eq!(b.served(8, Whole), [Done(1)]);
    assert_eq!(b.write(2, 8, 8), [Send(2, Whole, 8, 8)]);
    b.settle();
    b.set_active(true);
    let counters = b.cache.counters();
    assert_eq!((counters.reads, counters.inactive_reads, counters.writes), (2, 1, 1));
    assert_eq!((counters.activations, counters.deactivations), (1, 1));
    assert!(b.read_whole(16, 8), "data of before are not served");
}

#[test]
fn a_change_waits_for_requests_in_flight_but_new_requests_do_not() {
    let mut b = bench();
    b.read(1, 0, 8);
    b.set_active(false);
    assert_eq!(b.cache.state(), CacheState::PendingInactive);
    assert_eq!(b.read(2, 64, 8), [Send(2, Whole, 64, 8)]);
    b.served(0, Missed);
    assert_eq!(b.cache.state(), CacheState::PendingInactive, "the prefetch is in flight");
    b.served(8, Prefetch);
    assert_eq!(b.cache.state(), CacheState::Inactive, "the second request was handled as inactive");
    assert_eq!(b.cache.segments(), 0, "the blocks of the prefetch are dropped");
    b.set_active(true);
    assert_eq!(b.cache.state(), CacheState::PendingActive);
    assert_eq!(b.read(3, 128, 8).len(), 2);
    b.served(64, Whole);
    assert_eq!(b.cache.state(), CacheState::Active);
}

#[test]
fn a_pending_change_is_undone_at_once() {
    let mut b = bench();
    b.read(1, 0, 8);
    b.set_active(false);
    b.read(2, 64, 8);
    b.set_active(true);
    assert_eq!(b.cache.state(), CacheState::Active);
    b.settle();
    assert_eq!(b.cache.state(), CacheState::Active);
    assert!(b.read_whole(8, 8), "blocks that were in flight are dropped");
}

#[test]
fn waiters_read_their_blocks_when_the_cache_is_turned_off() {
    let mut b = bench();
    b.read(1, 0, 8);
    assert_eq!(b.read(2, 8, 8), []);
    b.read_whole(64, 8);
    b.read(3, 72, 8);
    assert_eq!(b.set_active(false), []);
    b.settle();
    assert_eq!(b.cache.state(), CacheState::Inactive);
}

/// A random read in a segment of its own: all misses.
fn miss(b: &mut Bench, i: u64) {
    b.read(i, i % 15 * 64, 8);
}

#[test]
fn v1_turns_off_a_cache_without_hits_after_150_reads() {
    let mut b = Bench::new("4x32k,algorithm=v1");
    for i in 0..200 {
        miss(&mut b, i);
        b.settle();
    }
    let checks: Vec<_> = b.cache.checks().iter().map(|check| (check.reads, check.good, check.after)).collect();
    // D20: two bad checks, the second after 50 more reads.
    assert_eq!(checks, [(100, false, CacheState::Active), (150, false, CacheState::Inactive)]);
    // 100 reads, each with 1000 ns of prefetch; no hits.
    let first = b.cache.checks()[0];
    assert_eq!((first.with_cache.0, first.without_cache.0), (100_000, 0));
    assert_eq!(b.cache.counters().inactive_reads, 50);
}

#[test]
fn an_inactive_cache_turns_on_when_it_would_save_time() {
    for algorithm in ["v0", "v1", "v2"] {
        let mut b = Bench::new(&format!("4x32k,algorithm={algorithm}"));
        b.set_active(false);
        // A sequential read: seven of the eight blocks of a segment would be hits.
        for i in 0..100 {
            b.read_whole(i % 120 * 8, 8);
        }
        let check = b.cache.checks()[0];
        // 87 would-be hits of 1000 ns; copies of 0.4 us; 13 segments with 91 blocks at the cost of a miss.
        assert_eq!(check.without_cache.0, 87_000);
        assert_eq!(check.with_cache.0, 87 * 400 + 91_000);
        assert!(!check.good, "a prefetch that costs as much as it saves");
        // By the times of an active period, it costs little.
        b.set_active(true);
        for i in 0..99 {
            b.read_whole(i % 120 * 8, 8);
        }
        b.set_active(false);
        for i in 0..100 {
            b.read_whole(i % 120 * 8, 8);
        }
        assert_eq!(b.cache.state(), CacheState::Active);
        assert_eq!(b.cache.counters().activations, 2);
    }
}

/// A cache that was turned off while a write is in flight, and that then had 100 reads that would have been hits.
fn pending(algorithm: &str) -> Bench {
    let mut b = Bench::new(&format!("4x32k,algorithm={algorithm}"));
    // Active, it measures that copies cost next to nothing.
    b.read_whole(0, 8);
    for _ in 0..90 {
        b.read_whole(8, 56);
    }
    b.write(1_000, 968, 8);
    b.set_active(false);
    for i in 0..100 {
        b.read(i, 8, 8);
        b.now += 1_000;
        b.served_from(b.now - 1_000, 8, Whole);
    }
    b
}

#[test]
fn v1_is_blind_while_pending_and_v2_is_not() {
    let b = pending("v1");
    assert_eq!((b.cache.state(), b.cache.checks().len()), (CacheState::PendingInactive, 0));
    let mut b = pending("v2");
    let check = b.cache.checks()[0];
    assert_eq!((check.before, check.after, check.good), (CacheState::PendingInactive, CacheState::Active, true));
    assert_eq!(b.read(1, 0, 8).len(), 2, "a miss: the data are gone");
    b.settle();
    assert_eq!(b.cache.state(), CacheState::Active);
}

#[test]
fn v2_turns_off_again_after_two_bad_checks_while_pending() {
    let mut b = Bench::new("4x32k,algorithm=v2");
    b.set_active(false);
    b.write(1_000, 964, 8);
    b.set_active(true);
    for i in 0..150 {
        let lba = i % 15 * 64;
        b.read(i, lba, 8);
        for (role, lba) in [(Missed, lba), (Prefetch, lba + 8)] {
            b.now += 1_000;
            b.served_from(b.now - 1_000, lba, role);
        }
    }
    let states: Vec<_> = b.cache.checks().iter().map(|check| (check.before, check.after)).collect();
    use CacheState::*;
    assert_eq!(states, [(PendingActive, PendingActive), (PendingActive, Inactive)]);
}

#[test]
fn writes_invalidate_the_simulated_directory() {
    // Copies are dear: it stays inactive.
    let mut b = Bench::new("4x32k,algorithm=v1,copy_us_per_kib=1");
    b.set_active(false);
    b.read_whole(0, 8);
    for i in 0..99 {
        b.write(i, 8, 8);
        b.settle();
        b.read_whole(if i % 3 == 0 { 16 } else { 8 }, 8);
    }
    assert_eq!(b.cache.checks()[0].without_cache.0, 33_000, "only what was not written");
}

/// The blocks of `read`, and of whole segments after it, that would have been hits while inactive. Each takes 1000 ns.
fn would_hit(settings: &str, read: impl Fn(&mut Bench)) -> u64 {
    let mut b = Bench::new(&format!("2x32k,algorithm=v1,copy_us_per_kib=1000{settings}"));
    b.set_active(false);
    read(&mut b);
    while b.cache.checks().is_empty() {
        b.read_whole(512, 64);
    }
    b.cache.checks()[0].without_cache.0 / 1_000
}

#[test]
fn the_simulated_directory_is_in_order_of_use() {
    let read = |b: &mut Bench| {
        b.read_whole(0, 8);
        b.read_whole(64, 8);
        b.read_whole(8, 8); // A hit, so that 64 is evicted.
        b.read_whole(128, 8);
        b.read_whole(16, 8); // A hit.
        b.read_whole(72, 8);
    };
    assert_eq!(would_hit("", read), 2);
}

#[test]
fn the_simulated_directory_is_strict_where_the_cache_is() {
    let read = |b: &mut Bench| {
        b.read_whole(0, 8);
        b.read_whole(8, 8);
        b.read_whole(8, 8);
    };
    assert_eq!(would_hit("", read), 2);
    assert_eq!(would_hit(",strict=on", read), 1);
}

#[test]
fn the_simulated_directory_forgets_what_the_cache_would_forget() {
    let twice = |b: &mut Bench, between: &dyn Fn(&mut Bench)| {
        b.read_whole(0, 8);
        between(b);
        b.read_whole(8, 8);
        b.read_whole(16, 8);
    };
    assert_eq!(would_hit("", |b| twice(b, &|_| {})), 2);
    let off = |b: &mut Bench| assert_eq!(b.set_region(0..1, false), []);
    assert_eq!(would_hit("", |b| twice(b, &off)), 0);
    let off_and_on = |b: &mut Bench| {
        b.set_region(0..1, false);
        b.set_region(0..1, true);
    };
    assert_eq!(would_hit("", |b| twice(b, &off_and_on)), 1);
}

#[test]
fn vd_does_not_wait_for_a_slow_reference_disk() {
    // It takes 110 us for a request; one comes every 50 us.
    let mut b = Bench::with("4x32k,algorithm=vd", FifoDisk::new(Nanos(110_000), Nanos::ZERO));
    for i in 0..2_001 {
        b.now = i * 50_000;
        b.read_whole(i % 120 * 8, 8);
    }
    // Read 2001 finds two intervals full.
    let checks: Vec<_> = b.cache.checks().iter().map(|check| (check.at.0, check.reads, check.good)).collect();
    assert_eq!(checks, [(2_000 * 50_000, 2_000, true)]);
}

#[test]
fn the_reference_disk_gets_the_requests_of_the_other_state() {
    let mut b = Bench::with("4x32k,algorithm=vd", FifoDisk::new(Nanos(10_000), Nanos(100)));
    let sent = |b: &mut Bench<FifoDisk>| std::mem::take(&mut b.cache.reference_disk().unwrap().requests);
    // Active: every original unmodified, also hits.
    b.read_whole(0, 8);
    b.read_whole(8, 24);
    b.write(2, 64, 16);
    b.settle();
    assert_eq!(sent(&mut b), [(Op::Read, 0, 8, false), (Op::Read, 8, 24, false), (Op::Write, 64, 16, false)]);
    b.set_active(false);
    // Inactive: whole segments for misses, holes alone, hits as copies, writes unmodified.
    b.read_whole(128, 8);
    b.read_whole(128, 16);
    b.write(3, 72, 8);
    b.settle();
    let (miss, hole, copy) = ((Op::Read, 128, 64, false), (Op::Read, 128, 8, false), (Op::Read, 128, 16, true));
    assert_eq!(sent(&mut b), [miss, hole, copy, (Op::Write, 72, 8, false)]);
}

#[test]
fn vd_follows_its_reference_disk() {
    let disk = |base| FifoDisk::new(Nanos(base), Nanos(100));
    let blocks = |b: &mut Bench<FifoDisk>, n: u64| {
        for i in 0..n {
            b.now += 20_000;
            b.read_whole(i % 120 * 8, 8);
        }
    };
    let mut b = Bench::with("4x32k,algorithm=vd", disk(10_000));
    assert!(b.cache.reference_disk().is_some() && bench().cache.reference_disk().is_none());
    blocks(&mut b, 1_001);
    // One of eight blocks: 10 us and 8 blocks; seven copies of 1 ns. Without: 10.1 us each.
    let check = b.cache.checks()[0];
    assert_eq!((check.with_cache.0, check.without_cache.0), ((125 * 10_800 + 875) / 1_000, 10_100));
    assert!(check.good && b.cache.state() == CacheState::Active);
    // Strides of a segment: each read costs eight blocks.
    for i in 0..4_000 {
        b.now += 20_000;
        b.read_whole(i % 15 * 64, 8);
    }
    assert_eq!(b.cache.state(), CacheState::Inactive, "{:?}", b.cache.checks());
    let inactive = b.cache.checks()[b.cache.checks().len() - 1];
    assert_eq!((inactive.with_cache.0, inactive.without_cache.0, inactive.good), (10_800, 10_100, false));
    blocks(&mut b, 3_000);
    assert_eq!(b.cache.state(), CacheState::Active, "{:?}", b.cache.checks());
    // If all blocks count, it never turns off.
    let mut b = Bench::with("4x32k,algorithm=vd-all-blocks", disk(10_000));
    for i in 0..4_000 {
        b.now += 20_000;
        b.read_whole(i % 15 * 64, 8);
    }
    assert_eq!(b.cache.counters().deactivations, 0);
}

#[test]
fn another_geometry_waits_for_reads_in_flight() {
    let mut b = Bench::new("4x32k,algorithm=adaptive");
    b.read_whole(0, 8);
    b.set_region(2..4, false);
    b.read(1, 64, 8);
    b.served(64, Missed);
    let wider = CacheGeometry::parse("2x64k").unwrap();
    b.set_geometry(wider);
    assert_eq!((b.cache.geometry().to_string(), b.cache.state()), ("4x32k".to_owned(), CacheState::PendingInactive));
    assert_eq!(b.read(2, 8, 8), [Send(2, Whole, 8, 8)], "the cache is off meanwhile");
    b.served(8, Whole);
    // The prefetch into the old frames was the last to use any.
    b.served(72, Prefetch);
    assert_eq!((b.cache.geometry(), b.cache.state(), b.cache.segments()), (wider, CacheState::Active, 0));
    assert_eq!(b.read(3, 8, 8), [Send(3, Missed, 8, 8), Send(3, Prefetch, 16, 112), Send(3, Prefetch, 0, 8)]);
    b.settle();
    // The third and the fourth segment were off: the second of the new ones.
    assert_eq!(b.read(4, 136, 8), [Send(4, Whole, 136, 8)]);
    b.settle();
    assert_eq!(b.read(5, 264, 8).len(), 3);
    b.settle();
    // A decision during the change applies after it.
    b.read(6, 400, 8);
    b.set_geometry(CacheGeometry::parse("4x32k").unwrap());
    b.set_active(false);
    b.settle();
    assert_eq!((b.cache.geometry().segments, b.cache.state()), (4, CacheState::Inactive));
}
