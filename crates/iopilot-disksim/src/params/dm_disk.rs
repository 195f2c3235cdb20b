//! `dm_disk`: surfaces, cylinders, and the models of layout and mechanics.

use super::fields::{BlockFields, Given, Module, ModuleCheck, block, count, whole};
use super::layout_g1::LayoutG1;
use super::layout_g2::LayoutG2;
use super::layout_g4::LayoutG4;
use super::mech_g1::MechG1;
use super::module::module;
use crate::parse::Value;
use iopilot_block::InputError;

/// The layout of blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum DmLayout {
    /// Zones, skews, spares, slips and defects.
    G1(LayoutG1),
    /// A map of extents.
    G2(LayoutG2),
    /// Repeated patterns.
    G4(LayoutG4),
}

module! {
    /// The mechanical part of a drive.
    DmDisk = "dm_disk" {
        /// The number of blocks; layout g1 derives it from its zones.
        block_count: u64 = "Block count", count;
        /// Recording surfaces.
        number_of_data_surfaces: u32 = "Number of data surfaces", whole(1..=256);
        /// Cylinders.
        number_of_cylinders: u32 = "Number of cylinders", whole(1..=100_000_000);
        /// Rotation and arm.
        mechanical_model: MechG1 = "Mechanical Model", block;
        /// The layout of blocks.
        layout_model: DmLayout = "Layout Model", layout;
    }
}

fn layout(given: &Given<'_>) -> Result<DmLayout, InputError> {
    match given.value {
        Value::Block(b) if b.module == LayoutG1::MODULE => block(given).map(DmLayout::G1),
        Value::Block(b) if b.module == LayoutG2::MODULE => block(given).map(DmLayout::G2),
        Value::Block(b) if b.module == LayoutG4::MODULE => block(given).map(DmLayout::G4),
        _ => Err(given.refuse("a block, dm_layout_g1 { ... }, dm_layout_g2 { ... } or dm_layout_g4 { ... }")),
    }
}

impl ModuleCheck for DmDisk {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.block_count == 0 && !matches!(self.layout_model, DmLayout::G1(_)) {
            return Err(fields.refuse("Block count", "the number of blocks of the layout"));
        }
        Ok(())
    }
}
