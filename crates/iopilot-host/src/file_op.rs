//! [`FileOp`]: a step of a system call on files.

use crate::file_call::FileId;
use crate::file_system::Metadata;
use crate::page_cache::PageKey;
use iopilot_block::Criticality;

/// A step of a system call. It is retried until it is done. Between two tries the process computes, or waits for a page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FileOp {
    /// Takes this CPU time, in microseconds.
    Spend(f64),
    /// Reads a metadata block, and may change it.
    Metadata(Metadata),
    /// Reads a page of a file.
    Read {
        file: FileId,
        page: u64,
        /// Whether the lookup has been counted and read-ahead planned.
        counted: bool,
        /// Whether the page was a miss.
        missed: bool,
    },
    /// Changes a page of a file, or overwrites all of it.
    Write { file: FileId, page: u64, is_whole: bool },
    /// Writes a page to the disk, if it is dirty.
    WriteOut { key: PageKey, class: Criticality },
    /// Waits until the page is written.
    Await(PageKey),
    /// Reads ahead the missing pages of a file from `page` to before `end`.
    ReadAhead { file: FileId, page: u64, end: u64 },
    /// Removes a file, or only its data, once no request for it is in flight. Otherwise the old content of a block could
    /// overwrite what another file puts there. Its pages before `from` have been checked.
    Drop { file: FileId, keeps_name: bool, from: u64 },
}
