//! [`now`]: the clock of the kernel's events.

use crate::block_server::monotonic;
use iopilot_block::Nanos;

/// The present time, on the clock that events are stamped with.
pub(super) fn now() -> Nanos {
    Nanos(monotonic())
}
