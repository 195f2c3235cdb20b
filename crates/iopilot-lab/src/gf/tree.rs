//! [`TreeWalk`]: the traversal of a source tree with small files (GF 2.4.3).

use super::request::{BenchmarkRequest, IssuingTask, PAGE};
use iopilot_block::Nanos;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The time to start a `cat` for the next file.
const EXEC: Nanos = Nanos::from_millis(1);
/// The median size of a file in bytes, and the spread of the sizes' logarithms: 12 kB on average, as in Linux 2.6.17.
const MEDIAN: f64 = 5800.0;
const SPREAD: f64 = 1.2;
/// The most files in a directory; half of that on average.
const FILES: u32 = 32;
/// The largest file, in pages (1 MB).
const LARGEST: u64 = 256;
/// The probability that a directory follows the one before on the disk. Otherwise it lies anywhere in the tree's part
/// of the disk.
const FOLLOWS: f64 = 0.7;
/// The number of directories of a tree.
const DIRECTORIES: u32 = 1200;

/// Reads each directory's block and its files' inodes, and then the files, in one of two orders: that of the hashes of
/// their names, which is not that of their blocks; or that of their creation, which is.
#[derive(Clone, Debug)]
pub(super) struct TreeWalk {
    random: Pcg64Mcg,
    /// Whether files are read in the order of their names' hashes.
    hashed: bool,
    first: u64,
    room: u64,
    /// The sector where a directory would follow the one before.
    next: u64,
    directories: u32,
    /// Files still to be read: first sector, pages.
    files: Vec<(u64, u64)>,
    /// The rest of the current file.
    file: (u64, u64),
    /// The number of windows that were read of it.
    windows: u32,
    /// The sector of the inodes, if they are read next.
    inodes: Option<u64>,
}

impl TreeWalk {
    /// A walk over this `share` of a tree, which lies in the `room` sectors from `first`.
    pub(super) fn new(first: u64, room: u64, hashed: bool, seed: u64, share: f64) -> Self {
        Self {
            hashed,
            random: Pcg64Mcg::seed_from_u64(seed),
            first,
            room,
            next: first,
            directories: (f64::from(DIRECTORIES) * share).round() as u32,
            files: Vec::with_capacity(FILES as usize),
            file: (0, 0),
            windows: 0,
            inodes: None,
        }
    }

    pub(super) fn next(&mut self) -> Option<BenchmarkRequest> {
        let page =
            |lba, think| BenchmarkRequest { lba, sectors: PAGE as u32, ahead: false, think, task: IssuingTask::Own };
        if let Some(lba) = self.inodes.take() {
            return Some(page(lba, Nanos::ZERO));
        }
        if self.file.1 == 0 {
            match self.files.pop() {
                Some(file) => (self.file, self.windows) = (file, 0),
                None => return self.directory().map(|lba| page(lba, Nanos::ZERO)),
            }
        }
        // Four pages, then windows of 8, 16 and 32.
        let pages = (4 << self.windows.min(3)).min(self.file.1);
        let piece = BenchmarkRequest {
            lba: self.file.0,
            sectors: (pages * PAGE) as u32,
            ahead: self.windows >= 2,
            think: if self.windows == 0 { EXEC } else { Nanos::ZERO },
            task: if self.windows == 0 { IssuingTask::Starts } else { IssuingTask::Started },
        };
        self.file = (self.file.0 + pages * PAGE, self.file.1 - pages);
        self.windows += 1;
        Some(piece)
    }

    /// Goes on to another directory, and returns the block that lists its files.
    fn directory(&mut self) -> Option<u64> {
        self.directories = self.directories.checked_sub(1)?;
        let most = (u64::from(FILES) * LARGEST + 2) * PAGE;
        let places = self.room.checked_sub(most)? / PAGE;
        if !self.random.random_bool(FOLLOWS) || self.next > self.first + places * PAGE {
            self.next = self.first + self.random.random_range(0..=places) * PAGE;
        }
        let lba = self.next;
        let mut at = lba + 2 * PAGE;
        for _ in 0..self.random.random_range(1..=FILES) {
            let pages = ((self.size() / 4096.0).ceil() as u64).clamp(1, LARGEST);
            self.files.push((at, pages));
            at += pages * PAGE;
        }
        if self.hashed {
            self.files.shuffle(&mut self.random);
        } else {
            // `files` is a stack: the first to be read is last.
            self.files.reverse();
        }
        self.inodes = Some(lba + PAGE);
        self.next = at;
        Some(lba)
    }

    /// The size of a file in bytes: its logarithm is normal (Box-Muller).
    fn size(&mut self) -> f64 {
        let (u, v): (f64, f64) = (1.0 - self.random.random::<f64>(), self.random.random());
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        MEDIAN * (SPREAD * normal).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_that_of_linux_2_6_17() {
        let mut walk = TreeWalk::new(1000, 700_000, true, 1, 1.0);
        let pieces: Vec<BenchmarkRequest> = std::iter::from_fn(|| walk.next()).collect();
        let files = pieces.iter().filter(|p| p.think > Nanos::ZERO).count();
        let bytes: u64 = pieces.iter().map(|p| u64::from(p.sectors) * 512).sum();
        assert!((17_000..23_000).contains(&files), "{files}");
        assert!((200e6..350e6).contains(&(bytes as f64)), "{bytes}");
        assert!(pieces.iter().all(|p| p.lba >= 1000 && p.lba + u64::from(p.sectors) <= 701_000 && p.sectors <= 256));
        // Most files fit into the first window.
        let small = pieces.windows(2).filter(|w| w[0].think > Nanos::ZERO && w[1].think > Nanos::ZERO).count();
        assert!(small * 3 > files * 2, "{small} of {files}");
    }

    #[test]
    fn without_hashes_the_files_of_a_directory_are_read_in_the_order_of_their_blocks() {
        let backwards = |hashed| {
            let mut walk = TreeWalk::new(0, 700_000, hashed, 1, 0.1);
            let pieces: Vec<BenchmarkRequest> = std::iter::from_fn(|| walk.next()).collect();
            let steps = pieces.windows(2).filter(|w| w[1].task != IssuingTask::Own);
            steps.clone().filter(|w| w[1].lba < w[0].lba).count() as f64 / steps.count() as f64
        };
        assert_eq!(backwards(false), 0.0);
        assert!(backwards(true) > 0.3, "{}", backwards(true));
    }
}
