//! Writes, discards and flushes (GF 2.3.2, Fig. 2.4).

use super::bench::{Bench, Step::*, io};
use crate::Role::*;
use iopilot_block::Op;

fn bench() -> Bench {
    Bench::new("4x32k,algorithm=always")
}

#[test]
fn a_write_is_sent_unmodified_and_invalidates_its_blocks() {
    let mut b = bench();
    b.read_whole(64, 8);
    assert_eq!(b.write(1, 60, 29), [Send(1, Whole, 60, 29)]);
    assert_eq!(b.cache.counters().invalidated_blocks, 3, "also the block that was written in part");
    assert_eq!(b.served(60, Whole), [Done(1)]);
    assert_eq!(b.read(2, 72, 32), [Send(2, Hole, 72, 24), Copy(2, 96, 8)], "not the whole segment");
}

#[test]
fn a_segment_without_blocks_is_removed_at_once() {
    let mut b = bench();
    b.read_whole(64, 8);
    b.submit(&io(1, Op::Discard, 0, 1_000));
    assert_eq!(b.cache.segments(), 0);
    b.settle();
    assert_eq!(b.read(2, 64, 8).len(), 2, "a miss");
}

#[test]
fn a_block_that_is_written_in_flight_is_doomed() {
    let mut b = bench();
    b.read(1, 64, 8);
    b.write(2, 80, 8);
    assert_eq!(b.cache.counters().doomed_blocks, 1);
    assert_eq!(b.read(3, 80, 8), [Send(3, Hole, 80, 8)], "the reader does not wait for it");
    b.settle();
    assert_eq!(b.read(4, 72, 16), [Send(4, Hole, 80, 8), Copy(4, 72, 8)], "a hole when it has come");
}

#[test]
fn a_write_invalidates_once_more_when_it_is_done() {
    let mut b = bench();
    b.write(1, 80, 8);
    b.read(2, 64, 8);
    b.served(72, Prefetch);
    assert_eq!(b.read(3, 80, 8), [Copy(3, 80, 8)], "old or new is right while the write is in flight");
    b.copied(80);
    b.served(80, Whole);
    assert_eq!(b.read(4, 80, 8), [Send(4, Hole, 80, 8)]);
    // So does a failed write, as it may have changed the disk.
    b.settle();
    b.write(5, 192, 8);
    b.read(6, 200, 8);
    b.served(192, Prefetch);
    b.failed(192, Whole);
    assert_eq!(b.read(7, 192, 8), [Send(7, Hole, 192, 8)]);
}

#[test]
fn a_waiter_for_a_block_that_is_written_reads_it() {
    let mut b = bench();
    b.read(1, 64, 8);
    assert_eq!(b.read(2, 80, 16), []);
    assert_eq!(b.write(3, 88, 8), [Send(3, Whole, 88, 8)], "the other block is still to come");
    assert_eq!(b.served(72, Prefetch), [Send(2, Hole, 88, 8), Copy(2, 80, 8)]);
    b.copied(80);
    assert_eq!(b.served(88, Hole), [Done(2)]);
    // A waiter for that block alone reads it at once.
    b.settle();
    b.read(4, 192, 8);
    b.read(5, 200, 8);
    assert_eq!(b.write(6, 200, 8), [Send(5, Hole, 200, 8), Send(6, Whole, 200, 8)]);
}

#[test]
fn a_write_of_what_is_being_copied_leaves_the_frames_alone() {
    let mut b = Bench::new("1x32k,algorithm=always");
    b.read_whole(0, 8);
    b.read(1, 8, 8);
    b.submit(&io(2, Op::Discard, 0, 64));
    assert_eq!(b.read(3, 64, 8), [Send(3, Whole, 64, 8)], "the segment is empty, and still busy");
    assert_eq!(b.copied(8), [Done(1)]);
    assert_eq!(b.cache.segments(), 0);
}

#[test]
fn writes_do_not_touch_the_order_of_use() {
    let mut b = Bench::new("2x32k,algorithm=always");
    b.read_whole(0, 8);
    b.read_whole(64, 8);
    b.write(1, 8, 8);
    b.settle();
    b.read_whole(128, 8);
    assert!(b.read_whole(16, 8), "the first was evicted");
}

#[test]
fn a_flush_changes_nothing() {
    let mut b = bench();
    b.read_whole(64, 8);
    assert_eq!(b.submit(&io(1, Op::Flush, 0, 0)), [Send(1, Whole, 0, 0)]);
    b.settle();
    assert!(!b.read_whole(72, 8));
}
