//! [`BlockEvent`]: a decoded trace event.

use iopilot_block::{Flags, IoPriority, Lba, Nanos, Op, Sectors};

/// One event.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockEvent {
    /// On the monotonic clock.
    pub(super) time: Nanos,
    /// The CPU it happened on.
    pub(super) cpu: u16,
    /// The current task.
    pub(super) pid: u32,
    /// Its name, padded with zeros; all zeros if the event has none.
    pub(super) comm: [u8; 16],
    pub(super) what: BlockEventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(super) enum BlockEventKind {
    /// A bio reached the block layer.
    Queued(BlockIo),
    /// A bio was too large for the device: the part from `at` on becomes another bio.
    Split { op: Op, lba: Lba, at: Lba },
    /// A bio, or all of a request's, joined another request.
    Merged(BlockIo),
    /// A request was handed to the scheduler.
    Inserted(BlockIo),
    /// A request was sent to the device.
    Issued(BlockIo),
    /// A request, or a part of one, completed.
    Completed(BlockIo),
    /// A bio ended without becoming a request: it must not wait and no tag was free, or it was refused.
    Refused(BlockIo),
    /// A task was created.
    Fork { parent: u32, child: u32 },
    /// A task ended.
    Exit { pid: u32 },
}

/// A bio or a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockIo {
    pub(super) op: Op,
    pub(super) flags: Flags,
    pub(super) lba: Lba,
    pub(super) sectors: Sectors,
    /// `None` if the event has none.
    pub(super) priority: Option<IoPriority>,
}

/// The kernel's letters for operation and flags (`blk_fill_rwbs`): `F` for preflush, an operation, then `F` for FUA,
/// `A` for read-ahead, `S` for sync, `M` for metadata. `None` for zone operations and those of drivers.
pub(super) fn parse_rwbs(rwbs: &[u8]) -> Option<(Op, Flags)> {
    let end = rwbs.iter().position(|&c| c == 0).unwrap_or(rwbs.len());
    let (mut flags, mut rest) = (Flags::empty(), &rwbs[..end]);
    if rest.len() > 1 && rest[0] == b'F' {
        flags |= Flags::PREFLUSH;
        rest = &rest[1..];
    }
    let op = match rest.first()? {
        b'R' => Op::Read,
        b'W' => Op::Write,
        b'D' => Op::Discard,
        b'F' => Op::Flush,
        _ => return None,
    };
    for letter in &rest[1..] {
        flags |= match letter {
            b'F' => Flags::FUA,
            b'A' => Flags::READ_AHEAD,
            b'S' => Flags::SYNC,
            b'M' => Flags::META,
            _ => Flags::empty(),
        };
    }
    Some((op, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_letters() {
        let parse = |s: &str| parse_rwbs(s.as_bytes());
        assert_eq!(parse("RA\0\0"), Some((Op::Read, Flags::READ_AHEAD)));
        assert_eq!(parse("WSM"), Some((Op::Write, Flags::SYNC | Flags::META)));
        assert_eq!(parse("FWFSM"), Some((Op::Write, Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META)));
        assert_eq!(parse("FF"), Some((Op::Flush, Flags::PREFLUSH)));
        assert_eq!(parse("DS"), Some((Op::Discard, Flags::SYNC)));
        assert_eq!(parse("N"), None);
        assert_eq!(parse(""), None);
    }
}
