//! Drives at the end of a bus, and the units above them: controllers, their caches, buses. Ganger is Ganger's thesis
//! of 1995 on system-oriented evaluation of storage subsystems (A.1.2, B.2); DiskSim 4.0 is the simulator that grew
//! from it.
//!
//! A [`Target`] speaks a SCSI-like protocol with its bus: command, ready, disconnect, reconnect, complete. [`Drive`]
//! is a target with mechanics, a segmented buffer and all drive parameters of DiskSim. A [`Subsystem`] joins targets,
//! buses and controllers. [`SingleDrive`] and [`ControlledDrive`] make a [`Device`](iopilot_device::Device) of a
//! drive.

mod any_target;
mod bus;
mod controlled;
mod controller;
mod controller_cache;
mod drive;
mod simple_disk;
mod target;
mod topology;

pub use any_target::AnyTarget;
pub use bus::{Arbitration, BusModel, BusReport, Ownership};
pub use controlled::ControlledDrive;
pub use controller::{ControllerCacheModel, ControllerModel, SmartModel};
pub use controller_cache::{
    AllocationPolicy, CacheDeviceModel, ControllerCacheReport, FlushPolicy, MemoryCacheModel, Prefetch,
    ReplacementPolicy, WriteScheme,
};
pub use drive::{
    After, BusPolicy, Drive, DriveBufferModel, DriveModel, ExtraDisconnect, FastWrite, KeepRequested, Overheads,
    Preseek, ReadAheadRule, ReadModel, SingleDrive, WriteModel,
};
pub use simple_disk::{SimpleDisk, SimpleDiskModel};
pub use target::{BlockTimes, Message, MessageKind, Signal, Target};
pub use topology::{BusIndex, ControllerIndex, DeviceLimits, Subsystem, SubsystemBuilder, SubsystemFault};
