//! [`FlushQueue`]: the state of the flush machinery of a hardware queue.

use iopilot_block::{Flags, Nanos, RequestId};

/// The steps that a request still needs, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FlushSteps {
    pub(super) preflush: bool,
    pub(super) data: bool,
    pub(super) postflush: bool,
}

/// The state of a request in the flush machinery.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlushSequence {
    pub(super) left: FlushSteps,
    /// Its flags as submitted.
    pub(super) flags: Flags,
    /// Whether it passes through the scheduler.
    pub(super) scheduled: bool,
}

/// The flushes of a hardware queue (`struct blk_flush_queue`).
#[derive(Clone, Debug, Default)]
pub(super) struct FlushQueue {
    /// Requests that need a flush: the gathering list, and the list of the running flush.
    pub(super) lists: [Vec<RequestId>; 2],
    /// The index of the gathering list.
    pub(super) gathering: usize,
    /// When the first request joined the gathering list.
    pub(super) since: Nanos,
    /// The flush that is sent to the device and not complete.
    pub(super) running: Option<RequestId>,
    /// The number of sequences whose data are in flight.
    pub(super) data_in_flight: u32,
}
