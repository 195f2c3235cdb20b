//! A load like Postmark's: transactions on many small files, through a file system and a page cache (Katz 1997, as
//! Carroll 4.2.4 describes it).
//!
//! A transaction creates or deletes a file, and then reads a whole file or appends to one. What lies between
//! transactions and the disk is a sketch, not a model, of Linux 2.6.24 and its file systems. The numbers in
//! [`PostmarkSpec`] are Carroll's. The rest is assumed:
//!
//! - Each instance has a directory of its own, which the file system puts into a part of the disk of its own. The pool
//!   is laid out there, and aged by transactions that are not played.
//! - Reads go in steps of 128 KiB, the next read ahead while the process waits. Only what is still to be written is in
//!   the cache: the pool is many times the host's memory.
//! - Writes go to the cache. Above half of `dirty_bytes` a flusher writes the oldest, with up to 3584 requests in
//!   flight (7/8 of Carroll's `nr_requests`); at all of it writers wait.
//! - [`AllocationStyle::Extents`] allots a file's space in one piece where it can, writes 512 KiB at a time, and logs
//!   its metadata in 32 KiB at one place, as XFS does. [`AllocationStyle::Blocks`] takes the next free blocks wherever
//!   they are, reads an indirect block before the 13th, writes page after page of 16 KiB, and metadata where they
//!   belong, as EXT2 does.

mod pool;
mod source;
mod space;

pub(crate) use source::PostmarkSource;

use iopilot_block::{InputError, Nanos, SECTOR_BYTES};

/// The unit of allocation, in sectors.
const BLOCK: u64 = 8;
/// The same in bytes.
const BLOCK_BYTES: u64 = BLOCK * SECTOR_BYTES;

/// How a file system places and writes blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllocationStyle {
    /// Extents, large writes, a log: XFS in outline.
    Extents,
    /// Single blocks, page by page, metadata in place: EXT2 in outline.
    Blocks,
}

/// The load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostmarkSpec {
    /// The number of instances. Each has a pool of its own.
    pub(crate) instances: u32,
    /// The number of files of a pool at the start.
    pub(crate) files: u32,
    /// The number of subdirectories of a pool.
    pub(crate) directories: u32,
    /// The smallest size of a file, in bytes. Sizes are uniformly distributed.
    pub(crate) min_bytes: u64,
    /// The largest size, in bytes.
    pub(crate) max_bytes: u64,
    /// Transactions of each instance that age its pool and are not played.
    pub(crate) aging: u32,
    /// Transactions of all instances together that are not counted, while the cache fills.
    pub(crate) warm_up: u32,
    /// Transactions of all instances together that are counted.
    pub(crate) transactions: u32,
    /// The file system.
    pub(crate) file_system: AllocationStyle,
    /// Dirty bytes at which writers wait.
    pub(crate) dirty_bytes: u64,
    /// CPU time for each MiB read or written.
    pub(crate) compute_per_mib: Nanos,
}

impl PostmarkSpec {
    /// Five instances of Carroll's (Table 4.6) with files up to `max_bytes`: 2 MiB for small disks, else 4 MiB. The
    /// memory is Carroll's 2 GiB, a tenth of which may be dirty.
    pub(crate) fn carroll(file_system: AllocationStyle, max_bytes: u64) -> Self {
        Self {
            instances: 5,
            files: 10_000,
            directories: 100,
            min_bytes: 512,
            max_bytes,
            aging: 7_500,
            warm_up: 500,
            transactions: 1_500,
            file_system,
            dirty_bytes: (2 << 30) / 10,
            compute_per_mib: Nanos::from_millis(2),
        }
    }

    /// Checks that the load can be run.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub(crate) fn check(&self) -> Result<(), InputError> {
        let positive = [
            ("instances", self.instances),
            ("files", self.files),
            ("directories", self.directories),
            ("transactions", self.transactions),
        ];
        if let Some((key, _)) = positive.iter().find(|p| p.1 == 0) {
            return Err(InputError::new(*key, "0", "at least 1"));
        }
        if self.min_bytes == 0 || self.max_bytes < self.min_bytes {
            let got = format!("{} to {}", self.min_bytes, self.max_bytes);
            return Err(InputError::new("sizes", got, "a range from at least 1 byte"));
        }
        if self.dirty_bytes < 4 * self.max_bytes {
            let expected = format!("at least four of the largest files, {}", 4 * self.max_bytes);
            return Err(InputError::new("dirty_bytes", self.dirty_bytes.to_string(), expected));
        }
        Ok(())
    }
}

/// Blocks that lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    first: u64,
    blocks: u64,
}
