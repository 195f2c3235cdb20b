//! [`ArrayEvent`]: future events of the controller.

/// Something the controller does at a certain time.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArrayEvent {
    /// The command of an operation has been processed, and its write data have arrived.
    Start(u32),
    /// The data of a read have been sent: the operation is complete.
    Finish(u32),
    /// A member fails.
    Fail(u32),
    /// The host has been idle long enough, unless a request came since.
    Idle(u64),
    /// The rebuild continues.
    Rebuild,
}
