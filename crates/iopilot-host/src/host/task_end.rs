//! [`TaskEnd`]: the state of the host when a task ended.

use iopilot_block::Nanos;

/// The state of the host when a task ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskEnd {
    pub(super) at: Nanos,
    /// Pages that were dirty or being written.
    pub(super) dirty: u32,
    /// Requests that had been issued.
    pub(super) issued: u64,
}
