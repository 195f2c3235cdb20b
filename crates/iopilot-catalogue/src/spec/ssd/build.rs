//! From `[ssd]` to the model's constants.

use super::{CellSpec, PreconditionSpec, SsdSpec, StripeSpec};
use crate::spec::ProtocolSpec;
use iopilot_block::Nanos;
use iopilot_device::{FlashBufferModel, FlashHostModel, FlashModel, FtlModel, NandModel, Precondition, StripeOrder};

fn us(value: f64) -> Nanos {
    Nanos((value * 1e3).round() as u64)
}

impl CellSpec {
    /// Bits of a cell.
    pub fn bits(self) -> usize {
        match self {
            Self::Slc => 1,
            Self::Mlc => 2,
            Self::Tlc => 3,
            Self::Qlc => 4,
        }
    }
}

impl SsdSpec {
    fn protocol(&self) -> ProtocolSpec {
        let h = &self.host;
        let unsaid = if h.queues > 1 { ProtocolSpec::Nvme } else { ProtocolSpec::of_depth(h.queue_depth) };
        h.protocol.unwrap_or(unsaid)
    }

    /// The constants of the model; the values have been checked.
    pub(in crate::spec) fn model(&self) -> FlashModel {
        let (n, h, b, f) = (&self.nand, &self.host, &self.buffer, &self.ftl);
        FlashModel {
            capacity: self.capacity_sectors,
            precondition: match self.precondition {
                PreconditionSpec::Empty => Precondition::Empty,
                PreconditionSpec::Sequential => Precondition::Sequential,
                PreconditionSpec::Random => Precondition::Random,
            },
            seed: self.seed,
            nand: NandModel {
                channels: n.channels,
                chips_per_channel: n.chips_per_channel,
                dies_per_chip: n.dies_per_chip,
                planes_per_die: n.planes_per_die,
                blocks_per_plane: n.blocks_per_plane,
                pages_per_block: n.pages_per_block,
                page_sectors: n.page_kib * 2,
                codeword_sectors: n.codeword_sectors,
                multi_plane: n.multi_plane,
                independent_plane_reads: n.independent_plane_reads,
                stripe: match n.stripe {
                    StripeSpec::ChannelChipDie => StripeOrder::ChannelChipDie,
                    StripeSpec::ChannelDieChip => StripeOrder::ChannelDieChip,
                    StripeSpec::ChipChannelDie => StripeOrder::ChipChannelDie,
                    StripeSpec::ChipDieChannel => StripeOrder::ChipDieChannel,
                    StripeSpec::DieChannelChip => StripeOrder::DieChannelChip,
                    StripeSpec::DieChipChannel => StripeOrder::DieChipChannel,
                },
                read: n.read_us.iter().map(|&t| us(t)).collect(),
                program: n.program_us.iter().map(|&t| us(t)).collect(),
                erase: us(n.erase_us),
                channel_ns_per_byte: 1e3 / n.channel_rate_mb_s,
                suspend: n.suspend_us.map(us),
            },
            host: FlashHostModel {
                read_ns_per_byte: 1e3 / h.read_rate_mb_s,
                write_ns_per_byte: 1e3 / h.write_rate_mb_s,
                full_duplex: h.full_duplex,
                queues: h.queues,
                queue_depth: h.queue_depth,
                cache_control: self.protocol().cache_control(b.write_back && !b.power_loss_protected),
                command: us(h.command_us),
                read_latency: us(h.read_latency_us),
                write_latency: us(h.write_latency_us),
            },
            buffer: FlashBufferModel {
                sectors: b.size_kib * 2,
                write_back: b.write_back,
                keep_sectors: b.keep_kib * 2,
                power_loss_protected: b.power_loss_protected,
            },
            ftl: FtlModel {
                unit_sectors: f.unit_kib * 2,
                placement: us(f.placement_us),
                gc_low_blocks: f.gc_low_blocks,
                gc_high_blocks: f.gc_high_blocks,
                copy_back: f.copy_back,
                wear_spread: f.wear_spread,
            },
        }
    }
}
