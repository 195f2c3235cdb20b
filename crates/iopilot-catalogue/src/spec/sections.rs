//! The sections of a drive's description, as in the file.

use iopilot_device::CacheControl;
use serde::{Deserialize, Serialize};

/// A hard disk drive.
#[derive(Clone, Debug, PartialEq)]
pub struct MechanicalSpec {
    /// `[geometry]`
    pub geometry: GeometrySpec,
    /// `[mechanics]`
    pub mechanics: MechanicsSpec,
    /// `[interface]`
    pub interface: InterfaceSpec,
    /// `[cache]`
    pub cache: CacheSpec,
}

/// `[geometry]`: where blocks lie. Either the zones are listed as `[[geometry.zone]]`, or they are derived from
/// `capacity_sectors`, `zones` and the outer and inner rates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeometrySpec {
    /// Size in 512-byte sectors; if left out, all sectors of the zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_sectors: Option<u64>,
    /// Recording surfaces in use.
    pub heads: u32,
    /// Order of the tracks.
    #[serde(default)]
    pub layout: LayoutSpec,
    /// Width of a band in cylinders; layout `banded` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band_cylinders: Option<u32>,
    /// Number of zones to derive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<u32>,
    /// Sustained rate of the outermost zone, 10^6 bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outer_rate_mb_s: Option<f64>,
    /// Sustained rate of the innermost zone, 10^6 bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner_rate_mb_s: Option<f64>,
    /// The skew after a change of head; derived if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_skew_revolutions: Option<f64>,
    /// The skew after a move to the neighbouring cylinder; derived if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cylinder_skew_revolutions: Option<f64>,
    /// The zones, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zone: Vec<ZoneSpec>,
}

/// One `[[geometry.zone]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneSpec {
    /// First cylinder.
    pub first_cylinder: u32,
    /// Last cylinder, included.
    pub last_cylinder: u32,
    /// Sectors on each track.
    pub sectors_per_track: u32,
    /// Angle at which its first track starts; derived if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_revolutions: Option<f64>,
    /// As in `[geometry]`, for this zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_skew_revolutions: Option<f64>,
    /// As in `[geometry]`, for this zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cylinder_skew_revolutions: Option<f64>,
}

/// The order in which tracks are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutSpec {
    /// Head after head in each cylinder.
    #[default]
    Cylinder,
    /// The same, every other cylinder in descending order.
    Serpentine,
    /// A band of cylinders on one head, then on the next head in the opposite direction.
    Banded,
}

/// `[mechanics]`: rotation and arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanicsSpec {
    /// Revolutions per minute. Calibrated drives give decimals.
    pub rotation_rpm: f64,
    /// Angle at time 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub initial_angle_revolutions: f64,
    /// The time to change the head within a cylinder.
    pub head_switch_ms: f64,
    /// Additional settling time of a write.
    pub write_settle_ms: f64,
    /// The seek curve for reads, settling included.
    pub seek: SeekSpec,
}

/// `[mechanics.seek]`: one of three forms: the data sheet's three numbers, a table, or two formulas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeekSpec {
    /// One cylinder ("track to track").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_cylinder_ms: Option<f64>,
    /// The average over all pairs of cylinders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_ms: Option<f64>,
    /// From the first cylinder to the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_stroke_ms: Option<f64>,
    /// `[cylinders, ms]` pairs, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table_ms: Vec<(u32, f64)>,
    /// Two formulas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqrt_linear: Option<SqrtLinearSpec>,
}

/// `[mechanics.seek.sqrt_linear]`: `a + b * sqrt(d)` below `boundary_cylinders`, `c + e * d` from there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqrtLinearSpec {
    /// First distance of the linear part.
    pub boundary_cylinders: u32,
    /// a
    pub a_ms: f64,
    /// b, per square root of a cylinder.
    pub b_ms: f64,
    /// c
    pub c_ms: f64,
    /// e, per cylinder.
    pub e_ms: f64,
}

/// `[interface]`: bus, command processing and queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceSpec {
    /// Data rate of the bus, 10^6 bytes per second.
    pub rate_mb_s: f64,
    /// Requests the drive takes at once.
    pub queue_depth: u32,
    /// The protocol; if left out, `sata` for a queue of up to 32, otherwise `sas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ProtocolSpec>,
    /// The order in which the drive serves its queue.
    #[serde(default)]
    pub queue_policy: PolicySpec,
    /// With `sptf`: a request that has waited longer than this goes first; no limit if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_limit_ms: Option<f64>,
    /// Command processing of a read that needs the medium.
    pub read_overhead_ms: f64,
    /// Command processing of a read served from the cache.
    pub hit_overhead_ms: f64,
    /// Command processing of a write or flush.
    pub write_overhead_ms: f64,
}

/// The protocol between host and drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolSpec {
    /// ATA: a flush is not a queued command, and Linux does not use FUA (`libata.fua`).
    Sata,
    /// SCSI.
    Sas,
    /// NVMe.
    Nvme,
}

impl ProtocolSpec {
    /// The default protocol for a queue of this depth: the inverse of rule `queue-depth`.
    pub(super) fn of_depth(depth: u32) -> Self {
        if depth <= 32 { Self::Sata } else { Self::Sas }
    }

    /// The commands by which the host controls such a drive's write cache, if the cache is volatile.
    pub(super) fn cache_control(self, volatile: bool) -> CacheControl {
        let ata = self == Self::Sata;
        CacheControl { volatile, fua: !ata, flush_drains: ata }
    }
}

/// The order in which a drive serves its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicySpec {
    /// Order of arrival.
    #[default]
    Fifo,
    /// Shortest positioning time first.
    Sptf,
}

/// `[cache]`: the on-board buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// Size, 1024 bytes.
    pub size_kib: u64,
    /// Segments it is divided into; 0 for no cache.
    pub segments: u32,
    /// How many of them may hold dirty blocks with write-back; these serve no reads meanwhile.
    #[serde(default)]
    pub write_segments: u32,
    /// Read-ahead behind a sequential read.
    #[serde(default)]
    pub read_ahead_sequential_sectors: u32,
    /// Read-ahead behind any other read that misses.
    #[serde(default)]
    pub read_ahead_random_sectors: u32,
    /// Whether hits of a sequential reader keep the read-ahead going.
    #[serde(default)]
    pub read_ahead_on_hit: bool,
    /// Whether blocks that pass the head before the wanted one are kept.
    #[serde(default)]
    pub read_on_arrival: bool,
    /// Whether writes are acknowledged before they are on the medium.
    #[serde(default)]
    pub write_back: bool,
    /// Idle time of the arm after which dirty blocks are written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub destage_idle_ms: f64,
}

/// `[flash]`: a latency and a bandwidth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// Size in 512-byte sectors.
    pub capacity_sectors: u64,
    /// Requests it takes at once.
    pub queue_depth: u32,
    /// Requests whose latencies overlap.
    pub parallelism: u32,
    /// Time before the data of a read move.
    pub read_latency_us: f64,
    /// Time before the data of a write move.
    pub write_latency_us: f64,
    /// Sequential reads, 10^6 bytes per second.
    pub read_rate_mb_s: f64,
    /// Sequential writes, 10^6 bytes per second.
    pub write_rate_mb_s: f64,
}

/// Whether serde leaves the value out of the file.
pub(super) fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
