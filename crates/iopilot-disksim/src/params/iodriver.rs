//! `disksim_iodriver`: the device driver.

use super::fields::{Given, ModuleCheck, block, count, flag, ms};
use super::ioqueue::Ioqueue;
use super::module::module;
use iopilot_block::InputError;

/// `Constant access time` of a driver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccessTime {
    /// 0: the time of the simulated storage subsystem.
    Simulated,
    /// This many ms after a request leaves the driver's queue. The subsystem is not used.
    Constant(f64),
    /// -1: the time in the trace.
    Traced,
    /// -2: the simulated time, after the time in the queue from the trace.
    TracedQueue,
    /// -3: both times from the trace.
    TracedBoth,
}

module! {
    /// A device driver.
    Iodriver = "disksim_iodriver" {
        /// Unused.
        kind: u64 = "type", count;
        /// The time of an access.
        constant_access_time: AccessTime = "Constant access time", access_time;
        /// Whether more than one request may be outstanding at a device.
        use_queueing_in_subsystem: bool = "Use queueing in subsystem", flag;
        /// The queue of each device.
        scheduler: Ioqueue = "Scheduler", block;
    }
}

impl ModuleCheck for Iodriver {}

fn access_time(given: &Given<'_>) -> Result<AccessTime, InputError> {
    Ok(match given.number()? {
        0.0 => AccessTime::Simulated,
        -1.0 => AccessTime::Traced,
        -2.0 => AccessTime::TracedQueue,
        -3.0 => AccessTime::TracedBoth,
        value if value > 0.0 => AccessTime::Constant(ms(given)?),
        _ => return Err(given.refuse("milliseconds; 0.0 simulated; -1.0, -2.0, -3.0 access, queue, both traced")),
    })
}
