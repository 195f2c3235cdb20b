//! [`FileOp`]: the steps of a system call on files.

use crate::file_call::FileId;
use crate::file_system::Metadata;
use crate::page_cache::PageKey;
use iopilot_block::Criticality;

/// A step of a system call. It is tried until it is done: between two tries the process computes, or waits for a page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FileOp {
    /// So much of the CPU, in microseconds.
    Spend(f64),
    /// A block of metadata is read, and changed.
    Metadata(Metadata),
    /// A page of a file is read.
    Read {
        file: FileId,
        page: u64,
        /// Whether it has been counted, and read-ahead been thought of.
        counted: bool,
        /// Whether it was not there.
        missed: bool,
    },
    /// A page of a file is changed, or wholly written.
    Write { file: FileId, page: u64, is_whole: bool },
    /// A page is written to the disk, if it is dirty.
    WriteOut { key: PageKey, class: Criticality },
    /// The process waits until the page is written.
    Await(PageKey),
    /// Pages of a file from `page` to before `end` are read ahead, where they are not there.
    ReadAhead { file: FileId, page: u64, end: u64 },
    /// A file, or only its data, is removed, once nothing is under way for it: the old content of a block would reach the disk
    /// behind what another file puts there. Its pages before `from` have been looked at.
    Drop { file: FileId, keeps_name: bool, from: u64 },
}
