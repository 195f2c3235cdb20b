//! Reading the contents of a cache again after a restart.

use super::bench::{Bench, CAPACITY, Step};
use crate::Role;

const NOBODY: u64 = u64::MAX;

#[test]
fn held_segments_are_listed_with_the_latest_first() {
    let mut bench = Bench::new("3x32k,algorithm=always");
    for lba in [0, 128, 256] {
        assert!(bench.read_whole(lba, 8));
    }
    assert!(!bench.read_whole(136, 8), "a hit");
    assert_eq!(bench.cache.held(), [2, 4, 0]);
    bench.read(9, 512, 8);
    assert_eq!(bench.cache.held(), [8, 2, 4], "a segment in flight counts as held");
}

#[test]
fn a_warmed_segment_is_hit() {
    let mut bench = Bench::new("3x32k,algorithm=always");
    assert_eq!(bench.warm(70), Some(vec![Step::Send(NOBODY, Role::Prefetch, 64, 64)]));
    assert_eq!(bench.warm(64), None, "it is in flight");
    assert_eq!(bench.read(1, 72, 8), [], "a reader waits for it");
    assert_eq!(bench.served(64, Role::Prefetch), [Step::Copy(1, 72, 8)]);
    assert_eq!(bench.copied(72), [Step::Done(1)]);
    bench.cache.check_idle();
    // The last segment is short.
    assert_eq!(bench.warm(15 * 64), Some(vec![Step::Send(NOBODY, Role::Prefetch, 960, 43)]));
    assert_eq!(bench.failed(960, Role::Prefetch), []);
    assert_eq!(bench.cache.held(), [1], "a segment that cannot be read is not held");
    assert_eq!((bench.warm(CAPACITY), bench.cache.in_flight()), (None, 0));
    bench.cache.check_idle();
}

#[test]
fn warming_evicts_nothing_and_needs_an_active_cache() {
    let mut bench = Bench::new("2x32k,algorithm=always");
    for lba in [0, 64] {
        bench.read_whole(lba, 8);
    }
    assert_eq!((bench.warm(128), bench.cache.held()), (None, vec![1, 0]));
    bench.set_active(false);
    assert_eq!(bench.warm(0), None);
    bench.set_active(true);
    assert!(bench.warm(0).is_some());
    // The segment is dropped in flight.
    bench.set_active(false);
    bench.settle();
    assert_eq!(bench.cache.held(), [0; 0]);
    bench.cache.check_idle();
}

#[test]
fn a_write_invalidates_blocks_of_a_warmed_segment_in_flight() {
    let mut bench = Bench::new("2x32k,algorithm=always");
    bench.warm(0);
    bench.write(1, 8, 8);
    bench.settle();
    assert!(!bench.read_whole(0, 8) && bench.read_whole(8, 8), "the written block is a hole");
}
