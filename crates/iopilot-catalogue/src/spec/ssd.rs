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
    /// What is in flash at time 0; the whole drive written in order where left out.
    #[serde(default)]
    pub precondition: PreconditionSpec,
    /// Of random preconditioning.
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

/// What is in flash at time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreconditionSpec {
    /// Nothing.
    Empty,
    /// The whole drive, written once in order.
    #[default]
    Sequential,
    /// The whole drive, overwritten in random order until nothing changed any more.
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

/// What changes from one row of pages to the next: the first fastest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StripeSpec {
    /// The default.
    #[default]
    ChannelChipDie,
    /// As it says.
    ChannelDieChip,
    /// As it says.
    ChipChannelDie,
    /// As it says.
    ChipDieChannel,
    /// As it says.
    DieChannelChip,
    /// As it says.
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
    /// What comes over the channel at least, and in multiples of: the words of the error correction.
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
    /// Whether each plane reads on its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub independent_plane_reads: bool,
    /// The order of dies in which rows are written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stripe: StripeSpec,
    /// What it takes to suspend a program or erase for a read; reads wait where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_us: Option<f64>,
}

/// `[ssd.host]`: link and command processing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdHostSpec {
    /// Data to the host, 10^6 bytes per second: the link's rate, or what the controller makes of it.
    pub read_rate_mb_s: f64,
    /// Data from the host, likewise.
    pub write_rate_mb_s: f64,
    /// Whether both directions move at once.
    #[serde(default, skip_serializing_if = "is_false")]
    pub full_duplex: bool,
    /// Queues that the host can have in the drive: 1 for SATA and SAS, the I/O queues of an NVMe drive.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub queues: u16,
    /// Requests the drive takes at once, from each queue.
    pub queue_depth: u32,
    /// How the host talks to it: `nvme` where there are several queues, `sata` where one is no deeper than 32, else `sas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ProtocolSpec>,
    /// From the start of one command to that of the next, at least.
    pub command_us: f64,
    /// What a read takes besides flash and transfers.
    pub read_latency_us: f64,
    /// What a write, flush or discard takes besides.
    pub write_latency_us: f64,
}

/// `[ssd.buffer]`: the write buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdBufferSpec {
    /// Size, 1024 bytes.
    pub size_kib: u64,
    /// Whether a write is acknowledged when it is in the buffer.
    pub write_back: bool,
    /// Dirty data that stay for writes to the same place.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub keep_kib: u64,
    /// Whether flushes and FUA have nothing to wait for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub power_loss_protected: bool,
}

/// `[ssd.ftl]`: the flash translation layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdFtlSpec {
    /// What the map places together, 1024 bytes; at most a page.
    pub unit_kib: u32,
    /// Work of the controller for each run of consecutive units that it writes, one run at a time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub placement_us: f64,
    /// A die with fewer erased blocks collects garbage.
    pub gc_low_blocks: u32,
    /// Until it has so many.
    pub gc_high_blocks: u32,
    /// Whether garbage collection moves pages without the channel.
    #[serde(default, skip_serializing_if = "is_false")]
    pub copy_back: bool,
    /// Data of a block move when another was erased so many times more; never where left out.
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
