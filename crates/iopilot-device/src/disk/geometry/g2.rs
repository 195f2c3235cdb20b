//! [`G2`]: DiskSim's layout g2: a list of extents, as read from a drive.

use super::starts::Starts;
use super::track::beyond;
use super::track::{Track, ZoneSpan, fraction};
use iopilot_block::InputError;
use std::collections::HashMap;
use std::ops::Range;

/// A drive's blocks, extent by extent (DiskSim 4.0 `dm_layout_g2`). The first `capacity` of them are used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct G2Layout {
    /// Recording surfaces.
    pub heads: u32,
    /// Cylinders of the drive.
    pub cylinders: u32,
    /// Blocks (`Block count`).
    pub capacity: u64,
    /// The zones, in the order of their blocks.
    pub zones: Vec<G2Zone>,
    /// The extents, in the order of their blocks, without gaps.
    pub extents: Vec<G2Extent>,
}

/// Cylinders with the same number of sectors per track. Angles are in revolutions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct G2Zone {
    /// Its first cylinder.
    pub first_cylinder: u32,
    /// Its last cylinder.
    pub last_cylinder: u32,
    /// Its first block.
    pub first_block: u64,
    /// Its last block.
    pub last_block: u64,
    /// Sectors on each of its tracks.
    pub blocks_per_track: u32,
    /// The start angle of its first track (`Zone Skew`).
    pub offset: f64,
    /// How much later a track starts after a change of head.
    pub track_skew: f64,
    /// How much later a track starts after a change of cylinder.
    pub cylinder_skew: f64,
}

/// Consecutive blocks in consecutive sectors of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct G2Extent {
    /// Its first block.
    pub first: u64,
    /// Its blocks; the file's `seqcnt` is one less.
    pub blocks: u32,
    /// Its cylinder.
    pub cylinder: u32,
    /// Its head.
    pub head: u32,
    /// Its first sector.
    pub sector: u32,
}

/// The map of [`G2Layout`]: see the module.
#[derive(Clone, Debug)]
pub(super) struct G2 {
    zones: Box<[G2Zone]>,
    starts: Starts,
    tracks: Box<[Track]>,
    /// Cylinder, head, sector and extent; sorted.
    places: Box<[(u32, u32, u32, u32)]>,
    capacity: u64,
}

impl G2 {
    pub(super) fn new(layout: &G2Layout) -> Result<Self, InputError> {
        if layout.zones.is_empty() {
            return Err(InputError::new("Zones", "none", "at least one zone"));
        }
        for (i, zone) in layout.zones.iter().enumerate() {
            check_zone(layout, i, zone)?;
        }
        let mut tracks: Vec<Track> = Vec::with_capacity(layout.extents.len());
        let mut angles = HashMap::new();
        let (mut end, mut zone) = (0, 0);
        for extent in &layout.extents {
            if extent.first != end || extent.blocks == 0 {
                let got = format!("{} blocks from {}", extent.blocks, extent.first);
                return Err(wrong(got, format!("extents that go on at block {end}")));
            }
            let before = zone;
            while layout.zones.get(zone).is_some_and(|z| z.last_block < extent.first) {
                zone += 1;
            }
            let Some(z) = layout.zones.get(zone).filter(|z| z.first_block <= extent.first) else {
                return Err(wrong(format!("block {}", extent.first), "a block in one of the zones".into()));
            };
            check_extent(layout, z, extent)?;
            // A track's angle follows from the switches on the way to its first extent.
            let previous = tracks.last().filter(|_| zone == before);
            let turned = *angles.entry((extent.cylinder, extent.head)).or_insert_with(|| match previous {
                None => z.offset,
                Some(t) => {
                    let start = t.angle - f64::from(t.sector) / f64::from(t.per_turn);
                    let head = if t.head == extent.head { 0.0 } else { z.track_skew };
                    start + head + if t.cylinder == extent.cylinder { 0.0 } else { z.cylinder_skew }
                }
            });
            tracks.push(Track {
                zone: zone as u32,
                ordinal: tracks.len() as u32,
                cylinder: extent.cylinder,
                head: extent.head,
                sectors: extent.blocks,
                per_turn: z.blocks_per_track,
                sector: extent.sector,
                first: extent.first,
                angle: fraction(turned + f64::from(extent.sector) / f64::from(z.blocks_per_track)),
            });
            end += u64::from(extent.blocks);
        }
        if end == 0 || end < layout.capacity {
            return Err(wrong(format!("{end} blocks"), format!("all {} blocks of the drive", layout.capacity)));
        }
        let mut places: Vec<_> =
            tracks.iter().map(|track| (track.cylinder, track.head, track.sector, track.ordinal)).collect();
        places.sort_unstable();
        for pair in places.windows(2) {
            let (low, high) = (&tracks[pair[0].3 as usize], &tracks[pair[1].3 as usize]);
            if (low.cylinder, low.head) == (high.cylinder, high.head) && low.sector + low.sectors > high.sector {
                let got = format!("blocks {} and {} in one place", low.first, high.first);
                return Err(wrong(got, "one block in each sector".into()));
            }
        }
        Ok(Self {
            zones: layout.zones.clone().into(),
            starts: Starts::new(tracks.iter().map(|t| t.first).collect(), end),
            tracks: tracks.into(),
            places: places.into(),
            capacity: layout.capacity,
        })
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn cylinders(&self) -> u32 {
        self.zones.iter().map(|zone| zone.last_cylinder + 1).max().unwrap_or(0)
    }

    pub(super) fn zones(&self) -> Vec<ZoneSpan> {
        let span = |z: &G2Zone| ZoneSpan {
            first_cylinder: z.first_cylinder,
            last_cylinder: z.last_cylinder,
            first_block: z.first_block,
            blocks: z.last_block + 1 - z.first_block,
            per_turn: z.blocks_per_track,
        };
        self.zones.iter().map(span).collect()
    }

    pub(super) fn track_of(&self, lba: u64) -> Track {
        self.tracks[self.starts.find(lba)]
    }

    pub(super) fn next_track(&self, track: &Track) -> Track {
        self.tracks[track.ordinal as usize + 1]
    }

    pub(super) fn bounds(&self, track: &Track) -> Range<u64> {
        let on = |p: &(u32, u32, u32, u32)| (p.0, p.1).cmp(&(track.cylinder, track.head));
        let from = self.places.partition_point(|p| on(p).is_lt());
        let to = self.places.partition_point(|p| on(p).is_le());
        let parts = || self.places[from..to].iter().map(|p| &self.tracks[p.3 as usize]);
        let first = parts().map(|t| t.first).min().unwrap_or(track.first);
        first..parts().map(Track::end).max().unwrap_or(track.end())
    }

    pub(super) fn block_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let behind = self.places.partition_point(|p| (p.0, p.1, p.2) <= (cylinder, head, sector));
        let track = &self.tracks[self.places[behind.checked_sub(1)?].3 as usize];
        let here = track.cylinder == cylinder && track.head == head && sector < track.sector + track.sectors;
        here.then(|| track.first + u64::from(sector - track.sector))
    }
}

fn check_zone(layout: &G2Layout, i: usize, zone: &G2Zone) -> Result<(), InputError> {
    let wrong =
        |name: &str, got: String, expected: String| Err(InputError::new(format!("zone {i}: {name}"), got, expected));
    if zone.last_cylinder < zone.first_cylinder || zone.last_cylinder >= layout.cylinders + beyond(layout.cylinders) {
        let expected = format!("from {} to below {}", zone.first_cylinder, layout.cylinders);
        return wrong("last cylinder", zone.last_cylinder.to_string(), expected);
    }
    let least = i.checked_sub(1).map_or(0, |before| layout.zones[before].last_block.saturating_add(1));
    if zone.first_block < least || zone.last_block < zone.first_block || zone.last_block >= 1 << 48 {
        let expected = format!("rising block numbers from {least} on");
        return wrong("blocks", format!("{} to {}", zone.first_block, zone.last_block), expected);
    }
    if zone.blocks_per_track == 0 || zone.blocks_per_track > 1 << 30 {
        return wrong("blocks per track", zone.blocks_per_track.to_string(), "at least 1 and at most 2^30".into());
    }
    if [zone.offset, zone.track_skew, zone.cylinder_skew].iter().any(|a| !a.is_finite() || a.abs() > 1e6) {
        return wrong("skews", "no number".into(), "revolutions, up to a million".into());
    }
    Ok(())
}

fn check_extent(layout: &G2Layout, zone: &G2Zone, extent: &G2Extent) -> Result<(), InputError> {
    let end = u64::from(extent.sector) + u64::from(extent.blocks);
    let cylinders = zone.first_cylinder..=zone.last_cylinder;
    if extent.head < layout.heads && end <= u64::from(zone.blocks_per_track) && cylinders.contains(&extent.cylinder) {
        return Ok(());
    }
    let (c, h, s) = (extent.cylinder, extent.head, extent.sector);
    let got = format!("block {} at {c}/{h}/{s}, {} long", extent.first, extent.blocks);
    let expected = format!(
        "a cylinder from {} to {}, a head below {}, and {} sectors on a track",
        zone.first_cylinder, zone.last_cylinder, layout.heads, zone.blocks_per_track
    );
    Err(wrong(got, expected))
}

fn wrong(got: String, expected: String) -> InputError {
    InputError::new("layout map", got, expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::geometry::Geometry;

    fn extent(first: u64, blocks: u32, cylinder: u32, head: u32, sector: u32) -> G2Extent {
        G2Extent { first, blocks, cylinder, head, sector }
    }

    /// Ten sectors a track; sector 3 of the first track is bad, and its block is at the end of the second.
    fn layout() -> G2Layout {
        G2Layout {
            heads: 2,
            cylinders: 2,
            capacity: 30,
            zones: vec![G2Zone {
                last_cylinder: 1,
                last_block: 29,
                blocks_per_track: 10,
                offset: 0.5,
                track_skew: 0.2,
                cylinder_skew: 0.4,
                ..G2Zone::default()
            }],
            extents: vec![
                extent(0, 3, 0, 0, 0),
                extent(3, 1, 0, 1, 9),
                extent(4, 6, 0, 0, 4),
                extent(10, 9, 0, 1, 0),
                extent(19, 10, 1, 0, 0),
                extent(29, 1, 1, 1, 0),
            ],
        }
    }

    #[test]
    fn skews_add_up_along_the_extents_and_a_track_keeps_its_angle() {
        let g = Geometry::g2(&layout()).unwrap();
        let at = |lba| {
            let p = g.place_of(lba);
            (p.cylinder, p.head, p.sector, (p.angle * 100.0).round() / 100.0)
        };
        assert_eq!(at(0), (0, 0, 0, 0.5));
        assert_eq!(at(3), (0, 1, 9, 0.6));
        assert_eq!(at(4), (0, 0, 4, 0.9));
        assert_eq!(at(10), (0, 1, 0, 0.7));
        assert_eq!(at(19), (1, 0, 0, 0.3), "both head and cylinder change");
        for lba in 0..30 {
            let p = g.place_of(lba);
            assert_eq!(g.block_at(p.cylinder, p.head, p.sector), Some(lba));
        }
        assert_eq!(g.block_at(0, 0, 3), None);
        assert_eq!(g.bounds(&g.track_of(5)), 0..10);
    }

    #[test]
    fn a_map_with_a_gap_an_overlap_or_too_little_is_refused() {
        let refused = |change: fn(&mut G2Layout)| {
            let mut layout = layout();
            change(&mut layout);
            Geometry::g2(&layout).unwrap_err().to_string()
        };
        assert_eq!(
            refused(|l| l.extents[1].first = 4),
            "layout map: got 1 blocks from 4, expected extents that go on at block 3"
        );
        assert_eq!(
            refused(|l| l.extents[1].sector = 8),
            "layout map: got blocks 10 and 3 in one place, expected one block in each sector"
        );
        assert_eq!(refused(|l| l.capacity = 31), "layout map: got 30 blocks, expected all 31 blocks of the drive");
        assert!(refused(|l| l.extents[0].head = 2).contains("a head below 2"));
        assert!(refused(|l| l.zones[0].last_cylinder = 3).starts_with("zone 0: last cylinder: got 3"));
    }

    /// Tracks one after another. Each has the number of its bad sector, which is skipped if the track has that many.
    fn mapped(heads: u32, zones: &[(u32, Vec<u8>)], skews: [f64; 3]) -> G2Layout {
        let mut layout = G2Layout { heads, ..G2Layout::default() };
        let mut block = 0;
        for (per_track, bad) in zones {
            let first = (layout.cylinders, block);
            for (track, bad) in bad.iter().enumerate() {
                let (cylinder, head) = (first.0 + track as u32 / heads, track as u32 % heads);
                // The sectors before and behind the bad sector; one of the two may be empty.
                let bad = u32::from(*bad) % (per_track + 1);
                for (sector, blocks) in [(0, bad.min(*per_track)), (bad + 1, per_track.saturating_sub(bad + 1))] {
                    if blocks > 0 {
                        layout.extents.push(extent(block, blocks, cylinder, head, sector));
                        block += u64::from(blocks);
                    }
                }
            }
            if block == first.1 {
                continue;
            }
            layout.cylinders = first.0 + (bad.len() as u32).div_ceil(heads);
            layout.zones.push(G2Zone {
                first_cylinder: first.0,
                last_cylinder: layout.cylinders - 1,
                first_block: first.1,
                last_block: block - 1,
                blocks_per_track: *per_track,
                offset: skews[0],
                track_skew: skews[1],
                cylinder_skew: skews[2],
            });
        }
        layout.capacity = block;
        layout
    }

    proptest::proptest! {
        #[test]
        fn every_block_is_in_its_extent_and_every_other_place_is_empty(
            heads in 1u32..4,
            zones in proptest::collection::vec((2u32..9, proptest::collection::vec(0u8..30, 1..8)), 1..4),
            skews in proptest::array::uniform3(0.0..1.0f64),
        ) {
            use proptest::{prop_assert, prop_assert_eq};
            let layout = mapped(heads, &zones, skews);
            let g = Geometry::g2(&layout).map_err(|e| proptest::test_runner::TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(g.capacity(), layout.capacity);
            let mut held = HashMap::new();
            let mut starts = HashMap::new();
            for e in &layout.extents {
                let zone = layout.zones.iter().find(|z| z.last_block >= e.first).unwrap();
                for k in 0..e.blocks {
                    let (lba, sector) = (e.first + u64::from(k), e.sector + k);
                    let place = g.place_of(lba);
                    prop_assert_eq!((place.cylinder, place.head, place.sector), (e.cylinder, e.head, sector));
                    // All sectors of a track agree on its start angle.
                    let start = (place.angle - f64::from(sector) / f64::from(zone.blocks_per_track)).rem_euclid(1.0);
                    let known = *starts.entry((e.cylinder, e.head)).or_insert(start);
                    let off = (start - known).abs();
                    prop_assert!(off.min(1.0 - off) < 1e-9, "{} {}", start, known);
                    prop_assert_eq!(held.insert((e.cylinder, e.head, sector), lba), None);
                    prop_assert!(g.bounds(&g.track_of(lba)).contains(&lba));
                }
            }
            for cylinder in 0..layout.cylinders + 1 {
                for (head, sector) in (0..heads + 1).flat_map(|h| (0..10).map(move |s| (h, s))) {
                    let expected = held.get(&(cylinder, head, sector)).copied();
                    prop_assert_eq!(g.block_at(cylinder, head, sector), expected);
                }
            }
            // A walk over the parts agrees with looking each up.
            let (mut track, mut next) = (g.track_of(0), 0);
            loop {
                prop_assert_eq!((track.first, g.track_of(track.end() - 1)), (next, track));
                next = track.end();
                match g.next_track(&track) {
                    Some(after) => track = after,
                    None => break,
                }
            }
            prop_assert_eq!(next, g.capacity());
        }
    }
}
