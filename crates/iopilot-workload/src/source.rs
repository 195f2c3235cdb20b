//! The [`Source`] trait: where requests come from.

use iopilot_block::{Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};

/// What a source calls a request of its own. The numbers mean nothing to others, and may be used again once the request
/// is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceHandle(pub u64);

/// A request as a workload issues it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// What to do.
    pub op: Op,
    /// First sector on the device.
    pub lba: Lba,
    /// Length; zero only for a flush.
    pub sectors: Sectors,
    /// Hints.
    pub flags: Flags,
    /// The issuing task.
    pub process: ProcessId,
    /// Its I/O priority.
    pub priority: IoPriority,
    /// How it depends on the completion.
    pub criticality: Criticality,
    /// The CPU it is submitted on; the engine takes it modulo the machine's number of CPUs.
    pub cpu: u16,
    /// What the source calls it; handed back at completion.
    pub handle: SourceHandle,
}

/// What a source does at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A task issues a request.
    Request(Arrival),
    /// A task has been started by another. Only the log of the run tells: of a task that was there from the beginning
    /// nothing needs to be said.
    Start {
        /// The new one.
        process: ProcessId,
        /// Who started it.
        parent: ProcessId,
    },
    /// A task has exited: it issues nothing more.
    Exit(ProcessId),
}

/// A workload: processes that issue requests, wait for them and think.
///
/// A pure state machine in virtual time. The engine asks [`Source::next_event`] after every call, calls
/// [`Source::advance`] at that time, and tells of every completion. Requests that one task issues in one `advance` are
/// one batch: they are plugged together.
pub trait Source {
    /// When the source next does something by itself; `None` where it only waits for completions, or is done.
    fn next_event(&self) -> Option<Nanos>;

    /// Appends to `out`, in order, everything due at or before `now`.
    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>);

    /// The request `handle` has completed, and the completing CPU has told its task.
    fn completed(&mut self, handle: SourceHandle, now: Nanos);

    /// The queue is full: `process` sleeps within a submission until [`Source::unblocked`], and issues nothing
    /// meanwhile. (What it issued in the same batch waits in the engine.)
    fn blocked(&mut self, process: ProcessId, now: Nanos);

    /// `process` goes on.
    fn unblocked(&mut self, process: ProcessId, now: Nanos);

    /// Whether a task submits one request after the other, so that the next waits where one has to. Not so where
    /// nobody knows whose requests they are.
    fn is_serial(&self) -> bool {
        true
    }

    /// Whether think times count from the block layer's completion, as those inferred from a trace do; else the host
    /// adds the time until the task runs again.
    fn thinks_from_block_layer(&self) -> bool {
        false
    }
}

/// A source that is looked at after its run.
impl<S: Source> Source for &mut S {
    fn next_event(&self) -> Option<Nanos> {
        (**self).next_event()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        (**self).advance(now, out);
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        (**self).completed(handle, now);
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        (**self).blocked(process, now);
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        (**self).unblocked(process, now);
    }

    fn is_serial(&self) -> bool {
        (**self).is_serial()
    }

    fn thinks_from_block_layer(&self) -> bool {
        (**self).thinks_from_block_layer()
    }
}
