//! Prefetches while the queue below is full.

use super::bench::{Bench, Step::*, io};
use crate::Role::*;
use iopilot_block::{Arrival, Criticality, Nanos, Op};

/// A cache above a queue that takes so many requests.
fn bench(spec: &str, limit: u32) -> Bench {
    let mut bench = Bench::new(&format!("{spec},algorithm=always"));
    bench.cache.set_queue_limit(limit);
    bench
}

fn counts(b: &Bench) -> (u64, u64) {
    (b.cache.counters().put_off, b.cache.counters().given_up)
}

#[test]
fn a_prefetch_waits_for_room_below() {
    let mut b = bench("4x32k", 2);
    assert_eq!(b.read(1, 0, 8), [Send(1, Missed, 0, 8), Send(1, Prefetch, 8, 56)]);
    assert_eq!(b.read(2, 64, 8), [Send(2, Missed, 64, 8)]);
    assert_eq!(b.served(0, Missed), [Done(1)], "two are still in flight");
    assert_eq!(b.served(8, Prefetch), [Send(2, Prefetch, 72, 56)]);
    b.settle();
    assert!(!b.read_whole(120, 8));
    assert_eq!(counts(&b), (1, 0));
}

#[test]
fn a_reader_of_its_blocks_has_it_sent_at_once() {
    let mut b = bench("4x32k", 1);
    assert_eq!(b.read(1, 8, 8), [Send(1, Missed, 8, 8)]);
    assert_eq!(b.read(2, 16, 8), [Send(2, Prefetch, 16, 48)], "for the second reader");
    assert_eq!(b.read(3, 0, 8), [Send(3, Prefetch, 0, 8)]);
    b.raised();
    assert_eq!((b.read(4, 24, 8), b.raised()), (vec![], vec![16]), "it is in flight already");
    assert_eq!(b.served(16, Prefetch), [Copy(2, 16, 8), Copy(4, 24, 8)]);
    b.settle();
    assert_eq!((counts(&b), b.cache.counters().waits), ((2, 0), 3));
}

#[test]
fn a_promoted_prefetch_is_the_readers_own_request() {
    let mut b = bench("4x32k", 1);
    b.read(1, 8, 8);
    let mut out = Vec::new();
    b.cache.submit(&io(2, Op::Read, 16, 8), Nanos(0), &mut out);
    let [crate::RedcapAction::Send(part), ..] = out[..] else { panic!("{out:?}") };
    let reader = io(2, Op::Read, 16, 8);
    assert_eq!((part.flags, part.criticality, part.io), (reader.flags, reader.criticality, reader.handle));
    assert!(!part.is_optional());
}

#[test]
fn what_was_written_is_not_prefetched() {
    let mut b = bench("4x32k", 1);
    b.read(1, 0, 8);
    assert_eq!(b.write(2, 8, 56), [Send(2, Whole, 8, 56)]);
    assert_eq!(b.served(0, Missed), [Done(1)]);
    assert_eq!(b.served(8, Whole), [Done(2)]);
    assert_eq!((counts(&b), b.cache.segments()), ((1, 1), 0));
}

#[test]
fn nothing_waits_in_a_cache_that_is_off_or_changes_its_segments() {
    let mut b = bench("4x32k", 1);
    b.read(1, 0, 8);
    b.set_active(false);
    assert_eq!((counts(&b), b.cache.segments()), ((1, 1), 0));
    b.set_active(true);
    b.read(2, 64, 8);
    b.set_geometry(crate::CacheGeometry { segments: 8, segment_blocks: 16 });
    assert_eq!(counts(&b), (2, 2));
    b.settle();
    assert_eq!(b.cache.geometry().segments, 8);
}

#[test]
fn too_many_or_too_old_ones_are_given_up() {
    let mut b = bench("4x32k", 1);
    for n in 0..3 {
        b.read(n, 64 * n, 8);
    }
    assert_eq!(counts(&b), (3, 1), "half of the four segments may wait");
    b.now += 1_000_000_001;
    assert_eq!(b.read(9, 500, 8)[0], Send(9, Missed, 500, 8));
    assert_eq!(counts(&b).1, 3);
}

#[test]
fn a_body_that_cannot_send_one_puts_it_off() {
    let mut b = bench("4x32k", 8);
    b.read(1, 0, 8);
    assert_eq!(b.put_off(8), []);
    assert_eq!(b.served(0, Missed), [Done(1), Send(1, Prefetch, 8, 56)]);
    assert_eq!(b.put_off(8), [], "nothing is in flight that it could wait for");
    assert_eq!((counts(&b), b.cache.segments()), ((2, 1), 0));
}

#[test]
fn a_process_that_begins_to_wait_makes_parts_critical() {
    let mut b = bench("4x32k", 2);
    let ahead = |handle, lba| Arrival { criticality: Criticality::TimeLimited, ..io(handle, Op::Read, lba, 8) };
    b.submit(&ahead(1, 0));
    assert_eq!(b.submit(&ahead(2, 8)), [], "it waits for a prefetch, and no process for it");
    assert_eq!(b.waits(2), [8]);
    assert_eq!(b.waits(1), [0]);
    assert_eq!(b.waits(7), [0; 0], "there is none");
    b.submit(&ahead(3, 64));
    assert_eq!(b.waits(3), [64], "its prefetch, which waits, is not of interest to it");
    b.settle();
    assert_eq!(b.waits(3), [0; 0], "it is done");
}
