//! `[ssd]`: a solid-state drive with a page-mapped flash translation layer.

mod build;
mod check;

use super::sections::{ProtocolSpec, is_zero};
use serde::{Deserialize, Serialize};

/// `[ssd]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdSpec {
    /// Size in 512-byte sectors, as the host sees it.
    pub capacity_sectors: u64,
    /// The content of flash at time 0; if left out, the whole drive written in order.
    #[serde(default)]
    pub precondition: PreconditionSpec,
    /// Seed of random preconditioning.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub seed: u64,
    /// `[ssd.nand]`
    pub nand: SsdNandSpec,
    /// `[ssd.host]`
    pub host: SsdHostSpec,
    /// `[ssd.buffer]`
    pub buffer: SsdBufferSpec,
    /// `[ssd.ftl]`
    pub ftl: SsdFtlSpec,
}

/// The content of flash at time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreconditionSpec {
    /// Nothing.
    Empty,
    /// The whole drive, written once in order.
    #[default]
    Sequential,
    /// The whole drive, overwritten in random order until a steady state.
    Random,
}

/// Bits of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellSpec {
    /// One.
    #[default]
    Slc,
    /// Two.
    Mlc,
    /// Three.
    Tlc,
    /// Four.
    Qlc,
}

/// The order in which rows of pages go to channels, chips and dies; the first-named changes fastest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StripeSpec {
    /// Channel, chip, die: the default.
    #[default]
    ChannelChipDie,
    /// Channel, die, chip.
    ChannelDieChip,
    /// Chip, channel, die.
    ChipChannelDie,
    /// Chip, die, channel.
    ChipDieChannel,
    /// Die, channel, chip.
    DieChannelChip,
    /// Die, chip, channel.
    DieChipChannel,
}

/// `[ssd.nand]`: the flash memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdNandSpec {
    /// Channels.
    pub channels: u32,
    /// Chips on a channel.
    pub chips_per_channel: u32,
    /// Dies in a chip.
    pub dies_per_chip: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Size of a page, 1024 bytes.
    pub page_kib: u32,
    /// The word of the error correction: transfers over the channel are multiples of it.
    pub codeword_sectors: u32,
    /// Bits of a cell.
    pub cell: CellSpec,
    /// From array to page register: one time, or one for each bit of a cell.
    pub read_us: Vec<f64>,
    /// From page register to array: one time, or one for each bit of a cell.
    pub program_us: Vec<f64>,
    /// Erasing a block.
    pub erase_us: f64,
    /// Rate of a channel, 10^6 bytes per second.
    pub channel_rate_mb_s: f64,
    /// Whether all planes of a die program and erase together.
    #[serde(default, skip_serializing_if = "is_false")]
    pub multi_plane: bool,
    /// Whether each plane reads independently.
    #[serde(default, skip_serializing_if = "is_false")]
    pub independent_plane_reads: bool,
    /// The order of dies in which rows of pages are written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) stripe: StripeSpec,
    /// The time to suspend a program or erase for a read; if left out, reads wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_us: Option<f64>,
}

/// `[ssd.host]`: link and command processing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdHostSpec {
    /// Data rate to the host, 10^6 bytes per second: the link's, or the controller's if that is lower.
    pub read_rate_mb_s: f64,
    /// Data rate from the host, likewise.
    pub write_rate_mb_s: f64,
    /// Whether data move in both directions at once.
    #[serde(default, skip_serializing_if = "is_false")]
    pub full_duplex: bool,
    /// Queues that the host can create in the drive: 1 for SATA and SAS, the I/O queues of an NVMe drive.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub queues: u16,
    /// Requests the drive takes at once, from each queue.
    pub queue_depth: u32,
    /// The protocol; if left out, `nvme` for several queues, `sata` for one of up to 32, otherwise `sas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ProtocolSpec>,
    /// The minimum time from the start of one command to the start of the next.
    pub command_us: f64,
    /// The time of a read besides flash and transfers.
    pub read_latency_us: f64,
    /// The same for a write, flush or discard.
    pub write_latency_us: f64,
}

/// `[ssd.buffer]`: the write buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdBufferSpec {
    /// Size, 1024 bytes.
    pub size_kib: u64,
    /// Whether a write is acknowledged once it is in the buffer.
    pub write_back: bool,
    /// Dirty data that stay in the buffer, so that later writes to the same place coalesce.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub keep_kib: u64,
    /// Whether flushes and FUA writes need not wait for the flash.
    #[serde(default, skip_serializing_if = "is_false")]
    pub power_loss_protected: bool,
}

/// `[ssd.ftl]`: the flash translation layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdFtlSpec {
    /// The unit of the mapping table, 1024 bytes; at most a page.
    pub unit_kib: u32,
    /// Work of the controller for each run of consecutive units written; one run at a time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub placement_us: f64,
    /// A die with fewer erased blocks than this collects garbage.
    pub gc_low_blocks: u32,
    /// Garbage collection ends at this many erased blocks.
    pub gc_high_blocks: u32,
    /// Whether garbage collection moves pages without using the channel.
    #[serde(default, skip_serializing_if = "is_false")]
    pub copy_back: bool,
    /// A block's data are moved when another block has been erased this many times more; never if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear_spread: Option<u32>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_zero_u64(value: &u64) -> bool {
    *value == 0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> u16 {
    1
}

fn is_one(value: &u16) -> bool {
    *value == 1
}
