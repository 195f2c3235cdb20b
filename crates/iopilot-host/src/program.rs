//! [`Program`]: what a process does, as a list of events with computation before each (Ganger A.1.3).

use crate::file_call::FileCall;
use iopilot_block::{Criticality, Flags, Lba, Nanos, Op, Sectors};
use std::fmt;
use std::sync::Arc;

/// A wait key, a lock or a channel: a number that the programs of a workload agree on.
pub type Key = u64;

/// The next event of a process.
#[derive(Clone, Debug)]
pub struct ProgramEvent {
    /// How long the process computes before it, on a CPU of speed 1.
    pub compute: Nanos,
    /// What it does then.
    pub call: Call,
}

impl ProgramEvent {
    /// `call` after `compute` of computation.
    pub fn after(compute: Nanos, call: Call) -> Self {
        Self { compute, call }
    }
}

/// What a process does.
#[derive(Clone, Debug)]
pub enum Call {
    /// Nothing: it only computes.
    Compute,
    /// A request straight to the driver.
    Io(RawIo),
    /// It waits for its request with this number, unless that is complete.
    Await(u64),
    /// It waits until all of its requests are complete.
    AwaitAll,
    /// It sleeps for this time, by the kernel's timer.
    Nap(Nanos),
    /// It sleeps until another process wakes the sleepers of this key.
    Sleep(Key),
    /// It wakes the sleepers of a key: all, or the one that has slept longest. Without a sleeper it does nothing.
    Wakeup {
        /// The key.
        key: Key,
        /// Whether all are woken.
        all: bool,
    },
    /// It takes a lock, and sleeps while another process holds it.
    Lock(Key),
    /// It passes the lock to the longest waiter. It must hold the lock.
    Unlock(Key),
    /// It puts bytes into a channel (a pipe, a socket, a job server's tokens), and sleeps while there is no room.
    Put {
        /// The channel.
        channel: Key,
        /// How many.
        bytes: u64,
    },
    /// It takes bytes from a channel, and sleeps until they are there.
    Get {
        /// The channel.
        channel: Key,
        /// How many.
        bytes: u64,
    },
    /// It has answered what it got from this channel. The tasks that external interrupts began with those bytes end. Without
    /// such a task it does nothing.
    Answer(Key),
    /// It starts a child.
    Fork(Child),
    /// It waits until this child, or any, has exited.
    Wait(Option<u64>),
    /// A system call on files.
    File(FileCall),
    /// It exits.
    Exit,
}

/// A request straight to the driver, with the process' own guess at how it will depend on the request (Ganger 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawIo {
    /// The process' own number for it, for [`Call::Await`]. No request in flight may have the same number.
    pub number: u64,
    /// What to do.
    pub op: Op,
    /// Where.
    pub lba: Lba,
    /// How much.
    pub sectors: Sectors,
    /// Hints.
    pub flags: Flags,
    /// Time-critical: the process waits at once. Time-limited: it will. Time-noncritical: it will not.
    pub class: Criticality,
}

/// A process to start.
#[derive(Clone, Debug)]
pub struct Child {
    /// The parent's own number for it, for [`Call::Wait`].
    pub number: u64,
    /// Its name, for reports.
    pub name: Arc<str>,
    /// What it does.
    pub program: AnyProgram,
    /// Whether it runs before its parent continues (System V), rather than after.
    pub first: bool,
    /// Whether its parent waits until it has exited (`vfork` without an `exec`).
    pub holds_parent: bool,
    /// Whether the user waits for it. If so, the report lists it by itself.
    pub is_task: bool,
}

/// A program: a pure state machine that says what its process does next.
pub trait Program: fmt::Debug + Send + Sync {
    /// Returns the next event. The call comes before the previous event has had its effect, as with a list. No call follows
    /// [`Call::Exit`].
    fn next(&mut self) -> ProgramEvent;

    /// A copy in the same state.
    fn boxed(&self) -> Box<dyn Program>;
}

/// Any program.
#[derive(Debug)]
pub struct AnyProgram(Box<dyn Program>);

impl AnyProgram {
    /// Wraps a program.
    pub fn new(program: impl Program + 'static) -> Self {
        Self(Box::new(program))
    }

    pub(crate) fn next(&mut self) -> ProgramEvent {
        self.0.next()
    }
}

impl Clone for AnyProgram {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

/// A list of events, in order, then an exit.
#[derive(Clone, Debug)]
pub struct Script {
    events: Arc<[ProgramEvent]>,
    at: usize,
}

impl Script {
    /// A script of these events.
    pub fn new(events: impl Into<Arc<[ProgramEvent]>>) -> Self {
        Self { events: events.into(), at: 0 }
    }
}

impl Program for Script {
    fn next(&mut self) -> ProgramEvent {
        let event = self.events.get(self.at).cloned();
        self.at += 1;
        event.unwrap_or(ProgramEvent { compute: Nanos::ZERO, call: Call::Exit })
    }

    fn boxed(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}

impl From<Script> for AnyProgram {
    fn from(script: Script) -> Self {
        Self::new(script)
    }
}
