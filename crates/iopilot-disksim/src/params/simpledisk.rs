//! `disksim_simpledisk`: a device with a constant access time.

use super::fields::{BlockFields, ModuleCheck, block, flag, ms, positive, signed_ms, some, whole};
use super::ioqueue::Ioqueue;
use super::module::module;
use iopilot_block::InputError;

module! {
    /// A device with a constant access time.
    Simpledisk = "disksim_simpledisk" {
        /// Its queue.
        scheduler: Ioqueue = "Scheduler", block;
        /// Requests it takes at once.
        max_queue_length: u32 = "Max queue length", whole(0..=65_536);
        /// Its size, blocks.
        block_count: u64 = "Block count", positive;
        /// The time of each message, ms.
        bus_transaction_latency: f64 = "Bus transaction latency", ms, or 0.0;
        /// Transfer time of each block on the bus, ms. A negative value has no effect, as the slowest part of the path
        /// counts.
        bulk_sector_transfer_time: f64 = "Bulk sector transfer time", signed_ms;
        /// Whether it keeps the bus during the access.
        never_disconnect: bool = "Never disconnect", flag;
        /// Output only.
        print_stats: bool = "Print stats", flag;
        /// Overhead at the start of each request, ms.
        command_overhead: f64 = "Command overhead", ms;
        /// The time of an access, ms.
        access_time: Option<f64> = "Access time", some(ms), or None;
        /// The same under another name; if both are given, the last one is used.
        constant_access_time: Option<f64> = "Constant access time", some(ms), or None;
    }
}

impl ModuleCheck for Simpledisk {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        match (self.access_time, self.constant_access_time) {
            (None, None) => Err(fields.missing("Access time", "milliseconds")),
            (Some(one), Some(other)) if one != other => {
                Err(fields.refuse("Constant access time", format!("{one}: Access time says so, which means the same")))
            }
            _ => Ok(()),
        }
    }
}

impl Simpledisk {
    /// The time of an access, ms.
    pub fn access_ms(&self) -> f64 {
        self.access_time.or(self.constant_access_time).unwrap_or_default()
    }
}
