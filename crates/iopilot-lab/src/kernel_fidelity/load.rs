//! [`ReadLoad`]: processes that read a live disk in the five patterns of GF 2.4.3 (GF is González-Férez' thesis of
//! 2012), without the page cache.

use crate::threads::in_threads;
use anyhow::{Context as _, ensure};
use iopilot_block::{Nanos, SECTOR_BYTES};
use iopilot_live::BlockQueue;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::fs::OFlags;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

const KIB: u64 = 1024;
/// The alignment of reads, which direct I/O accepts everywhere.
const BLOCK: u64 = 4 * KIB;
/// The largest read.
const LARGEST: u64 = 64 * KIB;
/// How long before its start a process begins to poll the clock.
const SPUN: Duration = Duration::from_micros(200);
/// The files of a directory of a source tree, which lie one after the other.
const FILES: u32 = 20;

/// The pattern in which a process reads its own part of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReadPattern {
    /// 64 kB at a time, from the beginning (IOR).
    Sequential,
    /// 4 kB, leaving out 8 kB (8k-SR).
    Strided8k,
    /// 4 kB, leaving out 512 kB (512k-SR).
    Strided512k,
    /// 8 kB at a time, from the end (TAC).
    Backward,
    /// Files of 4 to 64 kB, each after the 4 kB that describe it. Twenty files lie side by side, and the next twenty
    /// anywhere (LKR).
    SmallFiles,
}

impl ReadPattern {
    /// All five patterns.
    pub(super) const ALL: [Self; 5] =
        [Self::Sequential, Self::Strided8k, Self::Strided512k, Self::Backward, Self::SmallFiles];
}

impl fmt::Display for ReadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sequential => "sequential",
            Self::Strided8k => "8k strided",
            Self::Strided512k => "512k strided",
            Self::Backward => "backward",
            Self::SmallFiles => "small files",
        })
    }
}

/// Processes that read a disk, each its own part of it, one request at a time. Each is a task, which is what schedulers
/// call a process. The addresses depend only on this description.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadLoad {
    /// The pattern of each process.
    pub(super) pattern: ReadPattern,
    /// The number of processes.
    pub(super) processes: u32,
    /// The number of reads of each process.
    pub(super) reads: u32,
    /// Bytes that are left out at the start of each part. A load finds nothing of another load in the disk's cache if
    /// that one left out less.
    pub(super) skip: u64,
    /// The random seed.
    pub(super) seed: u64,
}

/// When the processes begin. If all began at once, their order would be random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StartTimes {
    /// When the first begins, on `CLOCK_MONOTONIC`; at once if that has passed.
    pub(super) at: Nanos,
    /// The time between two processes' beginnings.
    pub(super) apart: Nanos,
}

impl StartTimes {
    /// Waits for the start of process `n`. A process that must begin at an exact microsecond must not sleep at the end,
    /// because waking takes longer.
    fn wait(&self, n: u32) {
        let at = self.at + Nanos(u64::from(n) * self.apart.0);
        sleep(Duration::from_nanos(at.since(monotonic()).0).saturating_sub(SPUN));
        while monotonic() < at {
            std::hint::spin_loop();
        }
    }
}

impl ReadLoad {
    /// Reads `device` from `begin` on. Returns when all processes have finished, or soon after `stop`.
    ///
    /// # Errors
    /// If the device cannot be read, or is too small for the processes.
    pub(super) fn run(&self, device: &Path, begin: StartTimes, stop: &AtomicBool) -> anyhow::Result<()> {
        let failed = || format!("reading {}", device.display());
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(OFlags::DIRECT.bits() as i32);
        let file = options.open(device).with_context(failed)?;
        let share =
            BlockQueue::open(device)?.sectors()? * SECTOR_BYTES / u64::from(self.processes.max(1)) / BLOCK * BLOCK;
        let needed = self.skip() + self.room();
        ensure!(share >= needed, "{}: {share} bytes for each process, expected at least {needed}", device.display());
        let together = Barrier::new(self.processes as usize);
        let work = |n: u32| -> io::Result<()> {
            let mut reads = Reads::new(self, n, share);
            let mut memory = vec![0; (LARGEST + BLOCK) as usize];
            together.wait();
            begin.wait(n);
            for _ in 0..self.reads {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let (offset, bytes) = reads.next();
                file.read_exact_at(aligned(&mut memory, bytes), offset)?;
            }
            Ok(())
        };
        in_threads(self.processes, work).with_context(failed)
    }

    /// The smallest disk for the load, in bytes.
    #[cfg(test)]
    pub(super) fn needs(&self) -> u64 {
        (self.skip() + self.room()) * u64::from(self.processes)
    }

    fn skip(&self) -> u64 {
        self.skip / BLOCK * BLOCK
    }

    /// The smallest part for a process, in bytes.
    fn room(&self) -> u64 {
        u64::from(self.reads) * 12 * KIB + 64 * KIB * u64::from(FILES + 1)
    }
}

/// `CLOCK_MONOTONIC`.
fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// The part of `memory` that direct I/O accepts: `bytes` that begin at a multiple of a block. `memory` is [`BLOCK`]
/// longer.
fn aligned(memory: &mut [u8], bytes: usize) -> &mut [u8] {
    let start = memory.as_ptr().align_offset(BLOCK as usize);
    &mut memory[start..start + bytes]
}

/// The next reads of one process.
struct Reads {
    pattern: ReadPattern,
    start: u64,
    share: u64,
    /// The number of reads so far.
    made: u64,
    /// The current position, in bytes from the start.
    at: u64,
    /// Bytes left of the current file.
    left: u64,
    /// Files read of the current directory.
    files: u32,
    random: Pcg64Mcg,
}

impl Reads {
    /// The reads of process `n`, whose part is the `n`th one of `part` bytes.
    fn new(load: &ReadLoad, n: u32, part: u64) -> Self {
        let (begin, share) = (u64::from(n) * part, part - load.skip());
        let start = begin + if load.pattern == ReadPattern::Backward { 0 } else { load.skip() };
        let random = Pcg64Mcg::seed_from_u64(load.seed.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(n)));
        Self { pattern: load.pattern, start, share, made: 0, at: 0, left: 0, files: FILES, random }
    }

    /// Offset and size, in bytes.
    fn next(&mut self) -> (u64, usize) {
        let n = self.made;
        self.made += 1;
        let (at, bytes) = match self.pattern {
            ReadPattern::Sequential => (self.wrapped(n * 64 * KIB, 64 * KIB), 64 * KIB),
            ReadPattern::Strided8k => (self.wrapped(n * 12 * KIB, 4 * KIB), 4 * KIB),
            ReadPattern::Strided512k => {
                // Each round begins a block further on, as in the source's benchmark.
                let a_round = (self.share - BLOCK) / (516 * KIB);
                let round = n / a_round.max(1);
                (self.wrapped((n % a_round.max(1)) * 516 * KIB + round * BLOCK, 4 * KIB), 4 * KIB)
            }
            ReadPattern::Backward => {
                let room = self.share / (8 * KIB);
                ((room - 1 - n % room) * 8 * KIB, 8 * KIB)
            }
            ReadPattern::SmallFiles => self.of_a_file(),
        };
        (self.start + at, bytes as usize)
    }

    fn wrapped(&self, at: u64, bytes: u64) -> u64 {
        at % (self.share - bytes + 1) / BLOCK * BLOCK
    }

    fn of_a_file(&mut self) -> (u64, u64) {
        if self.left > 0 {
            let (at, bytes) = (self.at, self.left);
            self.at += bytes;
            self.left = 0;
            return (at, bytes);
        }
        if self.files == FILES {
            self.files = 0;
            let room = (self.share - 64 * KIB * u64::from(FILES + 1)) / BLOCK;
            self.at = self.random.random_range(0..=room) * BLOCK;
        }
        self.files += 1;
        // Half are a block, a quarter two: most of a source tree is small.
        let blocks = (1 + self.random.random::<u16>().leading_zeros() as u64).min(16);
        self.left = blocks * BLOCK;
        let described = self.random.random_range(0..64) * BLOCK;
        (described, BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_reads_within_its_part() {
        for pattern in ReadPattern::ALL {
            for (n, seed) in (0..40).zip(0..) {
                let load = ReadLoad { pattern, processes: 40, reads: 200, skip: 0, seed };
                let share = load.room() + u64::from(n) * 7 * BLOCK;
                let mut reads = Reads::new(&load, n, share);
                for _ in 0..load.reads {
                    let (offset, bytes) = reads.next();
                    assert!(offset >= u64::from(n) * share, "{load:?}");
                    assert!(offset + bytes as u64 <= u64::from(n + 1) * share, "{load:?}");
                    assert!(offset % BLOCK == 0 && bytes as u64 % BLOCK == 0, "{load:?}");
                    assert!((1..=LARGEST).contains(&(bytes as u64)), "{load:?}");
                }
            }
        }
    }

    #[test]
    fn memory_is_where_direct_io_takes_it() {
        let mut memory = vec![0; (LARGEST + BLOCK) as usize];
        let part = aligned(&mut memory, LARGEST as usize);
        assert_eq!((part.len() as u64, part.as_ptr() as u64 % BLOCK), (LARGEST, 0));
    }

    #[test]
    fn a_load_that_leaves_out_more_reads_other_places() {
        for pattern in ReadPattern::ALL {
            let places = |skip| {
                let load = ReadLoad { pattern, processes: 1, reads: 50, skip, seed: 0 };
                let mut reads = Reads::new(&load, 1, 64 << 20);
                (0..load.reads).map(|_| reads.next()).collect::<Vec<_>>()
            };
            let (one, other) = (places(0), places(32 << 20));
            assert!(one.iter().chain(&other).all(|&(at, bytes)| at >= 64 << 20 && at + bytes as u64 <= 128 << 20));
            // Descriptions of files lie at the beginning of a part, and files anywhere in it.
            let disjoint = |a: &(u64, usize), b: &(u64, usize)| a.0 + a.1 as u64 <= b.0 || b.0 + b.1 as u64 <= a.0;
            assert!(one.iter().all(|a| other.iter().all(|b| disjoint(a, b))), "{pattern}");
        }
    }

    #[test]
    fn patterns_are_those_of_the_source() {
        let first = |pattern| {
            let load = ReadLoad { pattern, processes: 1, reads: 3, skip: 0, seed: 0 };
            let mut reads = Reads::new(&load, 0, 4 << 20);
            [reads.next(), reads.next(), reads.next()].map(|(at, bytes)| (at / KIB, bytes as u64 / KIB))
        };
        assert_eq!(first(ReadPattern::Sequential), [(0, 64), (64, 64), (128, 64)]);
        assert_eq!(first(ReadPattern::Strided8k), [(0, 4), (12, 4), (24, 4)]);
        assert_eq!(first(ReadPattern::Strided512k), [(0, 4), (516, 4), (1032, 4)]);
        assert_eq!(first(ReadPattern::Backward), [(4088, 8), (4080, 8), (4072, 8)]);
    }
}
