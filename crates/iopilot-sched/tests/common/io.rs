//! The submissions of the bench's processes, and their completions.

use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, PriorityClass, ProcessId, Request, Sectors};

/// One submission.
#[derive(Clone, Debug)]
pub struct Io {
    pub op: Op,
    pub lba: Lba,
    pub sectors: Sectors,
    pub process: ProcessId,
    pub flags: Flags,
    pub priority: IoPriority,
    pub cpu: u16,
    pub criticality: Criticality,
}

impl Io {
    pub fn read(process: u32, lba: u64, sectors: u32) -> Self {
        Self {
            op: Op::Read,
            lba: Lba(lba),
            sectors: Sectors(sectors),
            process: ProcessId(process),
            flags: Flags::empty(),
            priority: IoPriority::default(),
            cpu: 0,
            criticality: Criticality::TimeCritical,
        }
    }

    /// An asynchronous write, as write-back issues it.
    pub fn write(process: u32, lba: u64, sectors: u32) -> Self {
        Self { op: Op::Write, ..Self::read(process, lba, sectors) }
    }

    /// A write that a process waits for.
    pub fn sync_write(process: u32, lba: u64, sectors: u32) -> Self {
        Self::write(process, lba, sectors).with(Flags::SYNC)
    }

    pub fn with(mut self, flags: Flags) -> Self {
        self.flags |= flags;
        self
    }

    pub fn class(mut self, class: PriorityClass, level: u8) -> Self {
        self.priority = IoPriority { class, level };
        self
    }

    pub fn request(&self) -> Request {
        let mut rq = Request::new(self.op, self.lba, self.sectors, self.process);
        (rq.flags, rq.priority, rq.cpu) = (self.flags, self.priority, self.cpu);
        rq.criticality = self.criticality;
        rq
    }
}

/// A submission that was served.
#[derive(Clone, Debug)]
pub struct Done {
    pub io: Io,
    pub arrived: Nanos,
    pub issued: Nanos,
    pub completed: Nanos,
}

impl Done {
    /// From arrival to completion.
    pub fn response(&self) -> Nanos {
        self.completed - self.arrived
    }

    /// From arrival to dispatch.
    pub fn wait(&self) -> Nanos {
        self.issued - self.arrived
    }
}
