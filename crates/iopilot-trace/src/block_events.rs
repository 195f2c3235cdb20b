//! [`BlockEvents`]: collects the events of the Linux block layer that a text prints, one a line, in any layout.

use crate::TraceRecord;
use crate::correlate::{Correlator, Extent};
use crate::metadata::TraceMetadata;
use crate::reorder::CpuOrder;
use iopilot_block::{Flags, InputError, Lba, Nanos, Op, ProcessId, Sectors};

/// What an event says besides its action and its sectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) device: u32,
    pub(crate) cpu: Option<u16>,
    pub(crate) time: Nanos,
    pub(crate) pid: Option<u32>,
}

/// Operation and hints of an event; no operation if the event moves no data (`N`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rwbs {
    pub(crate) op: Option<Op>,
    pub(crate) flags: Flags,
}

impl Rwbs {
    /// `[F](R|W|D|DE|F|N)[F][A][S][M][B]`: flush before, operation, FUA, read-ahead, synchronous, metadata, (old)
    /// barrier.
    pub(crate) fn parse(word: &[u8]) -> Option<Self> {
        let mut flags = Flags::empty();
        let mut rest = word;
        if rest.len() > 1 && rest[0] == b'F' && matches!(rest[1], b'R' | b'W' | b'D' | b'F' | b'N') {
            flags |= Flags::PREFLUSH;
            rest = &rest[1..];
        }
        let (first, rest) = rest.split_first()?;
        let op = match first {
            b'R' => Some(Op::Read),
            b'W' => Some(Op::Write),
            b'D' => Some(Op::Discard),
            b'F' | b'N' => None,
            _ => return None,
        };
        for c in rest {
            flags |= match c {
                b'F' => Flags::FUA,
                b'A' => Flags::READ_AHEAD,
                b'S' => Flags::SYNC,
                b'M' => Flags::META,
                b'B' => Flags::PREFLUSH | Flags::FUA,
                b'E' | b'U' => Flags::empty(),
                _ => return None,
            };
        }
        Some(Self { op, flags })
    }
}

/// The sectors of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload {
    /// Sectors, perhaps none.
    Extent(Lba, Sectors),
    /// A command that is no block I/O.
    Command,
}

/// Collects events into requests.
#[derive(Debug)]
pub(crate) struct BlockEvents {
    pub(crate) correlator: Correlator,
    /// The order of each CPU; `None` if records may be late.
    order: Option<CpuOrder>,
}

impl BlockEvents {
    /// With `reorder`, records may be that many places late; without it, each CPU must keep order.
    pub(crate) fn new(reorder: Option<usize>) -> Self {
        Self { correlator: Correlator::new(), order: reorder.is_none().then(CpuOrder::default) }
    }

    /// The next record whose completion is settled; at the end, any record that is left.
    pub(crate) fn pop(&mut self, at_end: bool, metadata: &mut TraceMetadata) -> Option<TraceRecord> {
        let record = self.correlator.pop(at_end);
        metadata.notes.unmatched_completions = self.correlator.unmatched_completions;
        metadata.notes.unknown_arrivals = self.correlator.unknown_arrivals;
        record
    }

    /// An event of `head` was recorded after the one before it.
    pub(crate) fn check_order(&mut self, device: u32, cpu: u16, time: Nanos) -> Result<(), InputError> {
        self.order.as_mut().map_or(Ok(()), |order| order.check(device, cpu.into(), time))
    }

    /// A bio was queued by the process called `command`.
    pub(crate) fn queue(
        &mut self,
        head: Head,
        rwbs: Rwbs,
        payload: Payload,
        command: &[u8],
        metadata: &mut TraceMetadata,
    ) {
        if let Some(record) = record(head, rwbs, payload, metadata) {
            if let Some(pid) = head.pid {
                metadata.name_process(pid, command);
            }
            self.correlator.queue(record);
        }
    }

    /// A request was inserted into the scheduler. A request without an earlier event is queued here.
    pub(crate) fn insert(
        &mut self,
        head: Head,
        rwbs: Rwbs,
        payload: Payload,
        command: &[u8],
        metadata: &mut TraceMetadata,
    ) {
        let Some((what, _)) = extent_of(head, rwbs, payload) else { return };
        if what.sectors > 0 && !self.correlator.is_waiting(what) {
            self.queue(head, rwbs, payload, command, metadata);
        }
    }

    /// A request was sent to the device.
    pub(crate) fn issue(
        &mut self,
        head: Head,
        rwbs: Rwbs,
        payload: Payload,
        command: &[u8],
        metadata: &mut TraceMetadata,
    ) {
        let Some((what, op)) = extent_of(head, rwbs, payload) else { return };
        self.correlator.issue(what, head.time, || {
            if let Some(pid) = head.pid {
                metadata.name_process(pid, command);
            }
            let mut record = TraceRecord::new(head.time, op, Lba(what.start), Sectors(what.sectors));
            set(&mut record, head, rwbs.flags);
            record
        });
    }

    /// Sectors were transferred.
    pub(crate) fn complete(&mut self, head: Head, rwbs: Rwbs, payload: Payload) {
        // The zero-length completion of the flush machinery's own request says "FN", the submitter's "FW".
        let Some((what, _)) = extent_of(head, rwbs, payload) else { return };
        self.correlator.complete(what, head.time, || {
            record(head, rwbs, payload, &mut TraceMetadata::default()).map(without_submitter)
        });
    }

    /// A bio was merged behind another, or before it.
    pub(crate) fn merge(&mut self, head: Head, rwbs: Rwbs, payload: Payload, behind: bool) {
        if let Some((what, _)) = extent_of(head, rwbs, payload) {
            self.correlator.merge(what, behind);
        }
    }

    /// A request came back from the driver.
    pub(crate) fn requeue(&mut self, head: Head, rwbs: Rwbs, payload: Payload) {
        if let Some((what, _)) = extent_of(head, rwbs, payload) {
            self.correlator.requeue(what);
        }
    }

    /// The bio at `start` was cut at `printed`.
    pub(crate) fn split(&mut self, device: u32, start: u64, printed: u64) {
        self.correlator.split(device, start, split_sector(start, printed));
    }
}

/// `record`, which was made of its completion, without a submitter: the task that ran at the completion did not submit
/// it.
pub(crate) fn without_submitter(mut record: TraceRecord) -> TraceRecord {
    (record.process, record.cpu) = (None, None);
    record
}

/// Where a split cuts: `blkparse` prints only the lower 32 bits.
fn split_sector(start: u64, printed: u64) -> u64 {
    if printed > start {
        return printed;
    }
    let at = (start & !0xffff_ffff) | (printed & 0xffff_ffff);
    if at > start { at } else { at.saturating_add(1 << 32) }
}

fn extent_of(head: Head, rwbs: Rwbs, payload: Payload) -> Option<(Extent, Op)> {
    let (Some(op), Payload::Extent(lba, sectors)) = (rwbs.op, payload) else { return None };
    Some((Extent { device: head.device, op, start: lba.0, sectors: sectors.0 }, op))
}

fn set(record: &mut TraceRecord, head: Head, flags: Flags) {
    record.flags = flags;
    record.device = head.device;
    record.cpu = head.cpu;
    record.process = head.pid.map(ProcessId);
}

fn record(head: Head, rwbs: Rwbs, payload: Payload, metadata: &mut TraceMetadata) -> Option<TraceRecord> {
    let Payload::Extent(lba, sectors) = payload else {
        metadata.notes.other_commands += 1;
        return None;
    };
    let op = match rwbs.op {
        _ if sectors.0 == 0 && rwbs.flags.contains(Flags::PREFLUSH) => Op::Flush,
        Some(_) if sectors.0 == 0 => {
            metadata.notes.empty += 1;
            return None;
        }
        Some(op) => op,
        None => {
            metadata.notes.other_commands += 1;
            return None;
        }
    };
    let mut record = TraceRecord::new(head.time, op, lba, sectors);
    set(&mut record, head, rwbs.flags);
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_the_rwbs_column() {
        let p = |s: &str| Rwbs::parse(s.as_bytes());
        assert_eq!(p("FWFSM").unwrap().flags, Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META);
        assert_eq!(p("DS").unwrap(), Rwbs { op: Some(Op::Discard), flags: Flags::SYNC });
        assert_eq!(p("WBS").unwrap().flags, Flags::PREFLUSH | Flags::FUA | Flags::SYNC);
        assert_eq!(p("N").unwrap().op, None);
        assert_eq!(p("FN").unwrap(), Rwbs { op: None, flags: Flags::PREFLUSH });
        assert!(p("Q").is_none() && p("").is_none());
    }

    #[test]
    fn splits_beyond_32_bits() {
        assert_eq!(split_sector(100, 200), 200);
        assert_eq!(split_sector((1 << 32) + 100, 200), (1 << 32) + 200);
        assert_eq!(split_sector((1 << 32) - 8, 8), (1 << 32) + 8);
    }
}
