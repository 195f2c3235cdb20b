//! [`Store`]: the data behind a block device.

use super::answer::Answer;
use iopilot_block::Op;

/// A request to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRequest {
    /// What to do.
    pub(crate) op: Op,
    /// Of a write: whether it is to be durable when it is answered (FUA).
    pub(crate) durable: bool,
    /// The first byte.
    pub(crate) offset: u64,
    /// Bytes; 0 for a flush.
    pub(crate) length: u64,
}

/// The data behind a block device.
///
/// A request is first [taken](Self::take), in the order in which the kernel sends requests. What may block is done
/// [afterwards](Self::carry_out), by one of several threads.
pub(crate) trait Store: Send + Sync + 'static {
    /// A request that was taken, and whose remaining work may block.
    type Taken: Send + 'static;

    /// Bytes.
    fn size(&self) -> u64;

    /// Takes a request without blocking. `None` where nothing is left to [carry out](Self::carry_out): it is answered
    /// already, or will be.
    fn take(&self, request: BlockRequest, answer: Answer) -> Option<Self::Taken>;

    /// Does the rest of a request.
    fn carry_out(&self, taken: Self::Taken);
}
