//! Converts `disksim_disk` to `[drive]`.

use super::{layout, seek};
use crate::params::{
    ContinuousRead, Disk, DmDisk, DmLayout, FastWriteLevel, KeepRequestedParam as Keep, PreseekingLevel,
};
use iopilot_catalogue::{
    BufferSpec, BusSpec, DriveMechanicsSpec, DriveQueueSpec, DriveSpec, ExtraDisconnectSpec, OverheadsSpec, ReadSpec,
    WriteSpec,
};
use iopilot_scsi::{FastWrite, KeepRequested, Preseek, ReadAheadRule};

/// Built into DiskSim 4.0: the blocks that are buffered before the medium is written, with an extra disconnection. For
/// requests of fewer than 45 blocks, and for others.
const BUFFERED_FIRST: [u32; 2] = [10, 15];

/// The drive in the form of our own files, with every parameter taken literally.
pub(super) fn drive(disk: &Disk) -> DriveSpec {
    let DmDisk { layout_model, mechanical_model: mechanics, .. } = &disk.model;
    let (mut layout_g1, mut layout_g2, mut layout_g4) = (None, None, None);
    match layout_model {
        DmLayout::G1(g1) => layout_g1 = Some(layout::g1(&disk.model, g1)),
        DmLayout::G2(g2) => layout_g2 = Some(layout::g2(&disk.model, g2)),
        DmLayout::G4(g4) => layout_g4 = Some(layout::g4(&disk.model, g4)),
    }
    DriveSpec {
        measured: None,
        // With a queue length of 0, DiskSim's drive still holds the request in service.
        queue_depth: disk.max_queue_length.max(1),
        queue: queue(disk),
        preseek: match disk.preseeking_level {
            PreseekingLevel::None => Preseek::Acknowledged,
            PreseekingLevel::Sent => Preseek::Sent,
            PreseekingLevel::MediaDone => Preseek::Media,
        },
        mechanics: DriveMechanicsSpec {
            rotation_rpm: mechanics.rotation_speed,
            // All of DiskSim's disks start at this angle.
            initial_angle_revolutions: 0.0,
            head_switch_ms: mechanics.head_switch_time,
            write_settle_ms: mechanics.add_write_settling_delay,
            seek: seek::curve(mechanics),
        },
        buffer: buffer(disk),
        read: read(disk),
        write: write(disk),
        bus: BusSpec {
            never_disconnect: disk.never_disconnect,
            hold_read: disk.hold_bus_entire_read_xfer,
            hold_write: disk.hold_bus_entire_write_xfer,
            read_sector_ms: disk.bulk_sector_transfer_time,
            write_sector_ms: disk.bulk_sector_transfer_time,
        },
        overheads: overheads(disk),
        layout_g1,
        layout_g2,
        layout_g4,
    }
}

/// The queue, unless it only serves in order.
fn queue(disk: &Disk) -> DriveQueueSpec {
    let q = &disk.scheduler;
    let in_order = q.scheduling_policy == 1 && q.scheduling_timeout_scheme == 0 && q.overlapping_request_scheme == 0;
    if in_order {
        return DriveQueueSpec::default();
    }
    DriveQueueSpec {
        policy: q.scheduling_policy.to_string(),
        // Mapping 5 takes cylinders from the trace; a drive knows them.
        cylinder_mapping: if q.cylinder_mapping_strategy == 5 { 4 } else { q.cylinder_mapping_strategy.into() },
        sectors_per_cylinder: disk.avg_sectors_per_cylinder.max(1),
        read_initiation_ms: q.read_initiation_delay,
        write_initiation_ms: q.write_initiation_delay,
        age_weight: q.timeout_time_weight as f64,
        timeout_scheme: q.scheduling_timeout_scheme.into(),
        timeout_s: q.timeout_time_weight as f64,
        // DiskSim's files have 0 if there is no such queue.
        timeout_policy: q.timeout_scheduling.max(1).to_string(),
        overlap: q.overlapping_request_scheme.into(),
        streams: q.sequential_stream_scheme.into(),
        stream_gap_sectors: narrow(q.sequential_stream_diff_maximum),
    }
}

/// Sizes are bounded when they are read.
fn narrow(blocks: u64) -> u32 {
    u32::try_from(blocks).unwrap_or(u32::MAX)
}

fn buffer(disk: &Disk) -> BufferSpec {
    BufferSpec {
        segments: disk.number_of_buffer_segments,
        segment_sectors: narrow(disk.segment_size),
        write_segments: disk.maximum_number_of_write_segments,
        separate_write_segment: disk.use_separate_write_segment,
        caching: disk.enable_caching_in_buffer > 0,
        low_water: disk.low_water_mark,
        high_water: disk.high_water_mark,
        water_by_request: disk.set_watermark_by_reqsize,
        direct: disk.read_directly_to_buffer,
    }
}

fn read(disk: &Disk) -> ReadSpec {
    ReadSpec {
        ahead: match disk.buffer_continuous_read {
            ContinuousRead::None => ReadAheadRule::None,
            ContinuousRead::Track => ReadAheadRule::Track,
            ContinuousRead::Cylinder => ReadAheadRule::Cylinder,
            ContinuousRead::Segment => ReadAheadRule::Segment,
            ContinuousRead::NextTrack => ReadAheadRule::Adaptive,
        },
        min_ahead_sectors: narrow(disk.minimum_read_ahead),
        max_ahead_sectors: narrow(disk.maximum_read_ahead),
        keep: match disk.read_ahead_over_requested {
            Keep::Drop => KeepRequested::Drop,
            Keep::Keep => KeepRequested::Keep,
            Keep::Replace => KeepRequested::Overwrite,
        },
        ahead_on_hit: disk.read_ahead_on_idle_hit,
        immediate: disk.immediate_buffer_read > 0,
        free_blocks: disk.read_any_free_blocks,
        stop_in_sector: disk.stop_prefetch_in_sector,
        almost_hits: disk.allow_almost_read_hits,
        partial_at_once: disk.immed_transfer_partial_hit,
        sneaky_full: disk.allow_sneaky_full_read_hits,
        sneaky_partial: disk.allow_sneaky_partial_read_hits,
        sneaky_intermediate: disk.allow_sneaky_intermediate_read_hits,
        hits_on_written: disk.allow_read_hits_on_write_data,
    }
}

fn write(disk: &Disk) -> WriteSpec {
    let scale = disk.time_scale_for_overheads;
    WriteSpec {
        fast: match disk.fast_write_level {
            FastWriteLevel::Off => FastWrite::Off,
            FastWriteLevel::Join => FastWrite::Alone,
            FastWriteLevel::AlwaysJoin => FastWrite::Always,
        },
        immediate: disk.immediate_buffer_write > 0,
        combine: disk.combine_seq_writes,
        prebuffering: disk.allow_write_prebuffering,
        // DiskSim has no such parameter.
        sequential_overhead: false,
        min_seek_delay_ms: disk.minimum_seek_delay,
        stops_prefetch: disk.write_hit_stop_prefetch,
        waits_for_prefetch: disk.disconnect_write_if_seek,
        extra_disconnect: disk.extra_write_disconnect.then_some(ExtraDisconnectSpec {
            command_ms: disk.extradisc_command_overhead * scale,
            disconnect_ms: disk.extradisc_disconnect_overhead * scale,
            away_ms: disk.extradisc_inter_disconnect_delay,
            second_disconnect_ms: disk.extradisc_2nd_disconnect_overhead * scale,
            seek_delta_ms: disk.extradisc_seek_delta * scale,
            buffered_first_sectors: BUFFERED_FIRST,
        }),
    }
}

fn overheads(disk: &Disk) -> OverheadsSpec {
    let scaled = |ms: f64| ms * disk.time_scale_for_overheads;
    OverheadsSpec {
        per_request_ms: scaled(disk.per_request_overhead_time),
        read_hit_after_read_ms: scaled(disk.read_hit_over_after_read),
        read_hit_after_write_ms: scaled(disk.read_hit_over_after_write),
        read_miss_after_read_ms: scaled(disk.read_miss_over_after_read),
        read_miss_after_write_ms: scaled(disk.read_miss_over_after_write),
        write_hit_after_read_ms: scaled(disk.write_hit_over_after_read),
        write_hit_after_write_ms: scaled(disk.write_hit_over_after_write),
        write_miss_after_read_ms: scaled(disk.write_miss_over_after_read),
        write_miss_after_write_ms: scaled(disk.write_miss_over_after_write),
        read_completion_ms: scaled(disk.read_completion_overhead),
        write_completion_ms: scaled(disk.write_completion_overhead),
        data_preparation_ms: scaled(disk.data_preparation_overhead),
        first_reselect_ms: scaled(disk.first_reselect_overhead),
        other_reselect_ms: scaled(disk.other_reselect_overhead),
        read_disconnect_after_read_ms: scaled(disk.read_disconnect_afterread),
        read_disconnect_after_write_ms: scaled(disk.read_disconnect_afterwrite),
        write_disconnect_ms: scaled(disk.write_disconnect_overhead),
    }
}
