//! The parameters of a [`crate::FlashDrive`].

use crate::CacheControl;
use iopilot_block::Nanos;

/// A solid-state drive.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashModel {
    /// Size in sectors, as the host sees it.
    pub capacity: u64,
    /// What is in flash at time 0.
    pub precondition: Precondition,
    /// Of the order in which random preconditioning wrote.
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

/// What is in flash at time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing: all blocks are erased.
    Empty,
    /// The whole drive was written once, in order.
    Sequential,
    /// The whole drive was overwritten in random order until nothing changed any more.
    Random,
}

/// Which of channel, chip and die changes first from one row of pages to the next; the first of the three changes
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
    /// What is read from a page register at least, and in multiples of: the words of the error correction, sectors.
    pub codeword_sectors: u32,
    /// Whether all planes of a die program and erase together.
    pub multi_plane: bool,
    /// Whether each plane reads on its own.
    pub independent_plane_reads: bool,
    /// Order of dies in which rows are written.
    pub stripe: StripeOrder,
    /// From array to page register, one entry for each bit of a cell: pages of a block take them in turn.
    pub read: Vec<Nanos>,
    /// From page register to array, likewise.
    pub program: Vec<Nanos>,
    /// Erasing a block.
    pub erase: Nanos,
    /// On the channel.
    pub channel_ns_per_byte: f64,
    /// What it takes to suspend a program or erase for a read; `None` where reads wait.
    pub suspend: Option<Nanos>,
}

/// Link and command processing.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashHostModel {
    /// Data to the host, on the link or as fast as the controller lets them.
    pub read_ns_per_byte: f64,
    /// Data from the host, likewise.
    pub write_ns_per_byte: f64,
    /// Whether both directions move at once.
    pub full_duplex: bool,
    /// Queues that the host can have in the drive.
    pub queues: u16,
    /// Requests the drive takes at once, from each queue.
    pub queue_depth: u32,
    /// How the host has to treat the write cache.
    pub cache_control: CacheControl,
    /// From the start of one command to that of the next, at least: what bounds requests per second.
    pub command: Nanos,
    /// What a read takes besides, commands side by side.
    pub read_latency: Nanos,
    /// What a write, flush or discard takes besides.
    pub write_latency: Nanos,
}

/// The write buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashBufferModel {
    /// Size, sectors.
    pub sectors: u64,
    /// Whether a write is acknowledged when it is in the buffer.
    pub write_back: bool,
    /// Dirty data that stay for writes to the same place, sectors.
    pub keep_sectors: u64,
    /// Whether capacitors save the buffer: flushes and FUA have nothing to wait for.
    pub power_loss_protected: bool,
}

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq)]
pub struct FtlModel {
    /// Sectors that the map places together, at most a page.
    pub unit_sectors: u32,
    /// Work of the controller for each run of consecutive units that it places, one at a time.
    pub placement: Nanos,
    /// A die with fewer erased blocks collects garbage.
    pub gc_low_blocks: u32,
    /// Until it has so many.
    pub gc_high_blocks: u32,
    /// Whether garbage collection moves pages within the die without the channel.
    pub copy_back: bool,
    /// A block that was erased so many times more than another makes the other one's data move; `None` for never.
    pub wear_spread: Option<u32>,
}
