//! [`FilePlacement`]: where the blocks of a file are on the disk.

use super::request::{BenchmarkRequest, PAGE, PROCESSES};
use std::collections::VecDeque;

/// Blocks that an indirect block of ext3 points to: 4 MiB.
const RUN: u64 = 1024;

/// A file system's decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GfFileSystem {
    pub(super) layout: FilePlacement,
    /// Whether directories list their files in the order of the hashes of their names.
    pub(super) hashed: bool,
}

impl Default for GfFileSystem {
    fn default() -> Self {
        Self { layout: FilePlacement::OnePiece, hashed: true }
    }
}

/// How the files were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilePlacement {
    /// Each file in one piece.
    OnePiece,
    /// All files at the same time, on ext3: the runs of all files alternate, and each run follows its indirect block.
    Interleaved,
}

impl FilePlacement {
    /// The sectors that `files` files of `file` sectors take.
    pub(super) const fn sectors(self, files: u64, file: u64) -> u64 {
        match self {
            Self::OnePiece => files * file,
            Self::Interleaved => file.div_ceil(RUN * PAGE) * files * (RUN + 1) * PAGE,
        }
    }
}

/// The mapping of one file to the disk.
#[derive(Clone, Debug)]
pub(super) struct FileMap {
    layout: FilePlacement,
    number: u64,
    /// The length of the file in sectors.
    file: u64,
    /// For each run, whether its indirect block is in the page cache.
    known: Vec<bool>,
}

impl FileMap {
    /// File number `number` of [`PROCESSES`], with `file` sectors.
    pub(super) fn new(layout: FilePlacement, number: u64, file: u64) -> Self {
        Self { layout, number, file, known: Vec::new() }
    }

    /// Adds the requests for a piece of the file. The piece's address is that in a file in one piece.
    pub(super) fn place(&mut self, piece: BenchmarkRequest, out: &mut VecDeque<BenchmarkRequest>) {
        let first = self.number * self.file;
        let end = piece.lba + u64::from(piece.sectors);
        if self.layout == FilePlacement::OnePiece || piece.lba < first || end > first + self.file {
            return out.push_back(piece);
        }
        let mut next = piece;
        let mut offset = piece.lba - first;
        while offset < end - first {
            let (run, within) = (offset / (RUN * PAGE), offset % (RUN * PAGE));
            let sectors = (end - first - offset).min(RUN * PAGE - within);
            let start = (run * PROCESSES + self.number) * (RUN + 1) * PAGE;
            let run = run as usize;
            if self.known.len() <= run {
                self.known.resize(run + 1, false);
            }
            if !std::mem::replace(&mut self.known[run], true) {
                out.push_back(BenchmarkRequest { lba: start, sectors: PAGE as u32, ahead: false, ..next });
                // The data's address is only known when the indirect block has been read.
                next.ahead = false;
            }
            out.push_back(BenchmarkRequest { lba: start + PAGE + within, sectors: sectors as u32, ..next });
            offset += sectors;
            // The rest is issued at the same time.
            next.ahead = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::IssuingTask;
    use super::*;
    use iopilot_block::Nanos;

    const FILE: u64 = 1 << 21;

    fn places(map: &mut FileMap, lba: u64, sectors: u32) -> Vec<(u64, u32, bool)> {
        let mut out = VecDeque::new();
        let piece = BenchmarkRequest { lba, sectors, ahead: false, think: Nanos::ZERO, task: IssuingTask::Own };
        map.place(piece, &mut out);
        out.into_iter().map(|piece| (piece.lba, piece.sectors, piece.ahead)).collect()
    }

    #[test]
    fn runs_of_all_files_follow_each_other_behind_their_indirect_blocks() {
        let mut map = FileMap::new(FilePlacement::Interleaved, 3, FILE);
        let run = 1025 * 8;
        let first = 3 * FILE;
        assert_eq!(places(&mut map, first, 16), [(3 * run, 8, false), (3 * run + 8, 16, false)]);
        assert_eq!(places(&mut map, first + 16, 8), [(3 * run + 24, 8, false)], "the page cache has the metadata");
        // The last block of a run, and the first of the next.
        let across = places(&mut map, first + 1023 * 8, 16);
        let second = (32 + 3) * run;
        assert_eq!(across, [(4 * run - 8, 8, false), (second, 8, false), (second + 8, 8, false)]);
        assert_eq!(places(&mut map, first + 1023 * 8, 16), [(4 * run - 8, 8, false), (second + 8, 8, true)]);
        let last = places(&mut map, first + FILE - 8, 8);
        assert_eq!(last[1].0 + 8, FilePlacement::Interleaved.sectors(32, FILE) - 28 * run);
    }

    #[test]
    fn a_file_in_one_piece_is_not_moved() {
        let mut map = FileMap::new(FilePlacement::OnePiece, 3, FILE);
        assert_eq!(places(&mut map, 3 * FILE + 8184, 16), [(3 * FILE + 8184, 16, false)]);
        assert_eq!(FilePlacement::OnePiece.sectors(32, FILE), 32 * FILE);
    }
}
