//! Reads: the cases of GF 2.3.2 and 3.3.3.

use super::bench::{Bench, CAPACITY, Step::*};
use crate::{RedcapAction, Role::*};
use iopilot_block::{Criticality, Flags, ProcessId};

/// Four segments of 32 KiB: 64 sectors.
fn bench() -> Bench {
    Bench::new("4x32k,algorithm=always")
}

fn combined() -> Bench {
    Bench::new("4x32k,algorithm=always,miss=combined")
}

#[test]
fn a_miss_is_the_original_and_then_the_rest_of_its_segment() {
    let mut b = bench();
    // Fig. 2.3: at the start, at the end, in the middle, and the whole segment.
    assert_eq!(b.read(1, 64, 16), [Send(1, Missed, 64, 16), Send(1, Prefetch, 80, 48)]);
    assert_eq!(b.read(2, 184, 8), [Send(2, Missed, 184, 8), Send(2, Prefetch, 128, 56)]);
    let middle = [Send(3, Missed, 208, 8), Send(3, Prefetch, 216, 40), Send(3, Prefetch, 192, 16)];
    assert_eq!(b.read(3, 208, 8), middle, "the blocks behind come first, as the medium moves forward");
    assert_eq!(b.read(4, 256, 64), [Send(4, Whole, 256, 64)]);
    assert_eq!(b.cache.segments(), 3, "a whole segment is not stored");
    let counters = b.cache.counters();
    assert_eq!((counters.misses, counters.whole_segments), (3, 1));
    assert_eq!((counters.missed_blocks, counters.prefetched_blocks), (2 + 1 + 1 + 8, 6 + 7 + 7));
}

#[test]
fn a_read_completes_before_its_prefetch() {
    let mut b = bench();
    b.read(1, 64, 8);
    assert_eq!(b.served(64, Missed), [Done(1)]);
    assert_eq!(b.served(72, Prefetch), []);
    assert_eq!(b.cache.in_flight(), 0);
    // The prefetch may complete first.
    b.read(2, 128, 8);
    assert_eq!(b.served(136, Prefetch), []);
    assert_eq!(b.served(128, Missed), [Done(2)]);
}

#[test]
fn a_hit_is_copied_and_uses_no_disk() {
    let mut b = bench();
    b.read_whole(64, 8);
    assert_eq!(b.read(2, 80, 24), [Copy(2, 80, 24)]);
    assert_eq!(b.copied(80), [Done(2)]);
    assert_eq!(b.read(3, 81, 3), [Copy(3, 81, 3)], "a part of a block is a hit, too");
    b.settle();
    let counters = b.cache.counters();
    assert_eq!((counters.hits, counters.hit_blocks, counters.used_blocks), (2, 4, 3));
    assert!(!b.read_whole(80, 24), "blocks stay after a hit");
}

#[test]
fn strict_drops_blocks_after_a_hit() {
    let mut b = Bench::new("4x32k,algorithm=always,strict=on");
    b.read_whole(64, 8);
    assert!(!b.read_whole(80, 12), "a block and a half");
    assert_eq!(b.read(2, 80, 12), [Send(2, Hole, 80, 8), Copy(2, 88, 4)]);
    b.settle();
    b.read_whole(72, 8);
    b.read_whole(88, 40);
    assert_eq!(b.cache.segments(), 0, "an empty segment leaves");
}

#[test]
fn a_reader_waits_for_blocks_in_flight() {
    let mut b = bench();
    b.read(1, 88, 8);
    assert_eq!(b.read(2, 64, 8), []);
    assert_eq!(b.read(3, 72, 8), []);
    assert_eq!(b.read(4, 104, 8), []);
    assert_eq!(b.served(96, Prefetch), [Copy(4, 104, 8)], "the others wait for other blocks");
    assert_eq!(b.copied(104), [Done(4)]);
    assert_eq!(b.served(64, Prefetch), [Copy(2, 64, 8), Copy(3, 72, 8)]);
    assert_eq!(b.cache.counters().waits, 3);
    // A read of blocks of both prefetches, and of the hole between them.
    b.read(5, 152, 8);
    assert_eq!(b.read(6, 144, 24), [Send(6, Hole, 152, 8)]);
    b.served(160, Prefetch);
    b.served(152, Hole);
    assert_eq!(b.served(128, Prefetch), [Copy(6, 144, 8), Copy(6, 160, 8)]);
    assert_eq!((b.copied(160), b.copied(144)), (vec![], vec![Done(6)]));
}

#[test]
fn requested_blocks_are_not_stored() {
    for mut b in [bench(), combined()] {
        b.read_whole(64, 8);
        assert_eq!(b.read(2, 64, 8), [Send(2, Hole, 64, 8)], "no prefetch");
        b.settle();
        assert_eq!(b.read(3, 64, 8), [Send(3, Hole, 64, 8)], "and still not stored");
        assert_eq!(b.cache.counters().hole_misses, 2);
    }
}

#[test]
fn a_partial_miss_reads_only_the_missing_blocks() {
    let mut b = bench();
    b.read_whole(64, 8);
    assert_eq!(b.read(2, 64, 24), [Send(2, Hole, 64, 8), Copy(2, 72, 16)]);
    assert_eq!(b.copied(72), []);
    assert_eq!(b.served(64, Hole), [Done(2)]);
    // Each run of holes is one request. Two runs that are one block apart are joined.
    b.write(3, 80, 1);
    b.write(4, 111, 1);
    b.settle();
    assert_eq!(
        b.read(5, 67, 53),
        [Send(5, Hole, 67, 21), Send(5, Hole, 104, 8), Copy(5, 88, 16), Copy(5, 112, 8)],
        "exactly the requested sectors"
    );
    assert_eq!(b.cache.counters().partial_misses, 2);
}

#[test]
fn a_read_of_several_segments_is_one_for_each() {
    let mut b = bench();
    b.read_whole(56, 8);
    let steps = [
        // A partial miss; disk requests come first.
        Send(2, Hole, 56, 8),
        Copy(2, 48, 8),
        // Two whole segments.
        Send(2, Missed, 64, 64),
        Send(2, Missed, 128, 64),
        // A miss.
        Send(2, Missed, 192, 16),
        Send(2, Prefetch, 208, 48),
    ];
    assert_eq!(b.read(2, 48, 160), steps);
    for lba in [64, 192, 128] {
        assert_eq!(b.served(lba, Missed), []);
    }
    b.copied(48);
    assert_eq!(b.served(56, Hole), [Done(2)], "when the last is done");
    assert_eq!(b.cache.in_flight(), 1, "the prefetch goes on");
}

#[test]
fn two_misses_of_one_segment_share_it() {
    let mut b = bench();
    b.read(1, 64, 8);
    assert_eq!(b.read(2, 64, 16), [Send(2, Hole, 64, 8)], "it waits for the second block, and reads the first itself");
    b.served(64, Hole);
    assert_eq!(b.served(72, Prefetch), [Copy(2, 72, 8)]);
    assert_eq!(b.copied(72), [Done(2)]);
}

#[test]
fn combined_reads_the_whole_segment_in_one() {
    let mut b = combined();
    assert_eq!(b.read(1, 72, 8), [Send(1, Combined, 64, 64)]);
    assert_eq!(b.read(2, 120, 8), []);
    assert_eq!(b.served(64, Combined), [Copy(2, 120, 8), Done(1)]);
    b.settle();
    assert_eq!(b.read(3, 0, 64), [Send(3, Whole, 0, 64)]);
}

#[test]
fn a_read_passes_by_when_every_segment_is_busy() {
    let mut b = Bench::new("2x32k,algorithm=always");
    b.read(1, 0, 8);
    b.read(2, 64, 8);
    assert_eq!(b.read(3, 128, 8), [Send(3, Whole, 128, 8)]);
    assert_eq!(b.read(4, 136, 64), [Send(4, Missed, 136, 56), Send(4, Missed, 192, 8)]);
    b.settle();
    assert_eq!((b.cache.counters().pass_bys, b.cache.counters().evictions), (3, 0));
    assert_eq!(b.read(5, 128, 8), [Send(5, Missed, 128, 8), Send(5, Prefetch, 136, 56)], "the oldest makes room");
    b.settle();
    assert!(b.read_whole(8, 8) && b.cache.counters().evictions == 2, "it was the first");
}

#[test]
fn a_segment_that_is_copied_from_is_busy() {
    let mut b = Bench::new("1x32k,algorithm=always");
    b.read_whole(0, 8);
    assert_eq!(b.read(2, 8, 8), [Copy(2, 8, 8)]);
    assert_eq!(b.read(3, 64, 8), [Send(3, Whole, 64, 8)]);
    b.copied(8);
    assert_eq!(b.read(4, 64, 8).len(), 2);
}

#[test]
fn hits_keep_a_segment() {
    let mut b = Bench::new("2x32k,algorithm=always");
    b.read_whole(0, 8);
    b.read_whole(64, 8);
    b.read_whole(8, 8);
    b.read_whole(128, 8);
    assert!(!b.read_whole(16, 8) && b.read_whole(72, 8));
}

#[test]
fn the_last_segment_is_short() {
    let mut b = bench();
    assert_eq!(b.read(1, 960, 8), [Send(1, Missed, 960, 8), Send(1, Prefetch, 968, 35)]);
    b.settle();
    assert_eq!(b.read(2, CAPACITY - 3, 3), [Copy(2, CAPACITY - 3, 3)], "part of a block");
    b.settle();
    // Sectors that do not exist are refused by the disk.
    assert_eq!(b.read(3, 1_000, 8), [Send(3, Whole, 1_000, 8)]);
    assert_eq!(b.read(4, u64::MAX, 8), [Send(4, Whole, u64::MAX, 8)]);
    assert_eq!(b.write(5, 1_000, 8), [Send(5, Whole, 1_000, 8)]);
    assert_eq!(b.read(6, 0, 0), [Send(6, Whole, 0, 0)]);
    let mut b = bench();
    assert_eq!(b.read(1, 960, 43), [Send(1, Whole, 960, 43)], "the whole of it");
}

#[test]
fn parts_of_a_block_are_never_stored() {
    let mut b = bench();
    assert_eq!(b.read(1, 67, 2), [Send(1, Missed, 67, 2), Send(1, Prefetch, 72, 56)]);
    b.settle();
    assert_eq!(b.read(2, 64, 1), [Send(2, Hole, 64, 1)]);
    assert_eq!(b.read(3, 129, 63), [Send(3, Whole, 129, 63)], "it touches all blocks of a segment");
}

#[test]
fn long_prefetches_are_split() {
    let mut b = Bench::new("4x256k,algorithm=always");
    assert_eq!(
        b.read(1, 256, 8),
        [Send(1, Missed, 256, 8), Send(1, Prefetch, 264, 248), Send(1, Prefetch, 0, 256)],
        "of 128 KiB at most"
    );
    let mut b = Bench::new("4x32k,algorithm=always,max_sectors=20");
    let parts =
        [Send(1, Missed, 64, 24), Send(1, Prefetch, 88, 16), Send(1, Prefetch, 104, 16), Send(1, Prefetch, 120, 8)];
    assert_eq!(b.read(1, 64, 24), parts, "at a block's end");
}

#[test]
fn a_prefetch_is_read_ahead_of_the_same_process() {
    let mut b = bench();
    let mut io = super::bench::io(1, iopilot_block::Op::Read, 64, 8);
    io.flags |= Flags::NO_MERGE;
    let mut out = Vec::new();
    b.cache.submit(&io, iopilot_block::Nanos(0), &mut out);
    let [RedcapAction::Send(missed), RedcapAction::Send(prefetch)] = out[..] else { panic!("{out:?}") };
    assert_eq!((missed.flags, missed.criticality, missed.frames), (io.flags, Criticality::TimeCritical, None));
    assert_eq!(prefetch.flags, Flags::META | Flags::READ_AHEAD);
    assert_eq!((prefetch.process, prefetch.cpu, prefetch.io.0), (ProcessId(7), 1, 1));
    assert_eq!((prefetch.criticality, prefetch.frames), (Criticality::TimeNonCritical, Some(0)));
}

#[test]
fn regions_that_are_off_bypass_the_cache() {
    let mut b = bench();
    b.read_whole(64, 8);
    b.read_whole(192, 8);
    assert_eq!(b.set_region(0..2, false), []);
    assert_eq!(b.cache.segments(), 1);
    assert_eq!(b.read(1, 72, 8), [Send(1, Whole, 72, 8)]);
    assert_eq!(b.read(2, 120, 16), [Send(2, Missed, 120, 8), Send(2, Missed, 128, 8), Send(2, Prefetch, 136, 56)]);
    b.settle();
    assert!(!b.read_whole(200, 8));
    let off = b.cache.off_share();
    assert!((off - 2.0 / 16.0).abs() < 1e-9, "{off}: two of 15 segments and a part of one");
    // A read of regions that are off is not split at segments.
    assert_eq!(b.read(4, 40, 48), [Send(4, Whole, 40, 48)]);
    b.settle();
    b.set_region(1..2, true);
    assert_eq!(b.read(3, 72, 8).len(), 3);
    b.settle();
    assert!(!b.read_whole(88, 8));
}
