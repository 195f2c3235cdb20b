//! [`TraceRecord`]: one request of a trace, whatever format it came from.

use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};

/// One request as recorded. A value that the format does not hold is `None`, never invented.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRecord {
    /// When it reached the block layer (or was submitted), counted from the trace's first request.
    pub arrival: Nanos,
    /// When its request was inserted into the scheduler; `None` also where it was merged into an earlier one.
    pub inserted: Option<Nanos>,
    /// When it was sent to the device.
    pub issue: Option<Nanos>,
    /// When it completed.
    pub completion: Option<Nanos>,
    /// What it did.
    pub op: Op,
    /// Hints.
    pub flags: Flags,
    /// First sector.
    pub lba: Lba,
    /// Length.
    pub sectors: Sectors,
    /// The device, numbered from 0 in order of appearance, or as the format numbers it.
    pub device: u32,
    /// The task that issued it.
    pub process: Option<ProcessId>,
    /// The process that this task is a thread of.
    pub thread_group: Option<ProcessId>,
    /// That task's parent.
    pub parent: Option<ProcessId>,
    /// When the task started, since the trace's first request; zero where it is older than the trace.
    pub process_start: Option<Nanos>,
    /// Its I/O priority.
    pub priority: IoPriority,
    /// The CPU it was submitted on.
    pub cpu: Option<u16>,
    /// Whether it was merged into an earlier request.
    pub merged: Option<bool>,
}

impl TraceRecord {
    /// A record with only the values that every format has.
    pub fn new(arrival: Nanos, op: Op, lba: Lba, sectors: Sectors) -> Self {
        Self {
            arrival,
            inserted: None,
            issue: None,
            completion: None,
            op,
            flags: Flags::empty(),
            lba,
            sectors,
            device: 0,
            process: None,
            thread_group: None,
            parent: None,
            process_start: None,
            priority: IoPriority::default(),
            cpu: None,
            merged: None,
        }
    }

    /// How its process depends on it, as far as a trace shows (Ganger 3.1).
    pub fn criticality(&self) -> Criticality {
        match (self.blocks_process(), self.op) {
            (true, _) => Criticality::TimeCritical,
            (false, Op::Read) => Criticality::TimeLimited,
            (false, _) => Criticality::TimeNonCritical,
        }
    }

    /// Whether the issuing process waits for it: all reads except read-ahead, and synchronous writes.
    pub fn blocks_process(&self) -> bool {
        match self.op {
            Op::Read => !self.flags.contains(Flags::READ_AHEAD),
            _ => self.flags.intersects(Flags::SYNC | Flags::FUA | Flags::PREFLUSH),
        }
    }
}
