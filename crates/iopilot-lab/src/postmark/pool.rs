//! [`Pool`]: the files of one instance, and what a transaction does to them.

use super::space::Space;
use super::{AllocationStyle, BLOCK_BYTES, Extent, PostmarkSpec};
use iopilot_block::{Nanos, Slab};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;

/// The most blocks of one read: 128 KiB, the kernel's `read_ahead_kb`.
const READ_BLOCKS: u64 = 32;
/// Blocks of a file that its inode addresses directly.
const DIRECT_BLOCKS: u64 = 12;

/// A step of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TransactionStep {
    /// Reads blocks. `alone`: nothing else can be issued before the data are known.
    Read { extent: Extent, alone: bool },
    /// Writes data to the page cache.
    Write(Dirty),
    /// Makes metadata dirty.
    Metadata { extent: Extent },
    /// A file is deleted, and its dirty blocks need not be written.
    Forget { blocks: u64 },
    /// The process computes.
    Compute(Nanos),
    /// The transaction is complete.
    Done,
}

/// Dirty blocks of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dirty {
    file: usize,
    generation: u32,
    pub(super) extent: Extent,
}

#[derive(Clone, Debug, Default)]
struct File {
    bytes: u64,
    extents: Vec<Extent>,
    directory: u64,
    /// Blocks in the cache whose write has not begun.
    dirty: u64,
    /// How often the slot has been used.
    generation: u32,
}

/// The files of one instance. It has its own random generator, so that its choices do not depend on how fast it is
/// served.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    random: Pcg64Mcg,
    space: Space,
    first: u64,
    blocks: u64,
    files: Slab<File, usize>,
    /// The slots in use.
    live: Vec<usize>,
    min_bytes: u64,
    max_bytes: u64,
    directories: u64,
    file_system: AllocationStyle,
    compute_per_mib: Nanos,
}

impl Pool {
    /// An aged pool in the `blocks` from `first` on; `None` if the files do not fit.
    pub(super) fn new(spec: &PostmarkSpec, first: u64, blocks: u64, seed: u64) -> Option<Self> {
        let mut pool = Self {
            random: Pcg64Mcg::seed_from_u64(seed),
            space: Space::new(first, blocks),
            first,
            blocks,
            files: Slab::new(),
            live: Vec::new(),
            min_bytes: spec.min_bytes,
            max_bytes: spec.max_bytes,
            directories: u64::from(spec.directories),
            file_system: spec.file_system,
            compute_per_mib: spec.compute_per_mib,
        };
        for _ in 0..spec.files {
            pool.create()?;
        }
        let mut forgotten = VecDeque::new();
        for _ in 0..spec.aging {
            pool.transaction(&mut forgotten);
            forgotten.clear();
        }
        pool.files.as_mut_slice().iter_mut().for_each(|file| file.dirty = 0);
        Some(pool)
    }

    /// Appends the steps of the next transaction to `out`. If there is no space left, writes are left out, as Postmark
    /// continues after an error.
    pub(super) fn transaction(&mut self, out: &mut VecDeque<TransactionStep>) {
        if self.live.is_empty() || self.random.random_bool(0.5) {
            if let Some(file) = self.create() {
                self.wrote(file, 0, out);
                self.metadata(file, out);
            }
        } else {
            let place = self.random.random_range(0..self.live.len());
            let file = self.live.swap_remove(place);
            self.metadata(file, out);
            self.delete(file, out);
        }
        if !self.live.is_empty() {
            let file = self.live[self.random.random_range(0..self.live.len())];
            if self.random.random_bool(0.5) { self.read(file, out) } else { self.append(file, out) }
        }
        out.push_back(TransactionStep::Done);
    }

    /// Whether `dirty` still has to be written. If so, the flusher writes it now.
    pub(super) fn take(&mut self, dirty: &Dirty) -> bool {
        let file = &mut self.files[dirty.file];
        let valid = file.generation == dirty.generation;
        if valid {
            file.dirty -= dirty.extent.blocks;
        }
        valid
    }

    fn create(&mut self) -> Option<usize> {
        let bytes = self.random.random_range(self.min_bytes..=self.max_bytes);
        let directory = self.random.random_range(0..self.directories);
        let extents = self.allot(self.home(directory), bytes.div_ceil(BLOCK_BYTES))?;
        let slot = self.files.insert_with(|old| {
            let generation = old.map_or(0, |file| file.generation) + 1;
            File { bytes, extents, directory, dirty: 0, generation }
        });
        self.live.push(slot);
        Some(slot)
    }

    fn delete(&mut self, slot: usize, out: &mut VecDeque<TransactionStep>) {
        let file = self.files.remove(slot);
        if file.dirty > 0 {
            out.push_back(TransactionStep::Forget { blocks: file.dirty });
        }
        let extents = std::mem::take(&mut file.extents);
        *file = File { generation: file.generation + 1, ..File::default() };
        extents.into_iter().for_each(|e| self.space.give_back(e));
    }

    fn append(&mut self, slot: usize, out: &mut VecDeque<TransactionStep>) {
        let (bytes, last) = (self.files[slot].bytes, self.files[slot].extents.last().copied());
        let Some(last) = last.filter(|_| bytes < self.max_bytes) else { return };
        let more = self.random.random_range(1..=self.max_bytes - bytes);
        let end = last.first + last.blocks;
        let blocks = (bytes + more).div_ceil(BLOCK_BYTES) - bytes.div_ceil(BLOCK_BYTES);
        // Only a part of the last block is replaced.
        let rest = Extent { first: end - 1, blocks: 1 };
        if bytes % BLOCK_BYTES != 0 && self.files[slot].dirty == 0 {
            out.push_back(TransactionStep::Read { extent: rest, alone: true });
        }
        if blocks == 0 {
            let file = &mut self.files[slot];
            (file.bytes, file.dirty) = (bytes + more, file.dirty + 1);
            out.push_back(TransactionStep::Write(Dirty { file: slot, generation: file.generation, extent: rest }));
            return;
        }
        let Some(extents) = self.allot(end, blocks) else { return };
        let file = &mut self.files[slot];
        let from = file.extents.len();
        file.bytes += more;
        file.extents.extend(extents);
        self.wrote(slot, from, out);
    }

    /// The file's extents from index `from` on were written to the cache.
    fn wrote(&mut self, slot: usize, from: usize, out: &mut VecDeque<TransactionStep>) {
        let file = &mut self.files[slot];
        let mut written = 0;
        for &extent in &file.extents[from..] {
            out.push_back(TransactionStep::Write(Dirty { file: slot, generation: file.generation, extent }));
            written += extent.blocks;
        }
        file.dirty += written;
        out.push_back(TransactionStep::Compute(self.compute(written)));
    }

    fn read(&mut self, slot: usize, out: &mut VecDeque<TransactionStep>) {
        let file = &self.files[slot];
        let blocks: u64 = file.extents.iter().map(|e| e.blocks).sum();
        // Data that were just written are in the cache.
        if file.dirty == 0 {
            let mut done = 0;
            for extent in &file.extents {
                let mut at = 0;
                while at < extent.blocks {
                    let indirect = self.file_system == AllocationStyle::Blocks && done < DIRECT_BLOCKS;
                    let most = if indirect { DIRECT_BLOCKS - done } else { READ_BLOCKS };
                    let length = most.min(extent.blocks - at);
                    out.push_back(TransactionStep::Read {
                        extent: Extent { first: extent.first + at, blocks: length },
                        alone: false,
                    });
                    at += length;
                    done += length;
                    if indirect && done == DIRECT_BLOCKS && blocks > DIRECT_BLOCKS {
                        let map = Extent { first: extent.first + at - 1, blocks: 1 };
                        out.push_back(TransactionStep::Read { extent: map, alone: true });
                    }
                }
            }
        }
        out.push_back(TransactionStep::Compute(self.compute(blocks)));
    }

    /// The inode and the directory have changed: 8 KiB of inodes, or an inode's block and a directory's.
    fn metadata(&self, slot: usize, out: &mut VecDeque<TransactionStep>) {
        let home = self.home(self.files[slot].directory);
        let inode = home + slot as u64 % 64;
        match self.file_system {
            AllocationStyle::Extents => {
                let first = (inode - inode % 2).min(self.first + self.blocks - 2);
                out.push_back(TransactionStep::Metadata { extent: Extent { first, blocks: 2 } });
            }
            AllocationStyle::Blocks => {
                out.push_back(TransactionStep::Metadata { extent: Extent { first: inode, blocks: 1 } });
                out.push_back(TransactionStep::Metadata { extent: Extent { first: home, blocks: 1 } });
            }
        }
    }

    /// The first block of a directory's part of the disk.
    fn home(&self, directory: u64) -> u64 {
        self.first + directory * (self.blocks / (self.directories + 1))
    }

    fn allot(&mut self, goal: u64, blocks: u64) -> Option<Vec<Extent>> {
        match self.file_system {
            AllocationStyle::Extents => self.space.take_whole(goal, blocks),
            AllocationStyle::Blocks => self.space.take_pieces(goal, blocks),
        }
    }

    fn compute(&self, blocks: u64) -> Nanos {
        let bytes = u128::from(blocks * BLOCK_BYTES);
        Nanos(((u128::from(self.compute_per_mib.0) * bytes) >> 20) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(file_system: AllocationStyle) -> PostmarkSpec {
        PostmarkSpec { files: 200, aging: 1000, directories: 10, ..PostmarkSpec::carroll(file_system, 2 << 20) }
    }

    fn pieces(pool: &Pool) -> f64 {
        let files = pool.live.iter().map(|&f| pool.files[f].extents.len()).sum::<usize>();
        files as f64 / pool.live.len() as f64
    }

    #[test]
    fn a_file_is_in_fewer_pieces_on_extents() {
        let blocks = 400 * 512;
        let extents = Pool::new(&spec(AllocationStyle::Extents), 0, blocks, 1).unwrap();
        let single = Pool::new(&spec(AllocationStyle::Blocks), 0, blocks, 1).unwrap();
        assert!(
            pieces(&extents) < 2.0 && pieces(&single) > 1.2 * pieces(&extents),
            "{} {}",
            pieces(&extents),
            pieces(&single)
        );
        assert!(Pool::new(&spec(AllocationStyle::Extents), 0, 100 * 256, 1).is_none(), "200 files of 1 MiB in 100");
    }

    #[test]
    fn a_transaction_is_create_or_delete_and_read_or_append() {
        let mut pool = Pool::new(&spec(AllocationStyle::Extents), 0, 400 * 512, 2).unwrap();
        let (mut steps, mut reads, mut writes, mut before) = (VecDeque::new(), 0, 0, pool.live.len());
        for _ in 0..400 {
            pool.transaction(&mut steps);
            assert_eq!(before.abs_diff(pool.live.len()), 1);
            before = pool.live.len();
            assert_eq!(steps.back(), Some(&TransactionStep::Done));
            reads += usize::from(steps.iter().any(|s| matches!(s, TransactionStep::Read { .. })));
            writes += usize::from(steps.iter().any(|s| matches!(s, TransactionStep::Write(_))));
            steps.clear();
        }
        // Half create and half append, so three quarters write. Half read, but not what is still in the cache.
        assert!((260..=340).contains(&writes), "{writes}");
        assert!((100..=300).contains(&reads), "{reads}");
    }

    #[test]
    fn what_is_deleted_is_not_written() {
        let mut pool = Pool::new(&spec(AllocationStyle::Blocks), 0, 400 * 512, 3).unwrap();
        let (mut steps, mut dirty, mut waiting) = (VecDeque::new(), 0i64, Vec::new());
        for _ in 0..2000 {
            pool.transaction(&mut steps);
            for step in steps.drain(..) {
                match step {
                    TransactionStep::Write(d) => {
                        dirty += d.extent.blocks as i64;
                        waiting.push(d);
                    }
                    TransactionStep::Forget { blocks } => dirty -= blocks as i64,
                    _ => {}
                }
            }
        }
        let valid: Vec<Dirty> = waiting.into_iter().filter(|d| pool.take(d)).collect();
        assert_eq!(valid.iter().map(|d| d.extent.blocks as i64).sum::<i64>(), dirty);
        assert!(pool.files.as_slice().iter().all(|f| f.dirty == 0));
    }
}
