//! [`G1Layout`]: the parameters of DiskSim's layout g1.

use serde::{Deserialize, Serialize};

/// Zones of equal tracks with spares, slips and remapped sectors (DiskSim 4.0 `dm_layout_g1`, Ganger B.1.1).
#[derive(Clone, Debug, PartialEq)]
pub struct G1Layout {
    /// Recording surfaces (`Number of data surfaces`).
    pub heads: u32,
    /// Cylinders of the drive (`Number of cylinders`).
    pub cylinders: u32,
    /// `LBN-to-PBN mapping scheme`.
    pub order: HeadOrder,
    /// `Sparing scheme used`.
    pub sparing: Sparing,
    /// Cylinders in a range of [`Sparing::PerRange`] (`Rangesize for sparing`), and of [`G1Zone::range_skew`].
    pub range_cylinders: u32,
    /// The zones, in the order of their blocks.
    pub zones: Vec<G1Zone>,
}

/// The order of the heads in a cylinder (`LBN-to-PBN mapping scheme`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadOrder {
    /// 0: rising in every cylinder.
    #[default]
    Rising,
    /// 1: falling in every other cylinder, counted from the first of the zone.
    AlternatingInZone,
    /// 2: falling in cylinders of odd number.
    AlternatingOnDisk,
}

impl HeadOrder {
    /// The scheme of this number in DiskSim's files.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::Rising, Self::AlternatingInZone, Self::AlternatingOnDisk].get(number as usize).copied()
    }
}

/// Where the spares are, and whether slips use them (`Sparing scheme used`). The number of spares is
/// [`G1Zone::spares`].
///
/// A slip is a bad sector that is skipped: all blocks behind it move on by one, until a spare takes the last. If
/// slips use no spares, they make the zone smaller instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sparing {
    /// 0: no spares, slips or defects.
    #[default]
    None,
    /// 1: tracks at the end of the zone. Slips and defects are whole tracks.
    Tracks,
    /// 2: sectors at the end of each cylinder.
    PerCylinder,
    /// 3: sectors at the end of each track.
    PerTrack,
    /// 4: like 2, for defects only: slips use none of the spares.
    PerCylinderSlipToEnd,
    /// 5: sectors at the front of each cylinder; a slip moves the blocks before it towards the front.
    ///
    /// DiskSim 4.0 intends this but puts blocks onto the spares.
    CylinderFront,
    /// 6: like 5, for defects only: slips use none of the spares.
    CylinderFrontSlipToEnd,
    /// 7: behind the last zone; slips make the zone smaller.
    AtEnd,
    /// 8: sectors at the end of each range of cylinders; a smaller range at the end of a zone has none.
    PerRange,
    /// 9: sectors at the end of the zone.
    PerZone,
    /// 10: like 9, for defects only: slips use none of the spares.
    PerZoneSlipToEnd,
}

impl Sparing {
    /// The scheme with this number in DiskSim's files.
    pub fn from_number(number: u32) -> Option<Self> {
        [
            Self::None,
            Self::Tracks,
            Self::PerCylinder,
            Self::PerTrack,
            Self::PerCylinderSlipToEnd,
            Self::CylinderFront,
            Self::CylinderFrontSlipToEnd,
            Self::AtEnd,
            Self::PerRange,
            Self::PerZone,
            Self::PerZoneSlipToEnd,
        ]
        .get(number as usize)
        .copied()
    }

    /// Whether slips make the zone smaller instead of using spares.
    pub(super) fn slips_to_end(self) -> bool {
        matches!(self, Self::PerCylinderSlipToEnd | Self::CylinderFrontSlipToEnd | Self::AtEnd | Self::PerZoneSlipToEnd)
    }

    /// Whether a slip also moves the angles of all later cylinders of its zone by a sector.
    pub(super) fn slips_push_cylinders(self) -> bool {
        matches!(
            self,
            Self::PerCylinder | Self::PerCylinderSlipToEnd | Self::CylinderFront | Self::CylinderFrontSlipToEnd
        )
    }
}

/// Cylinders with the same number of sectors per track (DiskSim 4.0 `dm_layout_g1_zone`).
///
/// Places in `slips` and `defects` count the physical sectors (for [`Sparing::Tracks`]: tracks) of the zone from 0,
/// in the order in which heads and cylinders are filled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct G1Zone {
    /// Its first cylinder.
    pub first_cylinder: u32,
    /// Its last cylinder.
    pub last_cylinder: u32,
    /// Sectors on each of its tracks.
    pub blocks_per_track: u32,
    /// The start angle of its first track, in `skew_unit`.
    pub offset: f64,
    /// Sectors at its front without blocks.
    pub empty: u64,
    /// How much later a track starts than the previous one after a change of head, in `skew_unit`.
    pub track_skew: f64,
    /// How much later it starts after a move to the next cylinder.
    pub cylinder_skew: f64,
    /// The additional angle at each border of [`G1Layout::range_cylinders`]; measured drives have it, DiskSim has
    /// none.
    pub range_skew: f64,
    /// The unit of `offset` and of the three skews.
    pub skew_unit: SkewUnit,
    /// Spares in each of the places of the sparing scheme.
    pub spares: u32,
    /// Slipped places, rising.
    pub slips: Vec<u64>,
    /// Bad places and their replacements.
    pub defects: Vec<(u64, u64)>,
}

/// The unit of skews (`Skew units`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkewUnit {
    /// Whole sectors; the fraction is dropped, as in DiskSim.
    #[default]
    Sectors,
    /// Revolutions; a negative skew is an earlier start.
    Revolutions,
}
