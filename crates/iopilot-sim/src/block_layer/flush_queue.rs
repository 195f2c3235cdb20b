//! [`FlushQueue`]: the state of the flush machinery of a hardware queue.

use iopilot_block::{Flags, Nanos, RequestId};

/// What is still to be done for a request, first things first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FlushSteps {
    pub(super) preflush: bool,
    pub(super) data: bool,
    pub(super) postflush: bool,
}

/// A request on its way through the machinery.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlushSequence {
    pub(super) left: FlushSteps,
    /// Its flags as submitted.
    pub(super) flags: Flags,
    /// Whether the scheduler had it.
    pub(super) scheduled: bool,
}

/// The flushes of a hardware queue (`struct blk_flush_queue`).
#[derive(Clone, Debug, Default)]
pub(super) struct FlushQueue {
    /// Requests that need a flush: those that gather, and those for which one is in the device.
    pub(super) lists: [Vec<RequestId>; 2],
    /// The list that gathers.
    pub(super) gathering: usize,
    /// Since when somebody has waited in it.
    pub(super) since: Nanos,
    /// The flush in the device, or on its way there.
    pub(super) running: Option<RequestId>,
    /// Data of sequences under way.
    pub(super) data_in_flight: u32,
}
