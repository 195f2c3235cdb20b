//! Models of storage devices.
//!
//! A [`Device`] is a pure state machine in virtual time. The same object serves the simulator and a real-time virtual
//! disk. This crate has the mechanical disk, flash, hybrid drives and arrays. A drive on a bus with controllers is in
//! `iopilot-scsi`. The descriptions from which devices are built are in `iopilot-catalogue`.
//!
//! GF is González-Férez' thesis (2012), Ganger is Ganger's (1995), and Carroll is Carroll's (2008).

mod arm_positions;
mod array;
mod constant;
mod device;
mod disk;
mod flash;
mod hybrid;
mod report;
mod scaled;
mod timed;

pub use arm_positions::ArmModel;
pub use array::{
    Array, ArrayLayout, ArrayModel, BlockDesign, CopyChoice, Failure, Health, Mapper, MappingRules, MemberIo,
    MemberView, MirrorOrder, NvramModel, Organisation, ParityRange, Plan, RebuildModel, Redundancy, Rotation,
    UnitAddress, UnitIndex, UnitPlace, UpdateRule, WriteOrder,
};
pub use constant::{ConstantDevice, ConstantModel};
pub use device::{CacheControl, Completion, Device, DeviceRequest, ServiceBreakdown};
pub use disk::{
    Arm, BlockPlace, CacheModel, DiskModel, G1Layout, G1Zone, G2Extent, G2Layout, G2Zone, G4Child, G4Entry, G4Layout,
    G4Remap, Geometry, HeadOrder, InterfaceModel, MechanicalDisk, Mechanics, QueuePolicy, SeekCurve, SeekFloor,
    SkewUnit, Sparing, Track, TrackLayout, TrackPattern, Zone, ZoneSpan,
};
pub use flash::{
    FlashBufferModel, FlashDrive, FlashHostModel, FlashModel, FlashStats, FtlModel, NandModel, Precondition,
    StripeOrder,
};
pub use hybrid::{HybridDisk, HybridModel, HybridStats, HybridWrite};
pub use report::{ArrayReport, ControllerReport, DeviceReport, HybridReport, MemberReport};
pub use scaled::{Scaled, SpeedFactor};
pub use timed::{Synchronous, TimedDevice};
