//! [`AnyDevice`]: one of the models, dispatched without a table.

use crate::TableDisk;
use iopilot_block::{Nanos, Positions};
use iopilot_device::{
    Array, CacheControl, Completion, ConstantDevice, Device, DeviceReport, DeviceRequest, FlashDrive, HybridDisk,
    MechanicalDisk, Scaled, SpeedFactor,
};
use iopilot_scsi::{ControlledDrive, SingleDrive};

/// One of the device models.
#[derive(Clone, Debug)]
pub enum AnyDevice {
    /// A hard disk drive.
    Mechanical(Box<MechanicalDisk>),
    /// A latency and a bandwidth.
    Constant(ConstantDevice),
    /// Several devices behind a controller.
    Array(Box<Array<AnyDevice>>),
    /// A drive with all of DiskSim's parameters, on a bus of its own.
    Drive(Box<SingleDrive>),
    /// Times from tables.
    Table(Box<TableDisk>),
    /// A solid-state drive.
    Flash(Box<FlashDrive>),
    /// A hard disk drive with a flash cache.
    Hybrid(Box<HybridDisk<AnyDevice>>),
    /// A drive behind a controller with a cache.
    Controlled(Box<ControlledDrive>),
    /// One of these models, with its time scaled.
    Scaled(Box<Scaled<AnyDevice>>),
}

impl From<TableDisk> for AnyDevice {
    fn from(disk: TableDisk) -> Self {
        Self::Table(Box::new(disk))
    }
}

impl From<MechanicalDisk> for AnyDevice {
    fn from(disk: MechanicalDisk) -> Self {
        Self::Mechanical(Box::new(disk))
    }
}

impl From<SingleDrive> for AnyDevice {
    fn from(drive: SingleDrive) -> Self {
        Self::Drive(Box::new(drive))
    }
}

impl From<HybridDisk<AnyDevice>> for AnyDevice {
    fn from(disk: HybridDisk<Self>) -> Self {
        Self::Hybrid(Box::new(disk))
    }
}

impl From<FlashDrive> for AnyDevice {
    fn from(drive: FlashDrive) -> Self {
        Self::Flash(Box::new(drive))
    }
}

impl From<ConstantDevice> for AnyDevice {
    fn from(device: ConstantDevice) -> Self {
        Self::Constant(device)
    }
}

impl From<ControlledDrive> for AnyDevice {
    fn from(drive: ControlledDrive) -> Self {
        Self::Controlled(Box::new(drive))
    }
}

impl From<Array<AnyDevice>> for AnyDevice {
    fn from(array: Array<Self>) -> Self {
        Self::Array(Box::new(array))
    }
}

impl AnyDevice {
    /// The device, `speed` times as fast.
    #[must_use]
    pub fn at_speed(self, speed: SpeedFactor) -> Self {
        if speed == SpeedFactor::ONE { self } else { Self::Scaled(Box::new(Scaled::new(self, speed))) }
    }

    /// The model of the device, however fast its time passes.
    pub fn model(&self) -> &Self {
        match self {
            Self::Scaled(scaled) => scaled.device().model(),
            model => model,
        }
    }
}

macro_rules! each {
    ($self:ident, $device:ident => $call:expr) => {
        match $self {
            AnyDevice::Mechanical($device) => $call,
            AnyDevice::Constant($device) => $call,
            AnyDevice::Array($device) => $call,
            AnyDevice::Drive($device) => $call,
            AnyDevice::Table($device) => $call,
            AnyDevice::Flash($device) => $call,
            AnyDevice::Hybrid($device) => $call,
            AnyDevice::Controlled($device) => $call,
            AnyDevice::Scaled($device) => $call,
        }
    };
}

impl Device for AnyDevice {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        each!(self, device => device.submit(request, now));
    }

    fn next_event(&self) -> Option<Nanos> {
        each!(self, device => device.next_event())
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        each!(self, device => device.advance(now, out));
    }

    fn capacity(&self) -> u64 {
        each!(self, device => device.capacity())
    }

    fn queue_depth(&self) -> u32 {
        each!(self, device => device.queue_depth())
    }

    fn hardware_queues(&self) -> u16 {
        each!(self, device => device.hardware_queues())
    }

    fn cache_control(&self) -> CacheControl {
        each!(self, device => device.cache_control())
    }

    fn positions(&self) -> Option<&dyn Positions> {
        each!(self, device => device.positions())
    }

    fn report(&self) -> Option<DeviceReport> {
        each!(self, device => device.report())
    }

    fn respin(&mut self, revolutions: f64) {
        each!(self, device => device.respin(revolutions));
    }
}
