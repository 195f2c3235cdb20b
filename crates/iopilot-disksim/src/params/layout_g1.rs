//! `dm_layout_g1`: zones with skews, spares, slips and defects (Ganger B.1.1, B.1.2).

use super::choice::{choice, choices};
use super::fields::{BlockFields, Given, ModuleCheck, block, count, list, real, some, whole};
use super::module::module;
use iopilot_block::InputError;

choices! {
    /// The order of heads within a cylinder.
    MappingScheme {
        /// Ascending in every cylinder.
        Ascending = "0", "heads ascend in every cylinder";
        /// Descending in odd cylinders, counted from the start of the zone.
        SerpentineByZone = "1", "heads descend in every other cylinder of a zone";
        /// Descending in odd cylinders of the disk.
        SerpentineByDisk = "2", "heads descend in odd cylinders";
    }
}

choices! {
    /// Where the spares are.
    SparingScheme {
        /// None.
        None = "0", "none";
        /// Tracks at the end of a zone.
        TracksPerZone = "1", "tracks per zone";
        /// Sectors at the end of a cylinder.
        SectorsPerCylinder = "2", "sectors per cylinder";
        /// Sectors at the end of a track.
        SectorsPerTrack = "3", "sectors per track";
        /// As 2, but slips do not use them.
        SectorsPerCylinderSlip = "4", "sectors per cylinder, not for slips";
        /// Sectors at the front of a cylinder.
        SectorsPerCylinderFront = "5", "sectors at the front of a cylinder";
        /// As 5, but slips do not use them.
        SectorsPerCylinderFrontSlip = "6", "sectors at the front of a cylinder, not for slips";
        /// Sectors at the end of the disk.
        AtEndOfDisk = "7", "at the end of the disk";
        /// Sectors at the end of a range of cylinders.
        SectorsPerRange = "8", "sectors per range of cylinders";
        /// Sectors at the end of a zone.
        SectorsPerZone = "9", "sectors per zone";
        /// As 9, but slips do not use them.
        SectorsPerZoneSlip = "10", "sectors per zone, not for slips";
    }
}

choices! {
    /// The unit of offsets and skews.
    SkewUnits {
        /// Sectors; fractions of a sector are truncated.
        Sectors = "sectors", "";
        /// In revolutions.
        Revolutions = "revolutions", "";
    }
}

module! {
    /// Zones with skews, spares, slips and defects.
    LayoutG1 = "dm_layout_g1" {
        /// The order of heads.
        lbn_to_pbn_mapping_scheme: MappingScheme = "LBN-to-PBN mapping scheme", choice;
        /// Where the spares are.
        sparing_scheme_used: SparingScheme = "Sparing scheme used", choice;
        /// Cylinders of a range; sparing scheme 8.
        rangesize_for_sparing: u32 = "Rangesize for sparing", whole(1..=100_000_000);
        /// The default unit of offsets and skews.
        skew_units: SkewUnits = "Skew units", choice, or SkewUnits::Sectors;
        /// The zones, in block order.
        zones: Vec<LayoutG1Zone> = "Zones", list(block);
    }
}

impl ModuleCheck for LayoutG1 {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if fields.position("Skew units") > fields.position("Zones") {
            return Err(fields.refuse("Skew units", "to stand before the zones, for which it holds"));
        }
        if self.zones.is_empty() {
            return Err(fields.refuse("Zones", "at least one zone"));
        }
        Ok(())
    }
}

impl LayoutG1 {
    /// The unit of the offset and the skews of `zone`.
    pub(crate) fn units_of(&self, zone: &LayoutG1Zone) -> SkewUnits {
        zone.skew_units.unwrap_or(self.skew_units)
    }
}

module! {
    /// Cylinders with the same number of sectors on each track. Slips and defects are counted from the start of the zone
    /// over all its physical sectors; for sparing scheme 1, over its tracks.
    LayoutG1Zone = "dm_layout_g1_zone" {
        /// Its first cylinder.
        first_cylinder_number: u32 = "First cylinder number", whole(0..=99_999_999);
        /// Its last cylinder, included.
        last_cylinder_number: u32 = "Last cylinder number", whole(0..=99_999_999);
        /// Sectors on each track.
        blocks_per_track: u32 = "Blocks per track", whole(1..=10_000_000);
        /// The angle at which its first track starts, in skew units.
        offset_of_first_block: f64 = "Offset of first block", real(-1e9..=1e9);
        /// The unit of offset and skews; that of the layout if `None`.
        skew_units: Option<SkewUnits> = "Skew units", some(choice), or None;
        /// Sectors before its first block.
        empty_space_at_zone_front: u64 = "Empty space at zone front", count;
        /// The skew after a change of head, in skew units.
        skew_for_track_switch: f64 = "Skew for track switch", real(-1e9..=1e9), or 0.0;
        /// The skew after a change of cylinder, in skew units.
        skew_for_cylinder_switch: f64 = "Skew for cylinder switch", real(-1e9..=1e9), or 0.0;
        /// Spares of each unit of the sparing scheme: sectors, or tracks for scheme 1.
        number_of_spares: u64 = "Number of spares", count;
        /// Slipped sectors or tracks, in any order.
        slips: Vec<u64> = "slips", list(count);
        /// Sectors or tracks that are replaced, each with its replacement.
        defects: Vec<(u64, u64)> = "defects", pairs;
    }
}

impl ModuleCheck for LayoutG1Zone {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        if self.last_cylinder_number < self.first_cylinder_number {
            let expected = format!("at least {}, the first", self.first_cylinder_number);
            return Err(fields.refuse("Last cylinder number", expected));
        }
        let units = fields.position("Skew units");
        for name in ["Offset of first block", "Skew for track switch", "Skew for cylinder switch"] {
            if units.is_some() && fields.position(name).is_some_and(|at| units > Some(at)) {
                return Err(fields.refuse("Skew units", format!("to stand before {name}, for which it holds")));
            }
        }
        let mut slips = self.slips.clone();
        slips.sort_unstable();
        if let Some(two) = slips.windows(2).find(|two| two[0] == two[1]) {
            return Err(fields.refuse("slips", format!("each position once, but {} stands there twice", two[0])));
        }
        Ok(())
    }
}

/// A flat list of pairs.
fn pairs(given: &Given<'_>) -> Result<Vec<(u64, u64)>, InputError> {
    let values = list(count)(given)?;
    if values.len() % 2 != 0 {
        return Err(given.refuse("an even number of positions: each with its replacement"));
    }
    Ok(values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}
