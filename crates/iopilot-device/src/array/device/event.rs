//! [`ArrayEvent`]: what the controller does later.

/// Something the controller does at a certain time.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArrayEvent {
    /// The command of an operation has been processed, and what it writes has arrived.
    Start(u32),
    /// What an operation reads has been sent: it is complete.
    Finish(u32),
    /// A member fails.
    Fail(u32),
    /// The host has been idle for long, if nothing came since.
    Idle(u64),
    /// The rebuild goes on.
    Rebuild,
}
