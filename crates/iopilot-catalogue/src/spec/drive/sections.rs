//! The tables of `[drive]`, except for the layouts.

use super::layouts::{G1Spec, G2Spec, G4Spec};
use super::queue::DriveQueueSpec;
use iopilot_scsi::{FastWrite, KeepRequested, Preseek, ReadAheadRule};
use serde::{Deserialize, Serialize};

/// `[drive]`. Exactly one of the three layouts is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// Commands taken at once.
    #[serde(default = "one")]
    pub queue_depth: u32,
    /// The order in which commands are served.
    #[serde(default, skip_serializing_if = "DriveQueueSpec::is_default")]
    pub queue: DriveQueueSpec,
    /// When the arm may start for the next request.
    #[serde(default = "acknowledged")]
    pub preseek: Preseek,
    /// Rotation and arm.
    pub mechanics: DriveMechanicsSpec,
    /// The buffer.
    #[serde(default)]
    pub buffer: BufferSpec,
    /// Reads and read-ahead.
    #[serde(default)]
    pub read: ReadSpec,
    /// Writes.
    #[serde(default)]
    pub write: WriteSpec,
    /// When the drive occupies the bus.
    #[serde(default)]
    pub bus: BusSpec,
    /// Processing times of the firmware.
    #[serde(default)]
    pub overheads: OverheadsSpec,
    /// How to follow the real drive's clock by measured times; calibrated drives only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredClock>,
    /// Zones with spares, slips and defects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout_g1: Option<G1Spec>,
    /// A list of extents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout_g2: Option<G2Spec>,
    /// Nested repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout_g4: Option<G4Spec>,
}

fn one() -> u32 {
    1
}

fn acknowledged() -> Preseek {
    Preseek::Acknowledged
}

/// `[drive.measured]`: how to follow the real drive's clock by measured times. The model itself does not use it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredClock {
    /// Which request a think time belongs to in this drive's traces.
    pub think: ThinkSide,
    /// The part of the last error of the spindle's angle that is corrected, 0 to 1.
    pub phase_gain: f64,
    /// Larger errors are clipped to this.
    pub phase_clip_revolutions: f64,
}

/// The position of a think time relative to its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkSide {
    /// It precedes the issue of its request.
    Before,
    /// It follows the completion of its request.
    After,
}

/// `[drive.mechanics]`: rotation and arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveMechanicsSpec {
    /// Revolutions per minute.
    pub rotation_rpm: f64,
    /// Angle at time 0.
    #[serde(default)]
    pub initial_angle_revolutions: f64,
    /// The time to change the head within a cylinder.
    pub head_switch_ms: f64,
    /// Additional settling time of a write; may be negative.
    #[serde(default)]
    pub write_settle_ms: f64,
    /// The seek curve.
    pub seek: DriveSeekSpec,
}

/// `[drive.mechanics.seek]`: exactly one of the forms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSeekSpec {
    /// The same time for any distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constant_ms: Option<f64>,
    /// Two straight lines through three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear: Option<ThreePointSpec>,
    /// Lee's curve through three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lee: Option<ThreePointSpec>,
    /// A square root and a line (Ruemmler and Wilkes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hpl: Option<HplSpec>,
    /// `[cylinders, ms]` pairs, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table_ms: Vec<(u32, f64)>,
    /// The same for writes, where they differ by more than the settling time; only beside `table_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_table_ms: Vec<(u32, f64)>,
}

/// The three numbers of a data sheet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreePointSpec {
    /// One cylinder.
    pub single_cylinder_ms: f64,
    /// The average.
    pub average_ms: f64,
    /// From the first cylinder to the last.
    pub full_stroke_ms: f64,
}

/// `short[0] + short[1] * sqrt(d)` below `boundary_cylinders`, `long[0] + long[1] * d` from there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HplSpec {
    /// First distance of the long form.
    pub boundary_cylinders: u32,
    /// Constant and factor of the root.
    pub short_ms: [f64; 2],
    /// Constant and factor of the distance.
    pub long_ms: [f64; 2],
    /// Measured times over 1, 2, ... cylinders, which override the formula.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured_ms: Vec<f64>,
}

/// `[drive.buffer]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferSpec {
    /// Segments.
    pub segments: u32,
    /// The size of each.
    pub segment_sectors: u32,
    /// How many of them may hold dirty blocks.
    pub write_segments: u32,
    /// Whether one fixed segment takes all writes and never serves a read.
    pub separate_write_segment: bool,
    /// Whether segments keep their blocks after a request.
    pub caching: bool,
    /// A write reconnects for more data when no more than this share is dirty.
    pub low_water: f64,
    /// A read reconnects when this share can be sent.
    pub high_water: f64,
    /// Whether the marks are shares of the request; otherwise of the segment.
    pub water_by_request: bool,
    /// Whether a sector needs space when it begins to pass; otherwise when it ends.
    pub direct: bool,
}

/// `[drive.read]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadSpec {
    /// The extent of read-ahead.
    pub ahead: ReadAheadRule,
    /// Read-ahead of this length completes before another request may use the arm.
    pub min_ahead_sectors: u32,
    /// The maximum of read-ahead; 0 for the limit that `keep` sets.
    pub max_ahead_sectors: u32,
    /// The limit of read-ahead without a maximum.
    pub keep: KeepRequested,
    /// Whether a full hit makes an idle arm continue read-ahead.
    pub ahead_on_hit: bool,
    /// Whether sectors are read in the order in which they pass the head.
    pub immediate: bool,
    /// Whether blocks that pass before the first requested sector are kept.
    pub free_blocks: bool,
    /// Whether read-ahead can be interrupted within a sector.
    pub stop_in_sector: bool,
    /// Whether the block that is currently read ahead counts as a hit.
    pub almost_hits: bool,
    /// Whether a partial hit is sent at once.
    pub partial_at_once: bool,
    /// Whether a full hit may be sent while other requests wait.
    pub sneaky_full: bool,
    /// The same for partial hits.
    pub sneaky_partial: bool,
    /// Whether a waiting hit may be sent before its turn.
    pub sneaky_intermediate: bool,
    /// Whether written blocks may serve reads.
    pub hits_on_written: bool,
}

/// `[drive.write]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WriteSpec {
    /// When a write is reported complete.
    pub fast: FastWrite,
    /// Whether sectors are written in the order in which they pass the head.
    pub immediate: bool,
    /// Whether writes of adjacent blocks share a segment.
    pub combine: bool,
    /// Whether a write takes its data before its turn.
    pub prebuffering: bool,
    /// Whether a fast write has the overhead after a write only if it continues that write, and otherwise the overhead
    /// after a read.
    pub sequential_overhead: bool,
    /// The minimum time until the head is on the track, for writes that do not continue the previous one.
    pub min_seek_delay_ms: f64,
    /// Whether a write into blocks that are being read ahead ends the read-ahead.
    pub stops_prefetch: bool,
    /// Whether a new command waits for read-ahead that moves the arm or is within a sector.
    pub waits_for_prefetch: bool,
    /// The additional disconnection that some drives make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_disconnect: Option<ExtraDisconnectSpec>,
}

/// `[drive.write.extra_disconnect]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraDisconnectSpec {
    /// Command processing.
    pub command_ms: f64,
    /// Disconnecting after that.
    pub disconnect_ms: f64,
    /// The time from the disconnection to the reconnection.
    pub away_ms: f64,
    /// The next disconnection.
    pub second_disconnect_ms: f64,
    /// The delay from the end of command processing to the start of the arm; may be negative.
    pub seek_delta_ms: f64,
    /// Sectors that must be in the buffer before the medium is written: for short requests, for others.
    pub buffered_first_sectors: [u32; 2],
}

/// `[drive.bus]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusSpec {
    /// Whether the drive keeps the bus from the command to the completion.
    pub never_disconnect: bool,
    /// Whether it keeps the bus while the rest of a read comes from the medium.
    pub hold_read: bool,
    /// Whether it keeps the bus while the rest of a write waits for space.
    pub hold_write: bool,
    /// Transfer time of a sector to the host; negative values count as 0.
    pub read_sector_ms: f64,
    /// Transfer time of a sector from the host; negative values count as 0.
    pub write_sector_ms: f64,
}

/// `[drive.overheads]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadsSpec {
    /// At the start of each request.
    pub per_request_ms: f64,
    /// Until the data of a hit are sent, after a read.
    pub read_hit_after_read_ms: f64,
    /// The same after a write.
    pub read_hit_after_write_ms: f64,
    /// Until the arm starts, after a read.
    pub read_miss_after_read_ms: f64,
    /// The same after a write.
    pub read_miss_after_write_ms: f64,
    /// Until the arm starts and data are received, with fast writes, after a read.
    pub write_hit_after_read_ms: f64,
    /// The same after a write.
    pub write_hit_after_write_ms: f64,
    /// Until the arm starts and data are received, without fast writes, after a read.
    pub write_miss_after_read_ms: f64,
    /// The same after a write.
    pub write_miss_after_write_ms: f64,
    /// From the last block of a read to the completion message.
    pub read_completion_ms: f64,
    /// The same for writes.
    pub write_completion_ms: f64,
    /// Before each transfer after a command or reconnection.
    pub data_preparation_ms: f64,
    /// Reselecting the initiator.
    pub first_reselect_ms: f64,
    /// Reselecting it after an extra disconnection.
    pub other_reselect_ms: f64,
    /// Disconnecting in a read, after a read.
    pub read_disconnect_after_read_ms: f64,
    /// The same after a write.
    pub read_disconnect_after_write_ms: f64,
    /// Disconnecting in a write.
    pub write_disconnect_ms: f64,
}
