//! The parameters of controllers.

use crate::controller_cache::{CacheDeviceModel, MemoryCacheModel};
use iopilot_block::Nanos;
use iopilot_sched::IoQueueConfig;

/// The parameters of a controller.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerModel {
    /// Passes everything on, after a delay for each message in each direction.
    PassThrough {
        /// That delay.
        delay: Nanos,
    },
    /// Like the 53C700 SCSI chip: handles one command or transfer at a time; the others wait in order.
    Scsi53c700 {
        /// For each step of each message.
        delay: Nanos,
        /// The time of a 512-byte block in it, ns.
        block_time: f64,
    },
    /// Has a queue for each device and a cache; data move between it and the host in its own time.
    Smart(Box<SmartModel>),
}

/// The parameters of a smart controller.
#[derive(Clone, Debug, PartialEq)]
pub struct SmartModel {
    /// For each step of each message.
    pub delay: Nanos,
    /// The time of a 512-byte block in it, ns: on the way to and from devices, and again to and from the host.
    pub block_time: f64,
    /// Whether the data of all requests move between it and the host at once, each with an equal share of the rate.
    /// Otherwise one request transfers at a time.
    pub interleaved: bool,
    /// Requests of the host that it accepts at once.
    pub queue_depth: u32,
    /// Requests outstanding at each device.
    pub per_device: u32,
    /// The order in which the requests for each device are sent.
    pub queue: IoQueueConfig,
    /// Its cache.
    pub cache: ControllerCacheModel,
}

/// The medium of a smart controller's cache.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerCacheModel {
    /// Lines in memory.
    Memory(MemoryCacheModel),
    /// Another device.
    Device(CacheDeviceModel),
}
