//! [`DriveSpec`]: a drive with all of DiskSim 4.0's parameters, and some more that measured drives need.
//!
//! `type = "drive"`, all of it in `[drive]`. Times are ms, sizes 512-byte sectors; each field names its unit. The
//! fields mean the same as those of [`DriveModel`](iopilot_scsi::DriveModel).

mod build;
mod defaults;
mod entry;
mod layouts;
mod queue;
mod sections;

pub use layouts::{G1Spec, G1ZoneSpec, G2Spec, G2ZoneSpec, G4NodeSpec, G4Spec};
pub use queue::DriveQueueSpec;
pub use sections::{
    BufferSpec, BusSpec, DriveMechanicsSpec, DriveSeekSpec, DriveSpec, ExtraDisconnectSpec, HplSpec, MeasuredClock,
    OverheadsSpec, ReadSpec, ThinkSide, ThreePointSpec, WriteSpec,
};
