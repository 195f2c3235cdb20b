//! Addresses in flash, as numbers.
//!
//! A *slot* holds one logical unit. Slots are numbered die by die, block by block, row by row. A *row* is what a die
//! programs at once: the pages of the same number in all its planes, or one page without multi-plane operation.

use super::model::{FlashModel, NandModel, StripeOrder};

/// The sizes from which addresses are computed.
#[derive(Clone, Debug)]
pub(super) struct FlashShape {
    /// Logical units; the last may extend beyond the capacity.
    pub(super) logical: u32,
    pub(super) unit_sectors: u32,
    pub(super) unit_bytes: u32,
    pub(super) units_per_page: u32,
    pub(super) units_per_row: u32,
    pub(super) rows_per_block: u32,
    pub(super) units_per_block: u32,
    /// Blocks of a die.
    pub(super) blocks: u32,
    pub(super) dies: u32,
    dies_per_channel: u32,
    /// Dies in the order in which rows are written.
    pub(super) order: Vec<u32>,
    /// The inverse of `order`.
    pub(super) position: Vec<u32>,
}

impl FlashShape {
    pub(super) fn new(model: &FlashModel) -> Self {
        let n = &model.nand;
        let together = if n.multi_plane { n.planes_per_die } else { 1 };
        let unit_sectors = model.ftl.unit_sectors;
        let units_per_page = n.page_sectors / unit_sectors;
        let units_per_row = units_per_page * together;
        let dies_per_channel = n.chips_per_channel * n.dies_per_chip;
        let order = order(n);
        let mut position = vec![0; order.len()];
        for (at, &die) in (0u32..).zip(&order) {
            position[die as usize] = at;
        }
        Self {
            logical: model.capacity.div_ceil(u64::from(unit_sectors)) as u32,
            unit_sectors,
            unit_bytes: unit_sectors * 512,
            units_per_page,
            units_per_row,
            rows_per_block: n.pages_per_block,
            units_per_block: units_per_row * n.pages_per_block,
            blocks: n.blocks_per_plane * (n.planes_per_die / together),
            dies: n.channels * dies_per_channel,
            dies_per_channel,
            order,
            position,
        }
    }

    pub(super) fn die_of_block(&self, block: u32) -> u32 {
        block / self.blocks
    }

    pub(super) fn channel_of_die(&self, die: u32) -> u32 {
        die / self.dies_per_channel
    }

    /// The block of a slot, numbered over all dies.
    pub(super) fn block_of(&self, slot: u32) -> u32 {
        slot / self.units_per_block
    }

    /// The row of a slot, numbered over all dies.
    pub(super) fn row_of(&self, slot: u32) -> u32 {
        slot / self.units_per_row
    }

    /// The number of a row within its block.
    pub(super) fn row_in_block(&self, row: u32) -> u32 {
        row % self.rows_per_block
    }

    pub(super) fn first_slot(&self, block: u32) -> u32 {
        block * self.units_per_block
    }

    /// The plane of a slot; 0 without multi-plane operation.
    pub(super) fn plane_of(&self, slot: u32) -> u32 {
        slot % self.units_per_row / self.units_per_page
    }
}

/// Dies in the order in which rows are written. Die = (channel × chips + chip) × dies + die in the chip.
fn order(n: &NandModel) -> Vec<u32> {
    let (channels, chips, dies) = (n.channels, n.chips_per_channel, n.dies_per_chip);
    let number = |channel: u32, chip: u32, die: u32| (channel * chips + chip) * dies + die;
    let count = channels * chips * dies;
    // `(i / a) % b` for the faster and slower ones.
    (0..count)
        .map(|i| match n.stripe {
            StripeOrder::ChannelChipDie => number(i % channels, i / channels % chips, i / channels / chips),
            StripeOrder::ChannelDieChip => number(i % channels, i / channels / dies, i / channels % dies),
            StripeOrder::ChipChannelDie => number(i / chips % channels, i % chips, i / chips / channels),
            StripeOrder::ChipDieChannel => number(i / chips / dies, i % chips, i / chips % dies),
            StripeOrder::DieChannelChip => number(i / dies % channels, i / dies / channels, i % dies),
            StripeOrder::DieChipChannel => number(i / dies / chips, i / dies % chips, i % dies),
        })
        .collect()
}
