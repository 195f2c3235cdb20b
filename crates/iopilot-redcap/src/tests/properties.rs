//! Properties that hold for any order of events.

use super::bench::io;
use super::body::Body;
use super::fifo_disk::FifoDisk;
use crate::{Algorithm, Miss, NoReferenceDisk, Redcap, RedcapSpec, ReferenceDisk};
use iopilot_block::{Nanos, Op};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// 512 blocks, and three sectors of another.
const SECTORS: u64 = 512 * 8 + 3;

fn soak<V: ReferenceDisk>(spec: &str, seed: u64, steps: u64, disk: V, mischief: bool) -> Body<V> {
    let spec = RedcapSpec::parse(spec).unwrap();
    let mut body = Body::new(&spec, SECTORS, disk, Pcg64Mcg::seed_from_u64(seed));
    for i in 0..20_usize {
        body.set_limit([u32::MAX, 1, 4, 16][i % 4]);
        body.slow = if i % 2 == 0 { (500_000, 0) } else { (0, 1_000_000) };
        (body.errors, body.flips) = (mischief, mischief);
        for _ in 0..steps / 20 {
            body.step();
        }
        body.drain();
    }
    body
}

/// Every read returns what a disk alone could have returned, and every original completes once.
#[test]
fn readers_see_what_is_on_the_disk() {
    let (mut operations, mut changes) = (0, [0; 4]);
    let algorithms = [Algorithm::Always, Algorithm::V0, Algorithm::V1, Algorithm::V2];
    for (i, geometry) in ["1x32k", "3x32k", "8x64k", "4x256k", "32x32k"].iter().enumerate() {
        for miss in Miss::ALL {
            for (strict, mischief) in [("on", false), ("on", true), ("off", false), ("off", true)] {
                for (algorithm, changes) in algorithms.iter().zip(&mut changes) {
                    let spec = format!("{geometry},algorithm={algorithm},miss={miss},strict={strict},max_sectors=64");
                    let body = soak(&spec, i as u64, 25_000, NoReferenceDisk, mischief);
                    operations += body.operations;
                    *changes += if mischief { 0 } else { body.cache.counters().activations };
                }
            }
        }
    }
    assert_eq!(operations, 4_000_000);
    assert!(changes[0] == 0 && changes[1..].iter().all(|&changes| changes > 20), "{changes:?}");
}

#[test]
fn readers_see_the_disk_with_never_and_adaptive() {
    soak("4x32k,algorithm=never", 1, 20_000, NoReferenceDisk, true);
    let body = soak("4x32k,algorithm=adaptive", 2, 100_000, NoReferenceDisk, true);
    assert!(body.rebuilt > 50, "segments of another size {} times", body.rebuilt);
}

#[test]
fn readers_see_the_disk_with_a_reference_disk() {
    for spec in ["4x32k,algorithm=vd", "4x32k,algorithm=vd-all-blocks", "32x32k,algorithm=vd,miss=split,strict=on"] {
        for (seed, mischief) in [(3, false), (4, true)] {
            let mut disk = FifoDisk::new(Nanos(150), Nanos(5));
            disk.most = 60;
            soak(spec, seed, 100_000, disk, mischief);
        }
    }
}

/// Both kinds of misses, on the same sequence of requests, one at a time.
#[test]
fn combined_and_split_return_the_same_data() {
    let run = |miss: Miss| {
        let spec = RedcapSpec::parse(&format!("4x32k,algorithm=always,miss={miss}")).unwrap();
        let mut body = Body::new(&spec, SECTORS, NoReferenceDisk, Pcg64Mcg::seed_from_u64(5));
        let mut rng = Pcg64Mcg::seed_from_u64(6);
        for _ in 0..20_000 {
            let op = if rng.random_range(0..4) == 0 { Op::Write } else { Op::Read };
            let lba = rng.random_range(0..SECTORS / 2);
            body.request(op, lba, rng.random_range(1..80));
            // With one request at a time, a read has only one right answer, which the body checks.
            body.drain();
        }
        body.cache.counters().requested_blocks
    };
    assert_eq!(run(Miss::Split), run(Miss::Combined));
}

/// A clone behaves as the original.
#[test]
fn a_clone_is_the_same_cache() {
    let spec = RedcapSpec::parse("4x32k,algorithm=v2").unwrap();
    let mut cache = Redcap::new(&spec, SECTORS).unwrap();
    let mut out = Vec::new();
    cache.submit(&io(1, Op::Read, 0, 8), Nanos(1), &mut out);
    let mut other = cache.clone();
    let (mut here, mut there) = (Vec::new(), Vec::new());
    cache.submit(&io(2, Op::Read, 4, 80), Nanos(2), &mut here);
    other.submit(&io(2, Op::Read, 4, 80), Nanos(2), &mut there);
    assert_eq!(here, there);
}
