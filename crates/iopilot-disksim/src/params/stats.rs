//! `disksim_stats`: the groups of statistics to print. They have no effect on a simulation.

use super::fields::{ModuleCheck, block, flag};
use super::module::module;

module! {
    /// Statistics to print for a driver.
    IodriverStats = "disksim_iodriver_stats" {
        /// Sizes of requests.
        size: bool = "Print driver size stats", flag;
        /// Locality.
        locality: bool = "Print driver locality stats", flag;
        /// Blocking.
        blocking: bool = "Print driver blocking stats", flag;
        /// Interference of streams.
        interference: bool = "Print driver interference stats", flag;
        /// Lengths and times of the queue.
        queue: bool = "Print driver queue stats", flag;
        /// Critical requests.
        crit: bool = "Print driver crit stats", flag;
        /// Idle periods.
        idle: bool = "Print driver idle stats", flag;
        /// Times between arrivals.
        intarr: bool = "Print driver intarr stats", flag;
        /// Streaks at one device.
        streak: bool = "Print driver streak stats", flag;
        /// Time stamps.
        stamp: bool = "Print driver stamp stats", flag;
        /// Each device separately.
        per_device: bool = "Print driver per-device stats", flag;
    }
}

impl ModuleCheck for IodriverStats {}

module! {
    /// Statistics to print for a bus.
    BusStats = "disksim_bus_stats" {
        /// Idle periods.
        idle: bool = "Print bus idle stats", flag;
        /// Waits for the bus.
        arbwait: bool = "Print bus arbwait stats", flag;
    }
}

impl ModuleCheck for BusStats {}

module! {
    /// Statistics to print for a controller.
    CtlrStats = "disksim_ctlr_stats" {
        /// The cache.
        cache: bool = "Print controller cache stats", flag;
        /// Sizes of requests.
        size: bool = "Print controller size stats", flag;
        /// Locality.
        locality: bool = "Print controller locality stats", flag;
        /// Blocking.
        blocking: bool = "Print controller blocking stats", flag;
        /// Interference of streams.
        interference: bool = "Print controller interference stats", flag;
        /// Lengths and times of the queue.
        queue: bool = "Print controller queue stats", flag;
        /// Critical requests.
        crit: bool = "Print controller crit stats", flag;
        /// Idle periods.
        idle: bool = "Print controller idle stats", flag;
        /// Times between arrivals.
        intarr: bool = "Print controller intarr stats", flag;
        /// Streaks at one device.
        streak: bool = "Print controller streak stats", flag;
        /// Time stamps.
        stamp: bool = "Print controller stamp stats", flag;
        /// Each device separately.
        per_device: bool = "Print controller per-device stats", flag;
    }
}

impl ModuleCheck for CtlrStats {}

module! {
    /// Statistics to print for a device.
    DeviceStats = "disksim_device_stats" {
        /// Lengths and times of the queue.
        queue: bool = "Print device queue stats", flag;
        /// Critical requests.
        crit: bool = "Print device crit stats", flag;
        /// Idle periods.
        idle: bool = "Print device idle stats", flag;
        /// Times between arrivals.
        intarr: bool = "Print device intarr stats", flag;
        /// Sizes of requests.
        size: bool = "Print device size stats", flag;
        /// Seeks.
        seek: bool = "Print device seek stats", flag;
        /// Rotational latency.
        latency: bool = "Print device latency stats", flag;
        /// Transfers.
        xfer: bool = "Print device xfer stats", flag;
        /// Access times.
        acctime: bool = "Print device acctime stats", flag;
        /// Interference of streams.
        interfere: bool = "Print device interfere stats", flag;
        /// The buffer.
        buffer: bool = "Print device buffer stats", flag;
    }
}

impl ModuleCheck for DeviceStats {}

module! {
    /// Statistics to print for processes.
    PfStats = "disksim_pf_stats" {
        /// Each process.
        per_process: bool = "Print per-process stats", flag;
        /// Each processor.
        per_cpu: bool = "Print per-CPU stats", flag;
        /// Interrupts.
        all_interrupt: bool = "Print all interrupt stats", flag;
        /// Sleeping.
        sleep: bool = "Print sleep stats", flag;
    }
}

impl ModuleCheck for PfStats {}

module! {
    /// The statistics to print.
    Stats = "disksim_stats" {
        /// Those of drivers.
        iodriver: IodriverStats = "iodriver stats", block;
        /// Those of buses.
        bus: BusStats = "bus stats", block;
        /// Those of controllers.
        ctlr: CtlrStats = "ctlr stats", block;
        /// Those of devices.
        device: DeviceStats = "device stats", block;
        /// Those of processes.
        process_flow: PfStats = "process flow stats", block;
    }
}

impl ModuleCheck for Stats {}
