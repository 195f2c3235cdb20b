//! [`DriveSpec`]: a drive with everything that DiskSim 4.0 describes one with, and what measured drives need besides.
//!
//! `type = "drive"`, all of it in `[drive]`. Times are ms, sizes 512-byte sectors; each field names its unit. The fields
//! mean what those of [`DriveModel`](iopilot_scsi::DriveModel) mean.

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
