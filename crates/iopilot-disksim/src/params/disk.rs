//! `disksim_disk`: the drive around the mechanics: bus, buffer, overheads (DiskSim 4.0; Ganger B.2).

use super::choice::{choice, choices};
use super::dm_disk::DmDisk;
use super::fields::{BlockFields, ModuleCheck, block, count, flag, fraction, ms, real, signed_ms, whole};
use super::ioqueue::Ioqueue;
use super::module::module;
use iopilot_block::InputError;

choices! {
    /// When the arm may start for the next request.
    PreseekingLevel {
        /// When the completion has been acknowledged.
        None = "0", "after the completion is acknowledged";
        /// When the completion has been sent.
        Sent = "1", "when the completion is sent";
        /// When the medium is no longer needed.
        MediaDone = "2", "when the media access is over";
    }
}

choices! {
    /// The extent of read-ahead.
    ContinuousRead {
        /// No read-ahead.
        None = "0", "no read-ahead";
        /// To the end of the last track of the request.
        Track = "1", "to the end of the track";
        /// To the end of the cylinder of that track.
        Cylinder = "2", "to the end of the cylinder";
        /// Until the segment is full.
        Segment = "3", "until the segment is full";
        /// One more track for sequential streams.
        NextTrack = "4", "to the end of the next track";
    }
}

choices! {
    /// Whether writes complete before they are on the medium.
    FastWriteLevel {
        /// No.
        Off = "0", "off";
        /// When they are buffered. An append joins the write in progress if no other request waits.
        Join = "1", "on, a lone append joins the write in progress";
        /// When they are buffered; appends always join.
        AlwaysJoin = "2", "on, appends always join the write in progress";
    }
}

choices! {
    /// What happens to requested blocks during read-ahead.
    KeepRequestedParam {
        /// They are dropped when the request completes.
        Drop = "-1", "requested blocks are dropped at completion";
        /// They are kept: read-ahead ends one segment behind the start of the request.
        Keep = "0", "requested blocks stay";
        /// They are overwritten: read-ahead ends one segment behind the end of the request.
        Replace = "1", "read-ahead replaces requested blocks";
    }
}

module! {
    /// A disk drive. Times are in ms. Overheads are multiplied by [`Disk::time_scale_for_overheads`].
    Disk = "disksim_disk" {
        /// Mechanics and layout.
        model: DmDisk = "Model", block;
        /// Its queue.
        scheduler: Ioqueue = "Scheduler", block;
        /// Requests it takes at once.
        max_queue_length: u32 = "Max queue length", whole(0..=65_536);
        /// Transfer time of each block on the bus, ms. A negative value has no effect, as the slowest part of the path
        /// counts.
        bulk_sector_transfer_time: f64 = "Bulk sector transfer time", signed_ms;
        /// Blocks of a segment.
        segment_size: u64 = "Segment size (in blks)", whole(1..=1 << 30);
        /// Segments.
        number_of_buffer_segments: u32 = "Number of buffer segments", whole(1..=1 << 20);
        /// Output only.
        print_stats: bool = "Print stats", flag;
        /// Overhead at the start of each request, ms.
        per_request_overhead_time: f64 = "Per-request overhead time", ms;
        /// Scales the overheads.
        time_scale_for_overheads: f64 = "Time scale for overheads", real(0.0..=1e9);
        /// Whether a read keeps the bus until all of it is sent.
        hold_bus_entire_read_xfer: bool = "Hold bus entire read xfer", flag;
        /// Whether a write keeps the bus until all of it is taken.
        hold_bus_entire_write_xfer: bool = "Hold bus entire write xfer", flag;
        /// Whether a read of the block that is currently read ahead is a partial hit.
        allow_almost_read_hits: bool = "Allow almost read hits", flag;
        /// Whether a full hit may be sent while the arm works for another request.
        allow_sneaky_full_read_hits: bool = "Allow sneaky full read hits", flag;
        /// The same for a partial hit.
        allow_sneaky_partial_read_hits: bool = "Allow sneaky partial read hits", flag;
        /// Whether the drive looks for waiting hits when the bus becomes idle.
        allow_sneaky_intermediate_read_hits: bool = "Allow sneaky intermediate read hits", flag;
        /// Whether written blocks can be read from the buffer.
        allow_read_hits_on_write_data: bool = "Allow read hits on write data", flag;
        /// Whether waiting writes are buffered when the bus becomes idle.
        allow_write_prebuffering: bool = "Allow write prebuffering", flag;
        /// When the arm may start for the next request.
        preseeking_level: PreseekingLevel = "Preseeking level", choice;
        /// Whether the drive keeps the bus from arrival to completion.
        never_disconnect: bool = "Never disconnect", flag;
        /// The mean number of blocks per cylinder, for schedulers that know only this.
        avg_sectors_per_cylinder: u64 = "Avg sectors per cylinder", count;
        /// How many of the segments may hold dirty blocks.
        maximum_number_of_write_segments: u32 = "Maximum number of write segments", whole(1..=1 << 20);
        /// Whether all writes share one segment that reads never use.
        use_separate_write_segment: bool = "Use separate write segment", flag;
        /// A write reconnects when the share of dirty blocks has fallen to this.
        low_water_mark: f64 = "Low (write) water mark", fraction;
        /// A read reconnects when this share is ready.
        high_water_mark: f64 = "High (read) water mark", fraction;
        /// Whether the marks are shares of the request; otherwise of the segment.
        set_watermark_by_reqsize: bool = "Set watermark by reqsize", flag;
        /// No effect.
        calc_sector_by_sector: bool = "Calc sector by sector", flag;
        /// Whether segments keep their blocks after a request: 0 no, 1 and 2 yes.
        enable_caching_in_buffer: u8 = "Enable caching in buffer", whole(0..=2);
        /// The extent of read-ahead.
        buffer_continuous_read: ContinuousRead = "Buffer continuous read", choice;
        /// Blocks that are read ahead before other work may interrupt.
        minimum_read_ahead: u64 = "Minimum read-ahead (blks)", whole(0..=1 << 30);
        /// The maximum of read-ahead, blocks; 0 if only the segment limits it.
        maximum_read_ahead: u64 = "Maximum read-ahead (blks)", whole(0..=1 << 30);
        /// What happens to requested blocks.
        read_ahead_over_requested: KeepRequestedParam = "Read-ahead over requested", choice;
        /// Whether a full hit starts read-ahead when the arm is idle.
        read_ahead_on_idle_hit: bool = "Read-ahead on idle hit", flag;
        /// Whether blocks that pass the head before the requested ones are kept.
        read_any_free_blocks: bool = "Read any free blocks", flag;
        /// When writes complete.
        fast_write_level: FastWriteLevel = "Fast write level", choice;
        /// Whether a read begins with the first of its sectors to pass the head: 0 no, 1 and 2 yes.
        immediate_buffer_read: u8 = "Immediate buffer read", whole(0..=2);
        /// The same for a write.
        immediate_buffer_write: u8 = "Immediate buffer write", whole(0..=2);
        /// Whether a write may be appended to the previous one.
        combine_seq_writes: bool = "Combine seq writes", flag;
        /// Whether read-ahead can be interrupted within a sector.
        stop_prefetch_in_sector: bool = "Stop prefetch in sector", flag;
        /// Whether a command disconnects if read-ahead is seeking or within a sector.
        disconnect_write_if_seek: bool = "Disconnect write if seek", flag;
        /// Whether a write that overlaps the segment being filled ends the read-ahead.
        write_hit_stop_prefetch: bool = "Write hit stop prefetch", flag;
        /// Whether a sector needs space in the segment when it begins to pass; otherwise when it ends.
        read_directly_to_buffer: bool = "Read directly to buffer", flag;
        /// Whether a partial hit is sent at once; otherwise at the water mark.
        immed_transfer_partial_hit: bool = "Immed transfer partial hit", flag;
        /// Overhead of a hit after a read, ms.
        read_hit_over_after_read: f64 = "Read hit over. after read", ms;
        /// Overhead of a hit after a write, ms.
        read_hit_over_after_write: f64 = "Read hit over. after write", ms;
        /// Overhead of a miss after a read, ms.
        read_miss_over_after_read: f64 = "Read miss over. after read", ms;
        /// Overhead of a miss after a write, ms.
        read_miss_over_after_write: f64 = "Read miss over. after write", ms;
        /// Overhead of a write with fast writes, after a read, ms.
        write_hit_over_after_read: f64 = "Write hit over. after read", ms;
        /// Overhead of a write with fast writes, after a write, ms.
        write_hit_over_after_write: f64 = "Write hit over. after write", ms;
        /// Overhead of a write without fast writes, after a read, ms.
        write_miss_over_after_read: f64 = "Write miss over. after read", ms;
        /// Overhead of a write without fast writes, after a write, ms.
        write_miss_over_after_write: f64 = "Write miss over. after write", ms;
        /// Overhead before the completion of a read is sent, ms.
        read_completion_overhead: f64 = "Read completion overhead", ms;
        /// Overhead before the completion of a write is sent, ms.
        write_completion_overhead: f64 = "Write completion overhead", ms;
        /// Overhead before data are sent, ms.
        data_preparation_overhead: f64 = "Data preparation overhead", ms;
        /// Overhead of the first reselection of a request, ms.
        first_reselect_overhead: f64 = "First reselect overhead", ms;
        /// Overhead of further reselections, ms; with [`Disk::extra_write_disconnect`] only.
        other_reselect_overhead: f64 = "Other reselect overhead", ms;
        /// Overhead of a read that disconnects, after a read, ms.
        read_disconnect_afterread: f64 = "Read disconnect afterread", ms;
        /// Overhead of a read that disconnects, after a write, ms.
        read_disconnect_afterwrite: f64 = "Read disconnect afterwrite", ms;
        /// Overhead of a write that disconnects, ms.
        write_disconnect_overhead: f64 = "Write disconnect overhead", ms;
        /// Whether writes that follow writes disconnect before they take data.
        extra_write_disconnect: bool = "Extra write disconnect", flag;
        /// Command processing of such a write, ms.
        extradisc_command_overhead: f64 = "Extradisc command overhead", ms;
        /// Overhead of that disconnection, ms.
        extradisc_disconnect_overhead: f64 = "Extradisc disconnect overhead", ms;
        /// From that disconnection to the reselection, ms; not scaled.
        extradisc_inter_disconnect_delay: f64 = "Extradisc inter-disconnect delay", ms;
        /// Overhead of the second disconnection, ms.
        extradisc_2nd_disconnect_overhead: f64 = "Extradisc 2nd disconnect overhead", ms;
        /// The delay from command processing to the start of the seek, ms.
        extradisc_seek_delta: f64 = "Extradisc seek delta", signed_ms;
        /// The minimum time until a non-sequential write is on its track, ms.
        minimum_seek_delay: f64 = "Minimum seek delay", ms;
    }
}

impl ModuleCheck for Disk {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.maximum_number_of_write_segments > self.number_of_buffer_segments {
            let expected = format!("at most the {} segments there are", self.number_of_buffer_segments);
            return Err(fields.refuse("Maximum number of write segments", expected));
        }
        if self.minimum_read_ahead > self.segment_size {
            let expected = format!("at most the {} blocks of a segment", self.segment_size);
            return Err(fields.refuse("Minimum read-ahead (blks)", expected));
        }
        if self.enable_caching_in_buffer == 0 {
            for (name, is_off) in [
                ("Buffer continuous read", self.buffer_continuous_read == ContinuousRead::None),
                ("Read any free blocks", !self.read_any_free_blocks),
                ("Fast write level", self.fast_write_level == FastWriteLevel::Off),
            ] {
                if !is_off {
                    return Err(fields.refuse(name, "0, as Enable caching in buffer is 0"));
                }
            }
        }
        Ok(())
    }
}
