//! Which requests a process waits for.

use super::dependencies::Marks;
use super::processes::TraceProcesses;
use crate::TraceRecord;
use iopilot_block::{Flags, Op};

/// Whether the issuing process waits for requests marked as read-ahead.
///
/// The thesis' kernel marks reads of pages that no process has asked for yet (GF 3.2.3). Linux since 4.19 marks every
/// read by the page cache's read-ahead code, including the pages that the process waits for. There, `cat` of a file
/// issues nothing but "read-ahead"; to ignore it would replay `cat` as if it never waited for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadAhead {
    /// Awaited in processes that read data almost only through it: fewer than one in eight of their reads is an unmarked
    /// read of data.
    #[default]
    Auto,
    /// Never awaited (GF 3.2.3).
    Ignored,
    /// Counts as any other read.
    Awaited,
}

/// Marks the requests that block their process. A request without a completion or a process blocks none.
pub(super) fn marks(records: &[TraceRecord], processes: &TraceProcesses, read_ahead: ReadAhead) -> Vec<Marks> {
    let mut marks = vec![Marks::empty(); records.len()];
    for p in 0..processes.list.len() {
        if processes.list[p].id.is_none() {
            continue;
        }
        let requests = processes.requests(p);
        let awaited = match read_ahead {
            ReadAhead::Auto => reads_by_read_ahead(records, requests),
            ReadAhead::Ignored => false,
            ReadAhead::Awaited => true,
        };
        for &i in requests {
            let r = &records[i as usize];
            if r.completion.is_some() && (r.blocks_process() || (awaited && is_read_ahead(r))) {
                marks[i as usize] = Marks::BLOCKING;
            }
        }
    }
    marks
}

fn is_read_ahead(r: &TraceRecord) -> bool {
    r.op == Op::Read && r.flags.contains(Flags::READ_AHEAD)
}

fn reads_by_read_ahead(records: &[TraceRecord], requests: &[u32]) -> bool {
    let (mut marked, mut plain) = (0, 0);
    for r in requests.iter().map(|&i| &records[i as usize]).filter(|r| r.op == Op::Read) {
        if is_read_ahead(r) {
            marked += 1;
        } else if !r.flags.contains(Flags::META) {
            // Every kernel reads metadata block by block, unmarked, so it is no evidence.
            plain += 1;
        }
    }
    plain * 8 < marked + plain
}
