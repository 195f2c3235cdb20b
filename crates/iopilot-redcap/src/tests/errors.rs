//! Errors, dropped prefetches, and resets.

use super::bench::{Bench, Step::*, io};
use crate::Role::*;
use crate::{Redcap, RedcapAction, RedcapSpec};
use iopilot_block::{Nanos, Op, SourceHandle};

fn bench() -> Bench {
    Bench::new("4x32k,algorithm=always")
}

#[test]
fn a_failed_prefetch_does_not_fail_its_original() {
    let mut b = bench();
    b.read(1, 64, 8);
    b.read(2, 72, 8);
    assert_eq!(b.failed(72, Prefetch), [Send(2, Hole, 72, 8)], "the waiter reads its block itself");
    assert_eq!(b.served(64, Missed), [Done(1)]);
    assert_eq!((b.cache.segments(), b.cache.counters().failed_blocks), (0, 7));
}

#[test]
fn a_prefetch_may_be_dropped() {
    let mut b = bench();
    b.read(1, 72, 8);
    b.read(2, 104, 8);
    assert_eq!(b.dropped(80, Prefetch), [Send(2, Hole, 104, 8)]);
    b.settle();
    assert_eq!(b.cache.counters().dropped_blocks, 6);
    assert!(!b.read_whole(64, 8), "the other came");
}

#[test]
fn a_failed_part_fails_the_original_when_all_are_done() {
    let mut b = bench();
    b.read(1, 56, 16);
    assert_eq!(b.failed(56, Missed), []);
    assert_eq!(b.served(64, Missed), [Failed(1)]);
    b.settle();
    b.read(2, 56, 16);
    assert_eq!(b.dropped(56, Hole), []);
    assert_eq!(b.served(64, Hole), [Failed(2)]);
    assert_eq!(b.read(3, 48, 8), [Copy(3, 48, 8)], "what was prefetched is good");
    b.settle();
    b.write(4, 0, 8);
    assert_eq!(b.failed(0, Whole), [Failed(4)]);
}

#[test]
fn a_failed_combined_read_is_retried_for_the_requested_blocks() {
    let mut b = Bench::new("4x32k,algorithm=always,miss=combined");
    b.read(1, 71, 10);
    b.read(2, 96, 8);
    assert_eq!(b.failed(64, Combined), [Send(2, Hole, 96, 8), Send(1, Missed, 71, 10)]);
    assert_eq!(b.served(71, Missed), [Done(1)]);
    assert_eq!(b.cache.segments(), 0);
    b.read(3, 192, 8);
    assert_eq!(b.failed(192, Combined), [Send(3, Missed, 192, 8)]);
    assert_eq!(b.failed(192, Missed), [Failed(3)]);
    // Three, one and one blocks; none is counted twice.
    assert_eq!((b.cache.counters().requested_blocks, b.cache.counters().missed_blocks), (5, 5));
}

#[test]
fn data_of_a_region_that_is_turned_off_are_dropped() {
    let mut b = bench();
    b.read_whole(0, 8);
    b.read(1, 64, 8);
    b.read(2, 72, 8);
    b.read(3, 8, 8);
    assert_eq!(b.set_region(0..16, false), [Send(2, Hole, 72, 8)]);
    b.settle();
    assert_eq!(b.cache.segments(), 0);
    assert!(b.read_whole(16, 8));
}

#[test]
fn invalid_settings_are_refused() {
    let spec = RedcapSpec::parse("algorithm=vd").unwrap();
    let e = Redcap::new(&spec, 1_000).unwrap_err().to_string();
    assert!(e.starts_with("redcap: algorithm: got vd"), "{e}");
    let spec = RedcapSpec { max_sectors: 1, ..RedcapSpec::default() };
    assert!(Redcap::new(&spec, 1_000).is_err());
    assert!(Redcap::new(&RedcapSpec::default(), 0).is_ok());
}

#[test]
fn requests_beyond_the_disk_are_sent_unmodified() {
    let spec = RedcapSpec::parse("4x32k,algorithm=always,strict=on").unwrap();
    for capacity in [0, 43, u64::MAX] {
        let mut cache = Redcap::new(&spec, capacity).unwrap();
        for op in [Op::Read, Op::Write, Op::Discard, Op::Flush] {
            for lba in [u64::MAX / 2, u64::MAX - 67, u64::MAX] {
                let mut out = Vec::new();
                cache.submit(&io(1, op, lba, 67), Nanos(0), &mut out);
                let [RedcapAction::Send(part)] = out[..] else { panic!("{out:?}") };
                assert_eq!((part.role, part.lba.0, part.sectors.0), (Whole, lba, 67));
                out.clear();
                cache.dropped(part.id, Nanos(1), &mut out);
                assert_eq!(out, [RedcapAction::Done { io: SourceHandle(1), failed: true }]);
            }
        }
    }
}
