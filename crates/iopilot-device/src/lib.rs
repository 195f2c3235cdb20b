//! Models of storage devices, and a catalogue of drives.
//!
//! A [`Device`] is a pure state machine in virtual time. The same object serves the simulator and a real-time virtual
//! disk.

mod any;
mod any_target;
mod arm_positions;
mod array;
mod catalogue;
mod constant;
mod controlled;
mod device;
mod disk;
mod drive;
mod error;
mod flash;
mod hybrid;
mod probe;
mod report;
mod scaled;
mod spec;
mod subsystem;
mod table;
mod target;
mod timed;

pub use any::AnyDevice;
pub use any_target::AnyTarget;
pub use array::{
    Array, ArrayLayout, ArrayModel, BlockDesign, CopyChoice, Failure, Health, Mapper, MappingRules, MemberIo,
    MemberView, MirrorOrder, NvramModel, Organisation, ParityRange, Plan, RebuildModel, Redundancy, Rotation,
    UnitAddress, UnitIndex, UnitPlace, UpdateRule, WriteOrder,
};
pub use catalogue::{Catalogue, load_disk};
pub use constant::{ConstantDevice, ConstantModel};
pub use controlled::ControlledDrive;
pub use device::{CacheControl, Completion, Device, DeviceRequest, ServiceBreakdown};
pub use disk::{
    Arm, CacheModel, DiskModel, G1Layout, G1Zone, G2Extent, G2Layout, G2Zone, G4Child, G4Entry, G4Layout, G4Remap,
    Geometry, HeadOrder, InterfaceModel, Layout, MechanicalDisk, Mechanics, Place, QueuePolicy, SeekCurve, SeekFloor,
    SkewUnit, Sparing, Track, TrackPattern, Zone, ZoneSpan,
};
pub use drive::{
    After, BufferModel, BusPolicy, Drive, DriveModel, ExtraDisconnect, FastWrite, KeepRequested, Overheads, Preseek,
    ReadAheadRule, ReadModel, SingleDrive, WriteModel,
};
pub use error::DeviceError;
pub use flash::{
    FlashBufferModel, FlashDrive, FlashHostModel, FlashModel, FlashStats, FtlModel, NandModel, Precondition,
    StripeOrder, steady_victim_share, steady_write_amplification,
};
pub use hybrid::{HybridDisk, HybridModel, HybridStats, HybridWrite};
pub use probe::{Measured, Probe, ProbeError, Probed, probe_disk};
pub use report::{ArrayReport, ControllerReport, DeviceReport, HybridReport, MemberReport};
pub use scaled::{Scaled, SpeedFactor};
pub use spec::{
    ArraySpec, BufferSpec, BusSharing, BusSpec, CacheSpec, CellSpec, ControllerSpec, CopyChoiceSpec, DeviceSpec,
    DiskSpec, DriveMechanicsSpec, DriveQueueSpec, DriveSeekSpec, DriveSpec, ExtraDisconnectSpec, FailureSpec,
    FlashSpec, G1Spec, G1ZoneSpec, G2Spec, G2ZoneSpec, G4NodeSpec, G4Spec, GeometrySpec, HplSpec, HybridCacheSpec,
    HybridFlashSpec, HybridSpec, HybridWriteSpec, InterfaceSpec, LayoutSpec, LevelSpec, MarkCounts, MeasuredClock,
    MechanicalSpec, MechanicsSpec, MirrorSpec, OverheadsSpec, PolicySpec, PreconditionSpec, ProtocolSpec, ReadSpec,
    RebuildSpec, RotationSpec, SeekSpec, SqrtLinearSpec, SsdBufferSpec, SsdFtlSpec, SsdHostSpec, SsdNandSpec, SsdSpec,
    StripeSpec, TableCacheSpec, TableRowSpec, TableSpec, ThinkSide, ThreePointSpec, WritePolicySpec, WriteSpec,
    ZoneSpec,
};
pub use subsystem::{
    AllocationPolicy, Arbitration, BusIndex, BusModel, BusReport, CacheDeviceModel, CacheReport, ControllerCacheModel,
    ControllerIndex, ControllerModel, DeviceLimits, FlushPolicy, MemoryCacheModel, Ownership, Prefetch,
    ReplacementPolicy, SimpleDisk, SimpleDiskModel, SmartModel, Subsystem, SubsystemBuilder, SubsystemFault,
    WriteScheme,
};
pub use table::Lookup as TableLookup;
pub use table::{
    CacheProbe, Coverage, HitLimit, ProbedCache, ProbedQueue, ROWS as TABLE_ROWS, SimulatedCache, SimulatedCacheModel,
    TableDisk, TableForm, TableModel, TableShape, TimeTable, TimeTables, Trained, Training, further_sector_time,
    probe_cache, probe_queue, queue_factors, three_tables,
};
pub use target::{BlockTimes, Message, MessageKind, Signal, Target};
pub use timed::{Synchronous, TimedDevice};
