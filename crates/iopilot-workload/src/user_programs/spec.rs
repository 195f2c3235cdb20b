//! [`UserProgramsSpec`]: what is described.

use super::event::EventSpec;
use crate::ganger::Variable;
use iopilot_block::{InputError, Nanos};
use iopilot_host::{FileId, FileKind, InitialState, Key};
use std::sync::Arc;

/// Programs, and what they work on.
#[derive(Clone, Debug, PartialEq)]
pub struct UserProgramsSpec {
    pub(super) source_name: String,
    pub(super) processes: Vec<ProcessSpec>,
    /// What is started by others.
    pub(super) programs: Vec<ProgramSpec>,
    /// Directories, then files.
    pub(super) nodes: Vec<FileNode>,
    pub(super) channels: Vec<ChannelSpec>,
    pub(super) externals: Vec<ExternalSpec>,
    /// What each key is called, by its number: channels first.
    pub(super) keys: Vec<Arc<str>>,
}

/// A list of events, and the names in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventList {
    pub(super) events: Vec<EventSpec>,
    /// How often it is done; daemons do it forever.
    pub(super) repeat: u64,
    /// The files that it speaks of, by their slot.
    pub(super) slots: Vec<FileSlot>,
    /// How many of these are its own.
    pub(super) own: u32,
}

/// A file of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileSlot {
    pub(super) name: Arc<str>,
    pub(super) kind: FileKind,
    pub(super) of: FileSlotTarget,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FileSlotTarget {
    /// Everybody's: a [`FileNode`].
    Shared(usize),
    /// Each process has one.
    Own(u32),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProcessSpec {
    pub(super) line: u64,
    pub(super) name: Arc<str>,
    pub(super) count: u64,
    pub(super) start: Nanos,
    pub(super) is_task: bool,
    pub(super) is_daemon: bool,
    pub(super) cpu: Option<u16>,
    pub(super) state: InitialState,
    pub(super) list: EventList,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProgramSpec {
    pub(super) line: u64,
    pub(super) name: Arc<str>,
    pub(super) is_task: bool,
    pub(super) list: EventList,
}

/// A file or directory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileNode {
    pub(super) line: u64,
    pub(super) name: Arc<str>,
    pub(super) kind: FileKind,
    /// Its directory; the root where it is not set.
    pub(super) directory: Option<usize>,
    /// Of a file that is there at the beginning.
    pub(super) bytes: Option<u64>,
    pub(super) is_cached: bool,
}

impl FileNode {
    /// The number of a file, by its place in the list.
    pub(super) fn id(at: usize) -> FileId {
        FileId(FileId::ROOT.0 + 1 + at as u32)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChannelSpec {
    pub(super) line: u64,
    pub(super) capacity: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExternalSpec {
    pub(super) line: u64,
    pub(super) name: Arc<str>,
    pub(super) times: InterruptTimes,
    pub(super) cpu: u16,
    pub(super) handler: Nanos,
    pub(super) effect: iopilot_host::InterruptEffect,
    pub(super) is_task: bool,
}

/// When interrupts come.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum InterruptTimes {
    /// After each other, so many if that is set.
    Every { start: Nanos, period_ms: Variable, count: Option<u64> },
    /// At these times.
    At(Vec<Nanos>),
}

impl ExternalSpec {
    /// How many there are; `None` where they do not end.
    pub(super) fn count(&self) -> Option<u64> {
        match &self.times {
            InterruptTimes::Every { count, .. } => *count,
            InterruptTimes::At(times) => Some(times.len() as u64),
        }
    }
}

/// A process or a program: who has a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actor<'a> {
    pub(super) line: u64,
    pub(super) name: &'a str,
    pub(super) list: &'a EventList,
    pub(super) is_daemon: bool,
    /// On what it sleeps at the beginning.
    pub(super) sleeps: Option<Key>,
    /// How many processes of this there are, of the beginning.
    pub(super) count: u64,
}

impl UserProgramsSpec {
    /// All processes, then all programs.
    pub(super) fn actors(&self) -> Vec<Actor<'_>> {
        let processes = self.processes.iter().map(|process| Actor {
            line: process.line,
            name: &process.name,
            list: &process.list,
            is_daemon: process.is_daemon,
            sleeps: match process.state {
                InitialState::Sleeping(key) => Some(key),
                _ => None,
            },
            count: process.count,
        });
        let programs = self.programs.iter().map(|program| Actor {
            line: program.line,
            name: &program.name,
            list: &program.list,
            is_daemon: false,
            sleeps: None,
            count: 0,
        });
        processes.chain(programs).collect()
    }

    /// An error on `line` of the description.
    pub(super) fn error(
        &self,
        line: u64,
        field: &str,
        got: impl Into<String>,
        expected: impl Into<String>,
    ) -> InputError {
        InputError::new(field, got, expected).in_file(&self.source_name).at_line(line)
    }
}
