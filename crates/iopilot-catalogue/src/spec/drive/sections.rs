//! The tables of `[drive]` but for the layouts.

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
    /// The order in which they are served.
    #[serde(default, skip_serializing_if = "DriveQueueSpec::is_default")]
    pub queue: DriveQueueSpec,
    /// From when the arm may turn to the next request.
    #[serde(default = "acknowledged")]
    pub preseek: Preseek,
    /// What turns and moves.
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
    /// When the drive is on the bus.
    #[serde(default)]
    pub bus: BusSpec,
    /// How long the firmware takes.
    #[serde(default)]
    pub overheads: OverheadsSpec,
    /// How to follow the drive itself by measured times; of calibrated drives.
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

/// `[drive.measured]`: how to follow the drive itself by measured times. Nothing of it is in the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredClock {
    /// Which request a think time belongs to in the traces of this drive.
    pub think: ThinkSide,
    /// The part of the last error of the spindle's angle that is taken over, 0 to 1.
    pub phase_gain: f64,
    /// Errors beyond this are cut to it.
    pub phase_clip_revolutions: f64,
}

/// On which side of its request a think time lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkSide {
    /// It passed before its request was issued.
    Before,
    /// It passes after its request completed.
    After,
}

/// `[drive.mechanics]`: what turns and moves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveMechanicsSpec {
    /// Revolutions per minute.
    pub rotation_rpm: f64,
    /// Angle at time 0.
    #[serde(default)]
    pub initial_angle_revolutions: f64,
    /// Changing the head within a cylinder.
    pub head_switch_ms: f64,
    /// What a write waits longer for the arm to settle; may be negative.
    #[serde(default)]
    pub write_settle_ms: f64,
    /// The seek curve.
    pub seek: DriveSeekSpec,
}

/// `[drive.mechanics.seek]`: exactly one of the forms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSeekSpec {
    /// The same over any distance.
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
    /// The same for writes, where they differ by more than the settle time; only beside `table_ms`.
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
    /// Over 1, 2, ... cylinders: these go before the formula.
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
    /// How many of them may hold blocks that are to be written.
    pub write_segments: u32,
    /// Whether one fixed segment takes all writes and never serves a read.
    pub separate_write_segment: bool,
    /// Whether segments keep their blocks after a request.
    pub caching: bool,
    /// A write comes back for more data when no more than this part is to be written.
    pub low_water: f64,
    /// A read comes back when this part can be sent.
    pub high_water: f64,
    /// Whether the marks are parts of the request; else of the segment.
    pub water_by_request: bool,
    /// Whether a sector needs room when it begins to pass; else when it ends.
    pub direct: bool,
}

/// `[drive.read]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadSpec {
    /// How far the drive reads on.
    pub ahead: ReadAheadRule,
    /// So much is read on before anything else may use the arm.
    pub min_ahead_sectors: u32,
    /// And no more than so much; 0 for what `keep` leaves.
    pub max_ahead_sectors: u32,
    /// What bounds read-ahead without a maximum.
    pub keep: KeepRequested,
    /// Whether a full hit sets an idle arm to reading on.
    pub ahead_on_hit: bool,
    /// Whether sectors are read in the order in which they pass.
    pub immediate: bool,
    /// Whether what passes before the first requested sector is kept.
    pub free_blocks: bool,
    /// Whether read-ahead can be broken off within a sector.
    pub stop_in_sector: bool,
    /// Whether the block that is just being read ahead is a hit.
    pub almost_hits: bool,
    /// Whether a partial hit is sent at once.
    pub partial_at_once: bool,
    /// Whether a full hit may be sent while others wait.
    pub sneaky_full: bool,
    /// The same for partial hits.
    pub sneaky_partial: bool,
    /// Whether a waiting hit may be sent before it is its turn.
    pub sneaky_intermediate: bool,
    /// Whether written blocks may serve reads.
    pub hits_on_written: bool,
}

/// `[drive.write]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WriteSpec {
    /// When writes are reported.
    pub fast: FastWrite,
    /// Whether sectors are written in the order in which they pass.
    pub immediate: bool,
    /// Whether writes of adjacent blocks share a segment.
    pub combine: bool,
    /// Whether a write takes its data before it is its turn.
    pub prebuffering: bool,
    /// Whether a fast write has the overhead after a write only where it goes on where that ended, and that after a
    /// read otherwise.
    pub sequential_overhead: bool,
    /// The least time to be on the track, for writes that do not continue the one before.
    pub min_seek_delay_ms: f64,
    /// Whether a write into what is being read ahead ends that.
    pub stops_prefetch: bool,
    /// Whether a new command waits for read-ahead that moves the arm or is in a sector.
    pub waits_for_prefetch: bool,
    /// The additional disconnection of some drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_disconnect: Option<ExtraDisconnectSpec>,
}

/// `[drive.write.extra_disconnect]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraDisconnectSpec {
    /// Command processing.
    pub command_ms: f64,
    /// Then disconnecting.
    pub disconnect_ms: f64,
    /// From there to the reconnection.
    pub away_ms: f64,
    /// The next disconnection.
    pub second_disconnect_ms: f64,
    /// The arm starts so long after command processing; may be negative.
    pub seek_delta_ms: f64,
    /// The medium is not written before so much is in the buffer: for short requests, for others.
    pub buffered_first_sectors: [u32; 2],
}

/// `[drive.bus]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusSpec {
    /// Whether the drive stays from the command to the completion.
    pub never_disconnect: bool,
    /// Whether it stays while the rest of a read comes from the medium.
    pub hold_read: bool,
    /// Whether it stays while room for the rest of a write is made.
    pub hold_write: bool,
    /// What a sector costs toward the host; below 0 as 0.
    pub read_sector_ms: f64,
    /// What a sector costs toward the medium; below 0 as 0.
    pub write_sector_ms: f64,
}

/// `[drive.overheads]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadsSpec {
    /// Before anything else.
    pub per_request_ms: f64,
    /// Until the data of a hit flow, after a read.
    pub read_hit_after_read_ms: f64,
    /// The same after a write.
    pub read_hit_after_write_ms: f64,
    /// Until the arm starts, after a read.
    pub read_miss_after_read_ms: f64,
    /// The same after a write.
    pub read_miss_after_write_ms: f64,
    /// Until the arm starts and data flow, with fast writes, after a read.
    pub write_hit_after_read_ms: f64,
    /// The same after a write.
    pub write_hit_after_write_ms: f64,
    /// Until the arm starts and data flow, without fast writes, after a read.
    pub write_miss_after_read_ms: f64,
    /// The same after a write.
    pub write_miss_after_write_ms: f64,
    /// From the last block of a read to the message.
    pub read_completion_ms: f64,
    /// The same for writes.
    pub write_completion_ms: f64,
    /// Before each transfer after a command or reconnection.
    pub data_preparation_ms: f64,
    /// Winning the bus back.
    pub first_reselect_ms: f64,
    /// Winning it back again after an extra disconnection.
    pub other_reselect_ms: f64,
    /// Leaving the bus in a read, after a read.
    pub read_disconnect_after_read_ms: f64,
    /// The same after a write.
    pub read_disconnect_after_write_ms: f64,
    /// Leaving the bus in a write.
    pub write_disconnect_ms: f64,
}
