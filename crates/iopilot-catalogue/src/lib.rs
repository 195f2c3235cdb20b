//! Descriptions of drives, and what is built from them.
//!
//! A [`DiskSpec`] is a drive in TOML: a data sheet, or everything that was measured. [`Catalogue`] holds the
//! descriptions that come with iopilot. [`DiskSpec::build`] makes an [`AnyDevice`] from a description. [`probe_disk`]
//! and [`Training`] describe a disk from its service times alone.
//!
//! Comments cite two sources by section: *GF* is González-Férez' thesis of 2012, *Ganger* is Ganger's thesis of 1995.

mod any;
mod catalogue;
mod error;
mod probe;
mod spec;
mod table;

pub use any::AnyDevice;
pub use catalogue::{Catalogue, load_disk};
pub use error::DeviceError;
pub use probe::{Measurement, Probe, ProbeError, Probed, probe_disk};
pub use spec::{
    ArraySpec, BufferSpec, BusSharing, BusSpec, CacheSpec, CellSpec, ControllerSpec, DeviceSpec, DiskSpec,
    DriveMechanicsSpec, DriveQueueSpec, DriveSeekSpec, DriveSpec, ExtraDisconnectSpec, FlashSpec, G1Spec, G1ZoneSpec,
    G2Spec, G2ZoneSpec, G4NodeSpec, G4Spec, GeometrySpec, HplSpec, HybridCacheSpec, HybridFlashSpec, HybridSpec,
    HybridWriteSpec, InterfaceSpec, LayoutSpec, MarkCounts, MeasuredClock, MechanicalSpec, MechanicsSpec,
    OverheadsSpec, PolicySpec, PreconditionSpec, ProtocolSpec, ReadSpec, SeekSpec, SqrtLinearSpec, SsdBufferSpec,
    SsdFtlSpec, SsdHostSpec, SsdNandSpec, SsdSpec, TableCacheSpec, TableSpec, ThinkSide, ThreePointSpec,
    WritePolicySpec, WriteSpec, ZoneSpec,
};
pub use table::Lookup as TableLookup;
pub use table::{
    Coverage, HitLimit, ProbedCache, ProbedQueue, ROWS as TABLE_ROWS, SimulatedCache, SimulatedCacheModel, TableDisk,
    TableForm, TableModel, TableShape, TimeTable, TimeTables, Trained, Training, queue_factors, three_tables,
};
