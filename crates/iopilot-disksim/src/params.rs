//! Typed parameters: one struct per module, with every parameter of DiskSim 4.0 as a field.
//!
//! [`Module::read`] converts a [`Block`](crate::Block), [`System::read`] a whole [`Spec`](crate::Spec).

mod bus;
mod cache;
mod choice;
mod ctlr;
mod data_file;
mod disk;
mod dm_disk;
mod fields;
mod global;
mod iodriver;
mod ioqueue;
mod iosim;
mod layout_g1;
mod layout_g2;
mod layout_g4;
mod logorg;
mod mech_g1;
mod module;
mod seek_file;
mod simpledisk;
mod statdefs;
mod stats;
mod synthio;
mod system;
mod topology;

pub use bus::{ArbitrationType, Bus, BusType};
pub use cache::{
    AllocationPolicyParam, Cachedev, Cachemem, FlushPolicyParam, ReplacementPolicyParam, WriteSchemeParam,
};
pub use choice::Choice;
pub use ctlr::{Ctlr, CtlrCache, CtlrType};
pub use disk::{ContinuousRead, Disk, FastWriteLevel, KeepRequestedParam, PreseekingLevel};
pub use dm_disk::{DmDisk, DmLayout};
pub use fields::Module;
pub use global::{Global, Pf};
pub use iodriver::{AccessTime, Iodriver};
pub use ioqueue::Ioqueue;
pub use iosim::{Iomap, Iosim};
pub use layout_g1::{LayoutG1, LayoutG1Zone, MappingScheme, SkewUnits, SparingScheme};
pub use layout_g2::{LayoutG2, LayoutG2Zone, LayoutMap, MapDefect, MapExtent};
pub use layout_g4::{G4RemapParam, IndexChild, IndexEntry, LayoutG4, TrackPatternParam};
pub use logorg::{
    AddressingMode, CopyChoiceParam, DistributionScheme, Logorg, ParityRotationType, RedundancyScheme, Syncset,
    SyncsetType,
};
pub use mech_g1::{AccessTimeType, MechG1, SeekType};
pub use seek_file::SeekFile;
pub use simpledisk::Simpledisk;
pub use statdefs::{StatDef, StatDefinitionFile, StatDefs};
pub use stats::{BusStats, CtlrStats, DeviceStats, IodriverStats, PfStats, Stats};
pub use synthio::{RandomDistribution, Synthgen, Synthio};
pub use system::{Component, ComponentKind, Named, System};
