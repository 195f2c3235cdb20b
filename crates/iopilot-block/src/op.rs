//! [`Op`] and [`Flags`]: the operation of a request, and its hints.

use bitflags::bitflags;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The operation that a request asks of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Transfer from the medium.
    Read,
    /// Transfer to the medium.
    Write,
    /// Make acknowledged writes durable; no sectors.
    Flush,
    /// The sectors' content is no longer needed (TRIM, UNMAP).
    Discard,
}

impl Op {
    /// True for the two that move data.
    pub const fn transfers(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        })
    }
}

bitflags! {
    /// Hints of the submitter, named as the kernel's `REQ_*` flags (`include/linux/blk_types.h`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Flags: u16 {
        /// `REQ_SYNC`: a process waits for this write (O_DIRECT, O_SYNC, fsync). Reads are synchronous without it.
        const SYNC = 1 << 0;
        /// `REQ_RAHEAD`: read-ahead. No process waits for it yet, and it may fail at will.
        const READ_AHEAD = 1 << 1;
        /// `REQ_META`: file-system metadata.
        const META = 1 << 2;
        /// `REQ_PRIO`: boost this request in the scheduler.
        const PRIO = 1 << 3;
        /// `REQ_FUA`: durable before completion.
        const FUA = 1 << 4;
        /// `REQ_PREFLUSH`: flush the write cache first.
        const PREFLUSH = 1 << 5;
        /// `REQ_IDLE`: more of the same is about to follow.
        const IDLE = 1 << 6;
        /// `REQ_BACKGROUND`: background write-back.
        const BACKGROUND = 1 << 7;
        /// `REQ_NOMERGE`: never merge with others.
        const NO_MERGE = 1 << 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_and_writes_move_data() {
        assert!(Op::Read.transfers() && Op::Write.transfers());
        assert!(!Op::Flush.transfers() && !Op::Discard.transfers());
    }
}
