//! [`BenchmarkRequest`]: a request of a process.

use iopilot_block::Nanos;

/// Sectors in a page of 4 kB.
pub(super) const PAGE: u64 = 8;
/// The number of processes that a disk has files for.
pub(super) const PROCESSES: u64 = 32;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BenchmarkRequest {
    pub(super) lba: u64,
    pub(super) sectors: u32,
    /// Whether it is issued while the process waits for the request before. Otherwise it is issued when that one is
    /// complete.
    pub(super) ahead: bool,
    /// How long the process computes before it.
    pub(super) think: Nanos,
    pub(super) task: IssuingTask,
}

/// The task that issues a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IssuingTask {
    /// The process itself.
    Own,
    /// A new child process, which the process waits for: the child's first request.
    Starts,
    /// The same child: a further request.
    Started,
}
