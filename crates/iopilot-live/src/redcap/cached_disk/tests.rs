//! Compares a cached file with plain bytes.

use super::*;
use crate::block_server::Buffers;
use crate::redcap::frames::Frames;
use iopilot_block::Op;
use iopilot_redcap::{CacheGeometry, Redcap, RedcapSpec};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RedcapReferenceDisk, RunConfig};
use iopilot_testing::skipped;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes of the disk: 39 segments of 32 KiB, and a part of one that ends within a block.
const SIZE: u64 = 39 * 32768 + 3 * 4096 + 512;

/// A cached disk whose bytes are in a file, and the thread that takes its completions.
struct Bench {
    disk: Arc<CachedDisk>,
    buffers: Arc<Buffers>,
    thread: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Bench {
    /// `None` where the kernel has no io_uring for this process; the test then says that it is skipped.
    fn new(settings: &str, readable: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        std::fs::write(&path, vec![0; readable as usize]).unwrap();
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let ring = match Ring::new(file.as_raw_fd()) {
            Ok(ring) => Arc::new(ring),
            Err(e) => {
                skipped(&format!("needs io_uring: {e}"));
                return None;
            }
        };
        let spec = RedcapSpec::parse(settings).unwrap();
        let frames = Frames::new(spec.geometry.segments, 32768, spec.most_bytes() as usize).unwrap();
        let scheduler = SchedulerSpec::parse("mq-deadline").unwrap();
        let simulated_disk = || RedcapReferenceDisk::new(&scheduler, SIZE / 512, &RunConfig::default()).unwrap();
        let simulated_disk = spec.algorithm.needs_reference_disk().then(simulated_disk);
        let cache = Redcap::with_reference_disk(&spec, SIZE / 512, simulated_disk).unwrap();
        let body = CacheBody::new(cache, &spec, frames, Arc::clone(&ring), 64);
        let lower = LowerDisk {
            file: Mutex::new(Some(file)),
            path,
            size: SIZE,
            start: 0,
            logical_block: 512,
            rotational: true,
            discards: true,
            requests: 64,
            queue: None,
        };
        let disk = Arc::new(CachedDisk::new(body, ring, lower, || panic!("io_uring failed")));
        let thread = {
            let disk = Arc::clone(&disk);
            Some(thread::spawn(move || disk.take_completions()))
        };
        Some(Self { disk, buffers: Arc::default(), thread, _folder: folder })
    }

    /// Sends a request; a write writes `data`.
    fn send(&self, op: Op, offset: u64, length: u64, data: &[u8]) -> Receiver<crate::block_server::Sent> {
        let mut buffer = self.buffers.take();
        buffer[..data.len()].copy_from_slice(data);
        let (sent, told) = channel();
        let request = BlockRequest { op, durable: offset % 3 == 0, offset, length };
        assert!(self.disk.take(request, Answer::test(buffer, sent)).is_none());
        told
    }

    fn read(&self, offset: u64, length: u64) -> crate::block_server::Sent {
        self.send(Op::Read, offset, length, &[]).recv_timeout(Duration::from_secs(30)).expect("an answer")
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.disk.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        assert_eq!(self.read(0, 512), Err(Some(libc::EIO)), "nobody would take its completion");
        {
            let body = self.disk.lock();
            assert_eq!((body.pending(), body.in_flight()), (0, 0), "nothing is lost");
        }
        self.disk.close().unwrap();
        assert_eq!(self.read(0, 512), Err(Some(libc::EIO)), "the disk is given up");
    }
}

/// Whether two ranges of bytes overlap.
fn meet(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 < b.0 + b.1 && b.0 < a.0 + a.1
}

/// Runs batches of requests, in which no write overlaps another request of its batch. Meanwhile the cache is turned on
/// and off, and grows and shrinks.
fn soak(settings: &str, batches: u32) {
    let Some(bench) = Bench::new(settings, SIZE) else { return };
    let resizes = settings.contains("cap");
    let mut random = Pcg64Mcg::seed_from_u64(0x5EED_CA9E);
    let mut plain = vec![0u8; SIZE as usize];
    for batch in 0..batches {
        bench.disk.with(|body| body.set_queue_limit([1, 4, 64][batch as usize % 3]));
        let mut under_way: Vec<(Op, (u64, u64), Receiver<_>)> = Vec::new();
        for _ in 0..random.random_range(1..24) {
            let first = random.random_range(0..SIZE / 512);
            // Mostly near the start, so that segments are hit again.
            let first = if random.random_bool(0.7) { first % 400 } else { first };
            let sectors = random.random_range(1..=130).min(SIZE / 512 - first);
            let extent = (first * 512, sectors * 512);
            let op = match random.random_range(0..20) {
                0..14 => Op::Read,
                14..18 => Op::Write,
                18 => Op::Discard,
                _ => Op::Flush,
            };
            let changes = |op| matches!(op, Op::Write | Op::Discard);
            if under_way.iter().any(|&(other, at, _)| (changes(op) || changes(other)) && meet(at, extent)) {
                continue;
            }
            let told = match op {
                Op::Write => {
                    let data: Vec<u8> = (0..extent.1).map(|_| random.random()).collect();
                    plain[extent.0 as usize..][..data.len()].copy_from_slice(&data);
                    bench.send(op, extent.0, extent.1, &data)
                }
                Op::Flush => bench.send(op, 0, 0, &[]),
                _ => {
                    if op == Op::Discard {
                        plain[extent.0 as usize..][..extent.1 as usize].fill(0);
                    }
                    bench.send(op, extent.0, extent.1, &[])
                }
            };
            under_way.push((op, extent, told));
        }
        if batch % 16 == 7 {
            bench.disk.with(|body| body.set_active(batch % 32 == 7, now()));
        }
        if batch % 64 == 9 {
            bench.disk.with(|body| body.set_limit(u64::from(1 + batch / 64 % 8) * 32768));
        }
        if resizes && batch % 16 == 3 {
            let geometry = CacheGeometry { segments: 1 + batch / 16 % 12, segment_blocks: 8 << (batch / 192 % 3) };
            let result = bench.disk.with(|body| body.set_geometry(geometry, now()));
            assert_eq!(result.is_ok(), geometry.bytes() <= 1 << 20, "{geometry}");
        }
        for (op, extent, told) in under_way {
            let answer = told.recv().unwrap().unwrap_or_else(|e| panic!("{op} of {extent:?}: {e:?}"));
            let expected = &plain[extent.0 as usize..][..extent.1 as usize];
            assert!(op != Op::Read || answer == expected, "a read of {extent:?} in batch {batch}");
        }
    }
    let hits = bench.disk.lock().cache.counters().hits;
    assert!(hits > 0, "it is of use at all");
}

#[test]
fn bytes_are_those_of_a_plain_disk() {
    soak("8x32k,algorithm=always", 2000);
}

#[test]
fn bytes_are_those_of_a_plain_disk_as_the_segments_change() {
    soak("8x32k,algorithm=always,cap=1", 2000);
    soak("8x32k,algorithm=always,cap=1,miss=combined", 1000);
}

#[test]
fn a_prefetch_waits_for_room_in_the_disks_queue() {
    let Some(bench) = Bench::new("64x32k,algorithm=always", SIZE) else { return };
    bench.disk.with(|body| body.set_queue_limit(1));
    // Sixteen misses at once, and then a neighbour of each.
    for offset in [0, 4096] {
        let told: Vec<_> = (0..16).map(|n| bench.send(Op::Read, n * 32768 + offset, 4096, &[])).collect();
        for answer in told {
            answer.recv_timeout(Duration::from_secs(30)).expect("an answer").unwrap();
        }
    }
    let body = bench.disk.lock();
    let counters = body.cache.counters();
    // A machine that stands still for a second gives some up.
    assert!(counters.misses <= 20 && counters.hits + counters.waits >= 12, "{counters:?}");
    assert!(counters.put_off > 0, "{counters:?}");
}

#[test]
fn bytes_are_those_of_a_plain_disk_with_combined_misses() {
    soak("8x32k,algorithm=always,miss=combined,strict=on", 2000);
}

#[test]
fn bytes_are_those_of_a_plain_disk_as_the_algorithm_changes_its_mind() {
    soak("8x32k,algorithm=v2", 2000);
}

#[test]
fn bytes_are_those_of_a_plain_disk_with_a_simulated_one() {
    soak("8x32k,algorithm=vd", 1000);
}

/// The file is shorter than the disk: reads beyond its end fail, as on bad sectors.
#[test]
fn an_error_reaches_only_requests_for_the_block() {
    const GOOD: u64 = 32768 + 5 * 4096;
    for miss in ["split", "combined"] {
        let settings = format!("8x32k,algorithm=always,miss={miss}");
        let Some(bench) = Bench::new(&settings, GOOD) else { return };
        // The rest of the second segment cannot be read.
        assert_eq!(bench.read(32768, 4096), Ok(vec![0; 4096]), "{miss}");
        assert_eq!(bench.read(32768 + 4096, 4096), Ok(vec![0; 4096]), "{miss}");
        assert_eq!(bench.read(GOOD, 4096), Err(Some(libc::EIO)), "{miss}");
        assert_eq!(bench.read(GOOD - 4096, 4096), Ok(vec![0; 4096]), "{miss}");
        // Once it is written, it is there.
        let data = vec![7; 3 * 4096];
        assert_eq!(bench.send(Op::Write, GOOD, 3 * 4096, &data).recv().unwrap().map(drop), Ok(()));
        assert_eq!(bench.read(GOOD, 4096), Ok(vec![7; 4096]), "{miss}");
    }
}
