//! The parameters of a [`crate::FlashDrive`].

use crate::CacheControl;
use iopilot_block::Nanos;

/// A solid-state drive.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashModel {
    /// Size in sectors, as the host sees it.
    pub capacity: u64,
    /// The contents of flash at time 0.
    pub precondition: Precondition,
    /// The seed of the order in which random preconditioning wrote.
    pub seed: u64,
    /// The flash memory.
    pub nand: NandModel,
    /// Link and command processing.
    pub host: FlashHostModel,
    /// The write buffer.
    pub buffer: FlashBufferModel,
    /// The flash translation layer.
    pub ftl: FtlModel,
}

/// The contents of flash at time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing: all blocks are erased.
    Empty,
    /// The whole drive was written once, in order.
    Sequential,
    /// The whole drive was overwritten in random order up to the steady state.
    Random,
}

/// Which of channel, chip and die changes first from one row of pages to the next. The first in the name changes
/// fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripeOrder {
    /// Channel, chip, die.
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

/// The flash memory.
#[derive(Clone, Debug, PartialEq)]
pub struct NandModel {
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
    /// Size of a page, sectors.
    pub page_sectors: u32,
    /// The code word of the error correction, sectors: reads from a page register are multiples of it.
    pub codeword_sectors: u32,
    /// Whether all planes of a die program and erase together.
    pub multi_plane: bool,
    /// Whether each plane reads on its own.
    pub independent_plane_reads: bool,
    /// The order of dies in which rows are written.
    pub stripe: StripeOrder,
    /// Time from array to page register, one entry for each bit of a cell; the pages of a block use them in turn.
    pub read: Vec<Nanos>,
    /// Time from page register to array, likewise.
    pub program: Vec<Nanos>,
    /// Time to erase a block.
    pub erase: Nanos,
    /// Transfer time on the channel.
    pub channel_ns_per_byte: f64,
    /// The time to suspend a program or erase for a read; `None` if reads wait.
    pub suspend: Option<Nanos>,
}

/// Link and command processing.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashHostModel {
    /// Transfer time to the host: the link's or the controller's, whichever is slower.
    pub read_ns_per_byte: f64,
    /// Transfer time from the host, likewise.
    pub write_ns_per_byte: f64,
    /// Whether both directions transfer at once.
    pub full_duplex: bool,
    /// Queues that the host can have in the drive.
    pub queues: u16,
    /// Requests the drive accepts at once, from each queue.
    pub queue_depth: u32,
    /// How the host has to treat the write cache.
    pub cache_control: CacheControl,
    /// The least time between the starts of two commands: the bound of requests per second.
    pub command: Nanos,
    /// Additional latency of a read; it overlaps with that of other commands.
    pub read_latency: Nanos,
    /// Additional latency of a write, flush or discard.
    pub write_latency: Nanos,
}

/// The write buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashBufferModel {
    /// Size, sectors.
    pub sectors: u64,
    /// Whether a write is acknowledged when it is in the buffer.
    pub write_back: bool,
    /// Dirty data kept in the buffer for coalescing, sectors.
    pub keep_sectors: u64,
    /// Whether capacitors protect the buffer: flushes and FUA then complete at once.
    pub power_loss_protected: bool,
}

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq)]
pub struct FtlModel {
    /// Sectors of a mapping unit, at most a page.
    pub unit_sectors: u32,
    /// Controller time for each run of consecutive units that it places, one at a time.
    pub placement: Nanos,
    /// A die with fewer erased blocks than this collects garbage.
    pub gc_low_blocks: u32,
    /// A collecting die stops at this many erased blocks.
    pub gc_high_blocks: u32,
    /// Whether garbage collection moves pages within the die without the channel.
    pub copy_back: bool,
    /// The difference in erases at which the data of the less erased block move; `None` for never.
    pub wear_spread: Option<u32>,
}
