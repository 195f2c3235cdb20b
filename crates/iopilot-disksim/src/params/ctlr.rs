//! `disksim_ctlr`: a controller.

use super::cache::{Cachedev, Cachemem};
use super::choice::{choice, choices};
use super::fields::{BlockFields, Given, Module, ModuleCheck, block, count, flag, ms, real, some};
use super::ioqueue::Ioqueue;
use super::module::module;
use crate::parse::Value;
use iopilot_block::InputError;

choices! {
    /// The kind of a controller.
    CtlrType {
        /// Passes everything on.
        PassThrough = "1", "pass-through";
        /// Like the NCR 53C700: one request at a time, driven by the host.
        Simple = "2", "like the 53C700";
        /// Has a queue for each device, and a cache.
        Smart = "3", "smart, with queues and a cache";
    }
}

/// The cache of a smart controller.
#[derive(Clone, Debug, PartialEq)]
pub enum CtlrCache {
    /// Memory.
    Memory(Cachemem),
    /// A device that caches another.
    Device(Cachedev),
}

module! {
    /// A controller.
    Ctlr = "disksim_ctlr" {
        /// Its kind.
        kind: CtlrType = "type", choice;
        /// Scales its delays: 1 ms a message for type 1, 0.5 ms a step for the others.
        scale_for_delays: f64 = "Scale for delays", real(0.0..=1e9);
        /// Transfer time of each block, ms; types 2 and 3.
        bulk_sector_transfer_time: f64 = "Bulk sector transfer time", ms;
        /// One less than the number of requests that may be outstanding; type 3.
        maximum_queue_length: u64 = "Maximum queue length", count;
        /// Output only.
        print_stats: bool = "Print stats", flag;
        /// Its queue for each device; type 3.
        scheduler: Option<Ioqueue> = "Scheduler", some(block), or None;
        /// Its cache; type 3.
        cache: Option<CtlrCache> = "Cache", some(cache), or None;
        /// The most requests outstanding at a device; type 3.
        max_per_disk_pending_count: Option<u64> = "Max per-disk pending count", some(count), or None;
    }
}

fn cache(given: &Given<'_>) -> Result<CtlrCache, InputError> {
    match given.value {
        Value::Block(b) if b.module == Cachemem::MODULE => block(given).map(CtlrCache::Memory),
        Value::Block(b) if b.module == Cachedev::MODULE => block(given).map(CtlrCache::Device),
        _ => Err(given.refuse("a block, disksim_cachemem { ... } or disksim_cachedev { ... }")),
    }
}

impl ModuleCheck for Ctlr {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.kind != CtlrType::Smart {
            return Ok(());
        }
        for (name, given) in [("Scheduler", self.scheduler.is_some()), ("Cache", self.cache.is_some())] {
            if !given {
                return Err(fields.missing(name, "a block; a controller of type 3 needs it"));
            }
        }
        Ok(())
    }
}
