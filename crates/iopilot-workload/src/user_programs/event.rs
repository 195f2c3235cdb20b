//! [`EventSpec`]: an event of a description, and the table of verbs.

use crate::ganger::Variable;
use iopilot_block::{Criticality, Op};
use iopilot_host::Key;
use std::sync::Arc;

/// The verbs of events, and the other keys of each.
pub(super) const VERBS: [(&str, &[&str]); 26] = [
    ("compute_ms", &[]),
    ("nap_ms", &[]),
    ("read", &["offset", "bytes"]),
    ("write", &["offset", "bytes"]),
    ("open", &[]),
    ("readdir", &[]),
    ("create", &["directory"]),
    ("mkdir", &["directory"]),
    ("remove", &[]),
    ("truncate", &[]),
    ("fsync", &[]),
    ("sync", &[]),
    ("io", &["lba", "sectors", "class", "number"]),
    ("await", &[]),
    ("await_all", &[]),
    ("sleep", &[]),
    ("wakeup", &["all"]),
    ("lock", &[]),
    ("unlock", &[]),
    ("put", &["bytes"]),
    ("get", &["bytes"]),
    ("answer", &[]),
    ("fork", &[]),
    ("wait", &[]),
    ("exit", &[]),
    ("repeat", &["events"]),
];

/// An event of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventSpec {
    pub(super) line: u64,
    pub(super) what: EventBody,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum EventBody {
    Do(ProgramAction),
    /// These events, this many times.
    Repeat(u64, Vec<EventSpec>),
}

/// The position of a read or write in a file or on the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PositionSpec {
    At(u64),
    /// Right behind the last access.
    Next,
    /// Anywhere, at a multiple of the size.
    Random,
}

/// What a process does at an event. Files are slots of its list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ProgramAction {
    Compute(Arc<Variable>),
    Nap(Arc<Variable>),
    /// Without `bytes`, the whole rest of the file.
    Read {
        slot: usize,
        place: PositionSpec,
        bytes: Option<u64>,
    },
    Write {
        slot: usize,
        place: PositionSpec,
        bytes: u64,
    },
    Open(usize),
    ReadDir(usize),
    /// In `directory`, or the root.
    Create {
        slot: usize,
        directory: Option<usize>,
    },
    Remove(usize),
    Truncate(usize),
    Fsync(usize),
    Sync,
    Io {
        op: Op,
        place: PositionSpec,
        sectors: u32,
        class: Criticality,
        number: Option<u64>,
    },
    Await(u64),
    AwaitAll,
    Sleep(Key),
    Wakeup {
        key: Key,
        all: bool,
    },
    Lock(Key),
    Unlock(Key),
    Put {
        channel: Key,
        bytes: u64,
    },
    Get {
        channel: Key,
        bytes: u64,
    },
    Answer(Key),
    Fork(usize),
    Wait(Option<usize>),
    Exit,
}

impl ProgramAction {
    /// The slot of its file.
    pub(super) fn slot(&self) -> Option<usize> {
        match *self {
            Self::Read { slot, .. } | Self::Write { slot, .. } | Self::Create { slot, .. } => Some(slot),
            Self::Open(slot) | Self::ReadDir(slot) | Self::Remove(slot) | Self::Truncate(slot) | Self::Fsync(slot) => {
                Some(slot)
            }
            _ => None,
        }
    }

    /// Whether it needs a file system.
    pub(super) fn is_on_files(&self) -> bool {
        self.slot().is_some() || *self == Self::Sync
    }
}
