//! Models of storage devices, and a catalogue of drives.
//!
//! A [`Device`] is a pure state machine in virtual time. The same object serves the simulator and a real-time virtual
//! disk.

mod any;
mod constant;
mod device;
mod disk;
mod error;

pub use any::AnyDevice;
pub use constant::{ConstantDevice, ConstantModel};
pub use device::{Completion, Device, DeviceRequest, ServiceBreakdown};
pub use disk::{
    Arm, CacheModel, DiskModel, Geometry, InterfaceModel, Layout, MechanicalDisk, Mechanics, QueuePolicy, SeekCurve,
    Track, Zone,
};
pub use error::DeviceError;
