//! The measured times of reads (GF 2.3.3), as the checks show them.

use super::bench::{Bench, Step::*};
use crate::Role::*;
use iopilot_block::Sectors;

/// The two sides of the first check, after `read` and as many reads without cost as the check needs.
fn sides(spec: &str, read: impl Fn(&mut Bench)) -> (u64, u64) {
    let mut b = Bench::new(spec);
    read(&mut b);
    while b.cache.checks().is_empty() {
        // Whole segments at no time.
        b.read(99, 512, 64);
        b.served(512, Whole);
    }
    let check = b.cache.checks()[0];
    (check.with_cache.0, check.without_cache.0)
}

/// Serves a part that takes `ns` from now.
fn serve(b: &mut Bench, ns: u64, lba: u64, role: crate::Role) {
    b.now += ns;
    b.served_from(b.now - ns, lba, role);
}

const V0: &str = "4x32k,algorithm=v0";

#[test]
fn a_prefetch_costs_its_time_after_the_original() {
    let prefetch = |b: &mut Bench| {
        b.read(1, 16, 8);
        serve(b, 500, 16, Missed);
        serve(b, 70, 24, Prefetch);
        serve(b, 30, 0, Prefetch);
    };
    assert_eq!(sides(V0, prefetch), (100, 0));
    // Both are merged into one request: eight blocks in 800 ns.
    let merged = |b: &mut Bench| {
        b.read(1, 0, 8);
        b.now += 800;
        b.served_from(0, 0, Missed);
        b.served_from(0, 8, Prefetch);
    };
    assert_eq!(sides(V0, merged), (700, 0));
    let combined = |b: &mut Bench| {
        b.read(1, 0, 8);
        serve(b, 800, 0, Combined);
    };
    assert_eq!(sides("4x32k,algorithm=v0,miss=combined", combined), (700, 0));
}

#[test]
fn requests_of_others_cost_nothing() {
    // Requests of others between two prefetches, and before a prefetch with a waiter.
    let queued = |b: &mut Bench| {
        b.read(1, 16, 8);
        serve(b, 500, 16, Missed);
        b.read(2, 24, 8);
        b.read(3, 0, 8);
        b.now += 4_000;
        serve(b, 70, 24, Prefetch);
        b.copied(24);
        b.now += 9_000;
        serve(b, 30, 0, Prefetch);
        b.copied(0);
    };
    // 500 ns for a miss, and two hits: each waits for as long as its prefetch takes.
    assert_eq!(sides(V0, queued).0, 70 + 30 + 70 + 30);
    // Parts that were merged with those of other reads take their share: 1 and 7 of 32 blocks.
    let merged = |b: &mut Bench| {
        b.merged = Sectors(256);
        b.read(1, 0, 8);
        b.now += 800_000;
        b.served_from(0, 0, Missed);
        b.served_from(0, 8, Prefetch);
        // One of 16 blocks.
        b.merged = Sectors(128);
        b.read(2, 0, 8);
        serve(b, 1_600_000, 0, Hole);
        b.merged = Sectors(0);
    };
    let (with, without) = sides("4x32k,algorithm=v0,copy_us_per_kib=0", |b| {
        merged(b);
        b.read(3, 8, 8);
        b.copied(8);
    });
    assert_eq!((with, without), (800_000 * 7 / 32, (800_000 / 32 + 1_600_000 / 16) / (2 + 97 * 8)));
}

#[test]
fn a_dropped_prefetch_costs_nothing() {
    let dropped = |b: &mut Bench| {
        b.read(1, 16, 8);
        serve(b, 500, 16, Missed);
        b.now += 1_000;
        b.dropped(24, Prefetch);
        serve(b, 30, 0, Prefetch);
    };
    assert_eq!(sides(V0, dropped), (30, 0));
}

#[test]
fn dropped_blocks_do_not_count_as_prefetched() {
    let mut b = Bench::new("4x32k,algorithm=v1,copy_us_per_kib=0");
    b.read(1, 16, 8);
    serve(&mut b, 500, 16, Missed);
    b.dropped(24, Prefetch);
    serve(&mut b, 30, 0, Prefetch);
    b.set_active(false);
    b.read_whole(64, 8);
    while b.cache.checks().is_empty() {
        b.read(99, 512, 64);
        b.served(512, Whole);
    }
    // 2.12: seven blocks, at 30 ns for the two that came.
    assert_eq!(b.cache.checks()[0].with_cache.0, 30 * 7 / 2);
}

#[test]
fn a_combined_read_that_fails_is_a_cost_of_the_cache() {
    let failed = |b: &mut Bench| {
        b.read(1, 0, 8);
        b.now += 800;
        b.failed_from(0, 0, Combined);
        serve(b, 500, 0, Missed);
    };
    assert_eq!(sides("4x32k,algorithm=v0,miss=combined", failed), (800, 0));
}

#[test]
fn hits_cost_their_copy_and_their_wait() {
    let hits = |b: &mut Bench| {
        b.read(1, 0, 8);
        serve(b, 500, 0, Missed);
        // Waits from 500 to 570, copies for 5.
        b.read(2, 8, 16);
        serve(b, 70, 8, Prefetch);
        b.now += 5;
        assert_eq!(b.copied(8), [Done(2)]);
        // A partial miss: 20 ns of the disk for a block, and 9 ns to copy another, at the same time.
        b.read(3, 0, 16);
        b.now += 9;
        b.copied(8);
        b.now += 11;
        b.served_from(b.now - 20, 0, Hole);
    };
    let (with, without) = sides(V0, hits);
    assert_eq!(with, 70 + 70 + 5 + 9);
    // 2.6: 3 hits at the cost of 2 misses of 520 ns in all, and of the 97 whole segments of 8 blocks at none.
    assert_eq!(without, 520 * 3 / (2 + 97 * 8));
}

#[test]
fn several_copies_of_one_read_are_one_time() {
    let copies = |b: &mut Bench| {
        b.read_whole(24, 8);
        b.now = 10_000;
        assert_eq!(b.read(2, 16, 24), [Send(2, Hole, 24, 8), Copy(2, 16, 8), Copy(2, 32, 8)]);
        b.now += 4;
        b.copied(16);
        b.now += 4;
        b.copied(32);
        b.served(24, Hole);
    };
    // A prefetch of 1000 ns behind, one of as much before, and the copies.
    assert_eq!(sides(V0, copies).0, 2_000 + 8);
}

#[test]
fn an_inactive_read_that_would_hit_in_part_is_divided_by_blocks() {
    let mut b = Bench::new("4x32k,algorithm=v1,copy_us_per_kib=0");
    b.set_active(false);
    b.read(1, 0, 8);
    serve(&mut b, 700, 0, Whole);
    b.read(2, 0, 32);
    serve(&mut b, 800, 0, Whole);
    while b.cache.checks().is_empty() {
        b.read(99, 512, 64);
        b.served(512, Whole);
    }
    let check = b.cache.checks()[0];
    // Three of four blocks of 800 ns. The seven that were not prefetched: 900 ns for 2 + 98 * 8 blocks.
    assert_eq!((check.with_cache.0, check.without_cache.0), (900 * 7 / (2 + 98 * 8), 600));
}
