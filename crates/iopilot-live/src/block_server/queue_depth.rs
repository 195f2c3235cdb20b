//! The queue depth of a loop device.

use crate::{BlockQueue, LiveError};
use iopilot_sched::NO_SCHEDULER;

/// The default of loop devices, which is also their maximum.
pub(super) const MOST: u32 = 128;
/// The least that the kernel accepts.
pub(super) const LEAST: u32 = 4;

/// Makes the device of `queue` take `depth` requests at once, whatever scheduler it then has.
///
/// Under `none` the attribute `nr_requests` is the number of the driver's tags, and what is set there stays when a
/// scheduler is installed, and after the device is detached. Under a scheduler it is another number: the
/// requests that the scheduler may hold.
pub(super) fn set(queue: &BlockQueue, depth: u32) -> Result<(), LiveError> {
    let scheduler = queue.scheduler()?;
    if scheduler != NO_SCHEDULER {
        queue.set_scheduler(NO_SCHEDULER)?;
    }
    // Writing the value that is shown has no effect, but that value need not be the real one.
    let other = if depth == 64 { 65 } else { 64 };
    queue.write("nr_requests", &other.to_string())?;
    queue.write("nr_requests", &depth.to_string())?;
    if scheduler != NO_SCHEDULER {
        queue.set_scheduler(&scheduler)?;
    }
    Ok(())
}
