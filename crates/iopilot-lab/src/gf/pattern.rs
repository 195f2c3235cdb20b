//! [`ProcessReads`]: the requests of one process.

use super::GfBenchmark;
use super::layout::GfFileSystem;
use super::request::{BenchmarkRequest, IssuingTask, PAGE, PROCESSES};
use super::tree::TreeWalk;
use iopilot_block::Nanos;

/// A file of 1 GB, in sectors.
const FILE: u64 = 1 << 21;
/// The largest window of read-ahead: 128 kB.
const WINDOW: u64 = 32 * PAGE;
/// On a disk that is too small for such files, each file has one part in 48: a third of the disk is left for the source
/// trees.
const SHARE: u64 = 48;

/// The requests of one process, in order.
#[derive(Clone, Debug)]
pub(super) enum ProcessReads {
    /// 4 kB every `step` sectors; then `series` more times, each time a page further on.
    Strided { first: u64, next: u64, end: u64, step: u64, series: u32 },
    /// 8 kB at a time, from the end of a file.
    Backward { first: u64, next: u64 },
    /// Read-ahead windows, from the beginning of a file.
    Sequential { first: u64, next: u64, end: u64 },
    /// The files of a tree.
    Tree(Box<TreeWalk>),
}

impl ProcessReads {
    /// The requests of process `number` (below [`PROCESSES`]) on a disk of `capacity` sectors, for this `share` of each
    /// file.
    pub(super) fn new(
        benchmark: GfBenchmark,
        number: u64,
        capacity: u64,
        files: GfFileSystem,
        seed: u64,
        share: f64,
    ) -> Self {
        let file = Self::file(capacity);
        let first = number * file;
        let end = first + (file as f64 * share) as u64 / WINDOW * WINDOW;
        let strided = |step, series| Self::Strided { first, next: first, end, step, series };
        match benchmark {
            GfBenchmark::Tac => Self::Backward { first, next: end },
            GfBenchmark::Strided512 => strided(129 * PAGE, 3),
            GfBenchmark::Strided8 => strided(3 * PAGE, 0),
            GfBenchmark::Ior => Self::Sequential { first, next: first, end },
            GfBenchmark::KernelRead => {
                // A third of a file's size: about 340 MB, in which the sources take 250.
                let room = file / 3 / PAGE * PAGE;
                let trees = files.layout.sectors(PROCESSES, file) + number * room;
                Self::Tree(Box::new(TreeWalk::new(trees, room, files.hashed, seed ^ number, share)))
            }
        }
    }

    /// The length of each file on a disk of `capacity` sectors.
    pub(super) fn file(capacity: u64) -> u64 {
        FILE.min(capacity / SHARE) / WINDOW * WINDOW
    }

    /// The next request; `None` at the end.
    pub(super) fn next(&mut self) -> Option<BenchmarkRequest> {
        let piece = |lba, sectors: u64, ahead| BenchmarkRequest {
            lba,
            sectors: sectors as u32,
            ahead,
            think: Nanos::ZERO,
            task: IssuingTask::Own,
        };
        match self {
            Self::Tree(walk) => walk.next(),
            Self::Backward { first, next } => {
                let lba = next.checked_sub(2 * PAGE).filter(|lba| lba >= first)?;
                *next = lba;
                Some(piece(lba, 2 * PAGE, false))
            }
            Self::Sequential { first, next, end } => {
                let lba = *next;
                if lba + WINDOW > *end {
                    return None;
                }
                *next += WINDOW;
                Some(piece(lba, WINDOW, lba >= *first + 2 * WINDOW))
            }
            Self::Strided { first, next, end, step, series } => {
                if *next + PAGE > *end {
                    *series = series.checked_sub(1)?;
                    *first += PAGE;
                    *next = *first;
                }
                let lba = *next;
                *next += *step;
                (lba + PAGE <= *end).then(|| piece(lba, PAGE, false))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::FilePlacement;
    use super::*;

    const CAPACITY: u64 = 400 << 21;

    fn places(benchmark: GfBenchmark, count: usize) -> Vec<(u64, u32)> {
        let mut pattern = ProcessReads::new(benchmark, 1, CAPACITY, GfFileSystem::default(), 0, 1.0);
        std::iter::from_fn(|| pattern.next()).take(count).map(|p| (p.lba - FILE, p.sectors)).collect()
    }

    #[test]
    fn patterns_are_as_the_source_describes_them() {
        assert_eq!(places(GfBenchmark::Strided8, 3), [(0, 8), (24, 8), (48, 8)], "4 kB, then 8 kB left out");
        assert_eq!(places(GfBenchmark::Strided512, 2), [(0, 8), (1032, 8)], "4 kB, then 512 kB left out");
        assert_eq!(places(GfBenchmark::Tac, 2), [(FILE - 16, 16), (FILE - 32, 16)]);
        assert_eq!(places(GfBenchmark::Ior, 2), [(0, 256), (256, 256)]);
    }

    #[test]
    fn every_file_is_read_to_its_end_and_no_further() {
        assert_eq!(places(GfBenchmark::Tac, usize::MAX).len(), 131_072);
        assert_eq!(places(GfBenchmark::Ior, usize::MAX).len(), 8192);
        assert_eq!(places(GfBenchmark::Strided8, usize::MAX).len(), 87_382);
        let four = places(GfBenchmark::Strided512, usize::MAX);
        assert_eq!(four.len(), 4 * 2033);
        assert_eq!(four[2033], (8, 8), "the second series begins 4 kB further on");
        for layout in [FilePlacement::OnePiece, FilePlacement::Interleaved] {
            for benchmark in GfBenchmark::ALL {
                let files = GfFileSystem { layout, ..GfFileSystem::default() };
                let mut last = ProcessReads::new(benchmark, PROCESSES - 1, CAPACITY, files, 3, 1.0);
                let end = std::iter::from_fn(|| last.next()).take(50_000).map(|p| p.lba + u64::from(p.sectors)).max();
                assert!(end.is_some_and(|end| end <= CAPACITY), "{benchmark}: {end:?}");
            }
        }
    }
}
