//! [`Zoned`]: zones of equal tracks without defects.
//!
//! Blocks are numbered along a track, then from track to track in the order of the [`TrackLayout`], zone after zone
//! from the outside in (Ganger B.1.1 and B.1.2). Every track has its own start angle: skews are angles, and each zone
//! has an offset.

use super::track::{Track, ZoneSpan, fraction};
use std::ops::Range;

/// The order in which the tracks of a zone are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackLayout {
    /// All tracks of a cylinder from the first head to the last, then the next cylinder.
    Cylinder,
    /// Like [`TrackLayout::Cylinder`], with the heads of every other cylinder in descending order: a move to the next
    /// cylinder keeps the head.
    Serpentine,
    /// One head over a band of this many cylinders, then the next head over the same band in the other direction, and
    /// so on. Drives made since about 2000 do this, because moving to the next track costs less than changing the
    /// head.
    Banded(u32),
}

/// Cylinders with the same number of sectors per track. Angles are in revolutions.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Its first cylinder.
    pub first_cylinder: u32,
    /// The number of its cylinders.
    pub cylinders: u32,
    /// Sectors on each of its tracks.
    pub sectors_per_track: u32,
    /// The angle at which its first track starts.
    pub offset: f64,
    /// How much later a track starts than the previous one after a change of head.
    pub track_skew: f64,
    /// How much later it starts after a move to the neighbouring cylinder.
    pub cylinder_skew: f64,
    /// How much later it starts after a move to the next band; [`TrackLayout::Banded`] only.
    pub band_skew: f64,
}

/// The map of a list of [`Zone`]s: see the module.
#[derive(Clone, Debug)]
pub(super) struct Zoned {
    heads: u32,
    layout: TrackLayout,
    zones: Vec<Zone>,
    /// First block of each zone, and the end of the last.
    first_blocks: Vec<u64>,
    capacity: u64,
}

impl Zoned {
    pub(super) fn new(heads: u32, layout: TrackLayout, zones: Vec<Zone>, capacity: Option<u64>) -> Self {
        let mut first_blocks = vec![0];
        let mut total = 0;
        for zone in &zones {
            total += u64::from(zone.cylinders) * u64::from(heads) * u64::from(zone.sectors_per_track);
            first_blocks.push(total);
        }
        Self { heads, layout, zones, first_blocks, capacity: capacity.map_or(total, |c| c.min(total)) }
    }

    /// Blocks in use.
    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The zones as spans.
    pub(super) fn zones(&self) -> Vec<ZoneSpan> {
        let span = |(i, zone): (usize, &Zone)| ZoneSpan {
            first_cylinder: zone.first_cylinder,
            last_cylinder: zone.first_cylinder + zone.cylinders - 1,
            first_block: self.first_blocks[i],
            blocks: self.first_blocks[i + 1] - self.first_blocks[i],
            per_turn: zone.sectors_per_track,
        };
        self.zones.iter().enumerate().map(span).collect()
    }

    /// Cylinders from the outermost to the innermost in use.
    pub(super) fn cylinders(&self) -> u32 {
        self.zones.iter().map(|z| z.first_cylinder + z.cylinders).max().unwrap_or(0)
    }

    /// The track that holds block `lba`, which is below the capacity. O(log zones).
    pub(super) fn track_of(&self, lba: u64) -> Track {
        let zone = self.first_blocks.partition_point(|&first| first <= lba) - 1;
        let within = lba - self.first_blocks[zone];
        self.track(zone as u32, (within / u64::from(self.zones[zone].sectors_per_track)) as u32)
    }

    /// The track whose blocks follow those of `track`, which is not the last. O(1).
    pub(super) fn next_track(&self, track: &Track) -> Track {
        let zone = &self.zones[track.zone as usize];
        let last = zone.cylinders * self.heads - 1;
        if track.ordinal < last { self.track(track.zone, track.ordinal + 1) } else { self.track(track.zone + 1, 0) }
    }

    pub(super) fn bounds(&self, track: &Track) -> Range<u64> {
        track.first..track.end()
    }

    /// The block at a place; `None` if there is none. O(zones).
    pub(super) fn block_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let index =
            self.zones.iter().position(|z| (z.first_cylinder..z.first_cylinder + z.cylinders).contains(&cylinder))?;
        let zone = &self.zones[index];
        if head >= self.heads || sector >= zone.sectors_per_track {
            return None;
        }
        let (c, heads) = (cylinder - zone.first_cylinder, self.heads);
        let mirrored = |flip: bool, i: u32, n: u32| if flip { n - 1 - i } else { i };
        let ordinal = match self.layout {
            TrackLayout::Cylinder => c * heads + head,
            TrackLayout::Serpentine => c * heads + mirrored(c % 2 == 1, head, heads),
            TrackLayout::Banded(width) => {
                let band = c / width;
                let cylinders = width.min(zone.cylinders - band * width);
                let run = mirrored(band % 2 == 1, head, heads);
                band * width * heads + run * cylinders + mirrored(run % 2 == 1, c - band * width, cylinders)
            }
        };
        let sectors = u64::from(zone.sectors_per_track);
        let lba = self.first_blocks[index] + u64::from(ordinal) * sectors + u64::from(sector);
        (lba < self.capacity).then_some(lba)
    }

    fn track(&self, zone_index: u32, ordinal: u32) -> Track {
        let zone = &self.zones[zone_index as usize];
        let heads = self.heads;
        // How often the head, the cylinder and the band changed since the zone's first track.
        let (cylinder, head, head_changes, cylinder_changes, band_changes);
        match self.layout {
            TrackLayout::Cylinder | TrackLayout::Serpentine => {
                let (c, h) = (ordinal / heads, ordinal % heads);
                let flip = self.layout == TrackLayout::Serpentine && c % 2 == 1;
                (cylinder, head) = (c, if flip { heads - 1 - h } else { h });
                (head_changes, cylinder_changes, band_changes) = (ordinal - c, c, 0);
            }
            TrackLayout::Banded(width) => {
                let band = ordinal / (width * heads);
                let within = ordinal % (width * heads);
                let cylinders = width.min(zone.cylinders - band * width);
                let (run, i) = (within / cylinders, within % cylinders);
                let c = if run % 2 == 1 { cylinders - 1 - i } else { i };
                (cylinder, head) = (band * width + c, if band % 2 == 1 { heads - 1 - run } else { run });
                head_changes = band * (heads - 1) + run;
                cylinder_changes = band * (width - 1) * heads + run * (cylinders - 1) + i;
                band_changes = band;
            }
        }
        let turned = zone.offset
            + f64::from(head_changes) * zone.track_skew
            + f64::from(cylinder_changes) * zone.cylinder_skew
            + f64::from(band_changes) * zone.band_skew;
        Track {
            zone: zone_index,
            ordinal,
            cylinder: zone.first_cylinder + cylinder,
            head,
            sectors: zone.sectors_per_track,
            per_turn: zone.sectors_per_track,
            sector: 0,
            first: self.first_blocks[zone_index as usize] + u64::from(ordinal) * u64::from(zone.sectors_per_track),
            angle: fraction(turned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::geometry::Geometry;
    use proptest::prelude::*;

    fn geometry(heads: u32, layout: TrackLayout, zones: &[(u32, u32)]) -> Geometry {
        let mut first_cylinder = 0;
        let zones = zones
            .iter()
            .map(|&(cylinders, sectors_per_track)| {
                let zone = Zone {
                    first_cylinder,
                    cylinders,
                    sectors_per_track,
                    offset: 0.25,
                    track_skew: 0.1,
                    cylinder_skew: 0.2,
                    band_skew: 0.3,
                };
                first_cylinder += cylinders;
                zone
            })
            .collect();
        Geometry::new(heads, layout, zones, None)
    }

    fn layouts() -> impl Strategy<Value = TrackLayout> {
        prop_oneof![Just(TrackLayout::Cylinder), Just(TrackLayout::Serpentine), (1u32..9).prop_map(TrackLayout::Banded)]
    }

    proptest! {
        #[test]
        fn every_block_has_one_place_and_every_place_its_block(
            heads in 1u32..5,
            layout in layouts(),
            zones in prop::collection::vec((1u32..20, 1u32..12), 1..5),
        ) {
            let g = geometry(heads, layout, &zones);
            for lba in 0..g.capacity() {
                let track = g.track_of(lba);
                let sector = (lba - track.first) as u32;
                prop_assert!(sector < track.sectors);
                prop_assert_eq!(g.block_at(track.cylinder, track.head, sector), Some(lba));
            }
        }

        #[test]
        fn walking_the_tracks_is_locating_each(
            heads in 1u32..5,
            layout in layouts(),
            zones in prop::collection::vec((1u32..20, 1u32..12), 1..5),
        ) {
            let g = geometry(heads, layout, &zones);
            let mut track = g.track_of(0);
            while let Some(next) = g.next_track(&track) {
                prop_assert_eq!(next, g.track_of(track.end()));
                track = next;
            }
            prop_assert_eq!(track.end(), g.capacity());
        }
    }

    #[test]
    fn a_cylinder_is_filled_head_by_head_and_skews_accumulate() {
        let g = geometry(2, TrackLayout::Cylinder, &[(3, 10)]);
        let at = |lba| {
            let t = g.track_of(lba);
            (t.cylinder, t.head, (t.angle * 100.0).round() / 100.0)
        };
        assert_eq!([at(0), at(10), at(20), at(30)], [(0, 0, 0.25), (0, 1, 0.35), (1, 0, 0.55), (1, 1, 0.65)]);
    }

    #[test]
    fn a_band_goes_in_on_one_head_and_out_on_the_next() {
        let g = geometry(2, TrackLayout::Banded(3), &[(5, 10)]);
        let places: Vec<_> = (0..10).map(|t| g.track_of(t * 10)).map(|t| (t.cylinder, t.head)).collect();
        assert_eq!(
            places,
            [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1), (3, 1), (4, 1), (4, 0), (3, 0)],
            "the second band keeps the head"
        );
    }
}
