//! The layouts of `[drive]`.

use iopilot_device::{G4Entry, HeadOrder, Sparing};
use serde::{Deserialize, Serialize};

/// `[drive.layout_g1]`: zones with spares, slips and defects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct G1Spec {
    /// Recording surfaces.
    pub heads: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// The order of the heads in a cylinder.
    #[serde(default)]
    pub head_order: HeadOrder,
    /// Where the spares are.
    #[serde(default)]
    pub sparing: Sparing,
    /// Cylinders of a range, for sparing schemes with ranges.
    #[serde(default = "one")]
    pub range_cylinders: u32,
    /// The zones, in block order.
    #[serde(default)]
    pub zone: Vec<G1ZoneSpec>,
}

fn one() -> u32 {
    1
}

/// One `[[drive.layout_g1.zone]]`. All angles are given in sectors (whole ones only), or all in revolutions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct G1ZoneSpec {
    /// First cylinder.
    pub first_cylinder: u32,
    /// Last cylinder, included.
    pub last_cylinder: u32,
    /// Sectors on each track.
    pub sectors_per_track: u32,
    /// The angle at which its first track starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_sectors: Option<f64>,
    /// The skew after a change of head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_skew_sectors: Option<f64>,
    /// The skew after a change of cylinder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cylinder_skew_sectors: Option<f64>,
    /// Added to that at each border of a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_skew_sectors: Option<f64>,
    /// The angle at which its first track starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_revolutions: Option<f64>,
    /// The skew after a change of head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_skew_revolutions: Option<f64>,
    /// The skew after a change of cylinder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cylinder_skew_revolutions: Option<f64>,
    /// Added to that at each border of a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_skew_revolutions: Option<f64>,
    /// Sectors at its start that hold no blocks.
    #[serde(default)]
    pub empty_sectors: u64,
    /// Spares at each position of the sparing scheme: sectors, or tracks.
    #[serde(default)]
    pub spares: u32,
    /// Slipped positions, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slips: Vec<u64>,
    /// Defective positions, each with its replacement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defects: Vec<(u64, u64)>,
}

/// `[drive.layout_g2]`: a list of extents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct G2Spec {
    /// Recording surfaces.
    pub heads: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// Size.
    pub capacity_sectors: u64,
    /// `[first block, sectors, cylinder, head, first sector]`, in block order.
    pub extents: Vec<(u64, u32, u32, u32, u32)>,
    /// The zones, in block order.
    #[serde(default)]
    pub zone: Vec<G2ZoneSpec>,
}

/// One `[[drive.layout_g2.zone]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct G2ZoneSpec {
    /// First cylinder.
    pub first_cylinder: u32,
    /// Last cylinder, included.
    pub last_cylinder: u32,
    /// First block.
    pub first_block: u64,
    /// Last block, included.
    pub last_block: u64,
    /// Sectors on each track.
    pub sectors_per_track: u32,
    /// The angle at which its first track starts.
    #[serde(default)]
    pub offset_revolutions: f64,
    /// The skew after a change of head.
    #[serde(default)]
    pub track_skew_revolutions: f64,
    /// The skew after a change of cylinder.
    #[serde(default)]
    pub cylinder_skew_revolutions: f64,
}

/// `[drive.layout_g4]`: nested repetitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct G4Spec {
    /// Recording surfaces.
    pub heads: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// Size.
    pub capacity_sectors: u64,
    /// Kinds of tracks: `[first sector, last sector, sectors in a revolution]`.
    pub patterns: Vec<(u32, u32, u32)>,
    /// Slipped sectors, as `[first sector, sectors]`, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slips: Vec<(u64, u64)>,
    /// Remapped blocks: `[first block, sectors, cylinder, head, first sector, sectors in a revolution]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remaps: Vec<(u64, u32, u32, u32, u32, u32)>,
    /// The nodes; the last is the root.
    #[serde(default)]
    pub node: Vec<G4NodeSpec>,
}

/// One `[[drive.layout_g4.node]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct G4NodeSpec {
    /// `[first block, cylinder, offset, sectors, cylinders, turn, run of sectors, run of cylinders, "node", number]`, or
    /// `..., "track", pattern, head]`; offset and turn in revolutions.
    #[serde(with = "super::entry")]
    pub entries: Vec<G4Entry>,
}
