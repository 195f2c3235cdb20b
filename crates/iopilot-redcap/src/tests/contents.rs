//! A cache that starts with the contents of another one.

use super::bench::{Bench, Step};
use crate::Role;

#[test]
fn a_cache_can_start_with_the_contents_of_another() {
    let mut first = Bench::new("3x32k,algorithm=always");
    for lba in [0, 128, 256] {
        assert!(first.read_whole(lba, 8));
    }
    assert!(!first.read_whole(136, 8), "a hit");
    let contents = first.cache.contents();
    assert_eq!(contents.len(), 3);
    let mut second = Bench::new("3x32k,algorithm=always");
    assert!(second.cache.contents().is_empty());
    second.cache.begin_with(&contents);
    assert_eq!(second.cache.held(), [2, 4, 0], "in the same order");
    assert!(!second.read_whole(264, 8), "a hit");
    assert_eq!(second.read(9, 256, 8), [Step::Send(9, Role::Hole, 256, 8)], "a hole there is one here");
    second.served(256, Role::Hole);
    assert!(second.read_whole(512, 8));
    assert_eq!(second.cache.held(), [8, 4, 2], "the least recently used has made room");
    assert_eq!(second.cache.contents().reused(&contents), 1, "that of 2 was used by the first cache");
    second.cache.check_idle();
}

#[test]
fn contents_of_another_geometry_are_ignored() {
    let mut first = Bench::new("4x32k,algorithm=always");
    assert!(first.read_whole(0, 8));
    let contents = first.cache.contents();
    let mut other = Bench::new("2x64k,algorithm=always");
    other.cache.begin_with(&contents);
    assert!(other.cache.contents().is_empty());
    let mut off = Bench::new("4x32k,algorithm=never");
    off.cache.begin_with(&contents);
    assert!(off.cache.contents().is_empty(), "a cache that is off holds nothing");
}
