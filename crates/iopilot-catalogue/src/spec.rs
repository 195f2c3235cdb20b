//! [`DiskSpec`]: a drive as a data sheet describes it, in TOML.
//!
//! Every key names its unit. What a data sheet does not say can be left out and is derived; see `docs/reference/disks.md`.

mod array;
mod bounds;
mod build;
mod check;
mod controller;
mod disk;
mod drive;
mod hybrid;
mod load;
mod marks;
mod rules;
mod sections;
mod ssd;
mod table;

pub use array::ArraySpec;
pub use controller::{BusSharing, ControllerSpec, WritePolicySpec};
pub use disk::{DeviceSpec, DiskSpec};
pub use drive::{
    BufferSpec, BusSpec, DriveMechanicsSpec, DriveQueueSpec, DriveSeekSpec, DriveSpec, ExtraDisconnectSpec, G1Spec,
    G1ZoneSpec, G2Spec, G2ZoneSpec, G4NodeSpec, G4Spec, HplSpec, MeasuredClock, OverheadsSpec, ReadSpec, ThinkSide,
    ThreePointSpec, WriteSpec,
};
pub use hybrid::{HybridCacheSpec, HybridFlashSpec, HybridSpec, HybridWriteSpec};
pub use marks::MarkCounts;
pub use sections::{
    CacheSpec, FlashSpec, GeometrySpec, InterfaceSpec, LayoutSpec, MechanicalSpec, MechanicsSpec, PolicySpec,
    ProtocolSpec, SeekSpec, SqrtLinearSpec, ZoneSpec,
};
pub use ssd::{CellSpec, PreconditionSpec, SsdBufferSpec, SsdFtlSpec, SsdHostSpec, SsdNandSpec, SsdSpec};
pub use table::{TableCacheSpec, TableSpec};
