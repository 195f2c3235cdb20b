//! [`UserProgramsSpec`]: a description of programs.

use super::event::EventSpec;
use crate::ganger::Variable;
use iopilot_block::{InputError, Nanos};
use iopilot_host::{FileId, FileKind, InitialState, Key};
use std::sync::Arc;

/// Programs, with their files, channels and external interrupts.
#[derive(Clone, Debug, PartialEq)]
pub struct UserProgramsSpec {
    pub(super) source_name: String,
    pub(super) processes: Vec<ProcessSpec>,
    /// Programs that processes start.
    pub(super) programs: Vec<ProgramSpec>,
    /// Directories, then files.
    pub(super) nodes: Vec<FileNode>,
    pub(super) channels: Vec<ChannelSpec>,
    pub(super) externals: Vec<ExternalSpec>,
    /// The name of each key, by its number; channels come first.
    pub(super) keys: Vec<Arc<str>>,
}

/// A list of events, and its files.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventList {
    pub(super) events: Vec<EventSpec>,
    /// How often it runs; daemons repeat it forever.
    pub(super) repeat: u64,
    /// The files that it names, by slot.
    pub(super) slots: Vec<FileSlot>,
    /// The number of its own files among them.
    pub(super) own: u32,
}

/// A file of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileSlot {
    pub(super) name: Arc<str>,
    pub(super) kind: FileKind,
    pub(super) of: FileSlotTarget,
}

/// The file that a slot stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FileSlotTarget {
    /// A shared file: a [`FileNode`].
    Shared(usize),
    /// A file of the process' own.
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

/// A described file or directory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileNode {
    pub(super) line: u64,
    pub(super) name: Arc<str>,
    pub(super) kind: FileKind,
    /// Its directory; the root if not set.
    pub(super) directory: Option<usize>,
    /// The size of a file that exists at the start.
    pub(super) bytes: Option<u64>,
    pub(super) is_cached: bool,
}

impl FileNode {
    /// The number of a file, by its index in the list.
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
    /// Interrupts with a period, `count` of them if that is set.
    Every { start: Nanos, period_ms: Variable, count: Option<u64> },
    /// Interrupts at these times.
    At(Vec<Nanos>),
}

impl ExternalSpec {
    /// The number of interrupts; `None` if they do not end.
    pub(super) fn count(&self) -> Option<u64> {
        match &self.times {
            InterruptTimes::Every { count, .. } => *count,
            InterruptTimes::At(times) => Some(times.len() as u64),
        }
    }
}

/// A process or a program, with its list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actor<'a> {
    pub(super) line: u64,
    pub(super) name: &'a str,
    pub(super) list: &'a EventList,
    pub(super) is_daemon: bool,
    /// The key on which it sleeps at the start.
    pub(super) sleeps: Option<Key>,
    /// The number of its processes that exist without a fork.
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
