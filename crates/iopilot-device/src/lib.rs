//! Models of storage devices, and a catalogue of drives.
//!
//! A [`Device`] is a pure state machine in virtual time. The same object serves the simulator and a real-time virtual
//! disk.

mod device;

pub use device::{Completion, Device, DeviceRequest, ServiceBreakdown};
