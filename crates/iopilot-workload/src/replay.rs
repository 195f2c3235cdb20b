//! Trace replay, in three modes.
//!
//! *Open*: requests arrive at their recorded times. A slower disk looks worse than it is, because no process waits. *Closed*: a
//! fixed number of requests is always outstanding. A change looks smaller than it is. *Dependent*: processes wait for what they
//! waited for when the trace was recorded, and think as long as they thought then (GF 3.2.3, 4.3.3; Ganger 6.2 says what the
//! other two get wrong).

mod closed;
mod dependent;
mod open;

pub use closed::Closed;
pub use dependent::Dependent;
pub use open::Open;

use crate::{Arrival, SourceHandle};
use iopilot_block::{Criticality, Flags, InputError, IoPriority, Lba, Nanos, Op, ProcessId, Sectors, suggest};
use iopilot_trace::TraceRecord;
use std::fmt;
use std::str::FromStr;

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayMode {
    /// At the recorded arrival times.
    Open,
    /// With a fixed number outstanding and no think time.
    Closed,
    /// With the recorded dependencies and think times.
    Dependent,
}

impl ReplayMode {
    /// All of them, by name.
    pub const NAMES: [&'static str; 3] = ["open", "closed", "dependent"];
}

impl fmt::Display for ReplayMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

impl FromStr for ReplayMode {
    type Err = InputError;

    fn from_str(name: &str) -> Result<Self, InputError> {
        match name {
            "open" => Ok(Self::Open),
            "closed" => Ok(Self::Closed),
            "dependent" => Ok(Self::Dependent),
            _ => {
                let near = suggest(name, Self::NAMES).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
                Err(InputError::new("mode", name, format!("open, closed or dependent{near}")))
            }
        }
    }
}

/// What a replay needs of a trace record: 40 bytes, for traces of many millions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayRecord {
    /// When it arrived at the block layer.
    pub arrival: Nanos,
    /// First sector.
    pub lba: Lba,
    /// Length.
    pub sectors: Sectors,
    /// The task that issued it.
    pub process: ProcessId,
    /// Hints.
    pub flags: Flags,
    /// The CPU it was submitted on.
    pub cpu: u16,
    /// Its I/O priority.
    pub priority: IoPriority,
    /// Its operation.
    pub op: Op,
    /// How its task depends on its completion.
    pub criticality: Criticality,
    /// The latest time after its arrival at which it left its task's plug, in nanoseconds: when it was inserted or issued.
    /// `u32::MAX` if unknown.
    pub plugged_ns: u32,
}

impl From<&TraceRecord> for ReplayRecord {
    fn from(r: &TraceRecord) -> Self {
        Self {
            arrival: r.arrival,
            lba: r.lba,
            sectors: r.sectors,
            process: r.process.unwrap_or_default(),
            flags: r.flags,
            cpu: r.cpu.unwrap_or(0),
            priority: r.priority,
            op: r.op,
            criticality: r.criticality(),
            plugged_ns: r
                .inserted
                .or(r.issue)
                .map_or(u32::MAX, |at| at.since(r.arrival.min(at)).0.try_into().unwrap_or(u32::MAX)),
        }
    }
}

impl ReplayRecord {
    /// Whether `next`, its task's next request, may have been in the same plug.
    fn may_share_plug(&self, next: &Self) -> bool {
        self.plugged_ns == u32::MAX || self.arrival + Nanos(self.plugged_ns.into()) >= next.arrival
    }

    fn arrival(&self, handle: SourceHandle) -> Arrival {
        Arrival {
            op: self.op,
            lba: self.lba,
            sectors: self.sectors,
            flags: self.flags,
            process: self.process,
            priority: self.priority,
            criticality: self.criticality,
            cpu: self.cpu,
            handle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stay_small() {
        assert!(size_of::<ReplayRecord>() <= 40, "{}", size_of::<ReplayRecord>());
    }

    #[test]
    fn modes_are_read_by_name() {
        assert_eq!("closed".parse(), Ok(ReplayMode::Closed));
        let e = "dependant".parse::<ReplayMode>().unwrap_err().to_string();
        assert!(e.contains("did you mean `dependent`"), "{e}");
    }
}
