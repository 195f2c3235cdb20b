//! `disksim_iosim`: how a trace is mapped to simulated devices.

use super::fields::{Given, ModuleCheck, block, count, list, name, positive, real, whole};
use super::module::module;
use iopilot_block::InputError;

module! {
    /// The mapping of a trace.
    Iosim = "disksim_iosim" {
        /// Scales arrival times.
        trace_time_scale: f64 = "I/O Trace Time Scale", time_scale, or 1.0;
        /// The simulated devices of traced ones.
        mappings: Vec<Iomap> = "I/O Mappings", list(block), or Vec::new();
    }
}

impl ModuleCheck for Iosim {}

fn time_scale(given: &Given<'_>) -> Result<f64, InputError> {
    real(f64::MIN_POSITIVE..=1e9)(given).map_err(|_| given.refuse("a factor above 0"))
}

module! {
    /// The simulated device of a traced one.
    Iomap = "disksim_iomap" {
        /// The device number in the trace.
        tracedev: u64 = "tracedev", count;
        /// The simulated device.
        simdev: String = "simdev", name;
        /// The unit of addresses in the trace, bytes: a divisor or a multiple of 512.
        loc_scale: u64 = "locScale", loc_scale;
        /// Scales the lengths.
        size_scale: u64 = "sizeScale", whole(1..=1 << 30);
        /// Added to the addresses, blocks.
        offset: u64 = "offset", count, or 0;
    }
}

impl ModuleCheck for Iomap {}

fn loc_scale(given: &Given<'_>) -> Result<u64, InputError> {
    let fits = positive(given).ok().filter(|scale| scale % 512 == 0 || 512 % scale == 0);
    fits.ok_or_else(|| given.refuse("a divisor or a multiple of 512"))
}
