//! The layout against its rules, applied one block at a time.

mod claims;
mod rules;

use super::{G1Layout, G1Zone, HeadOrder, SkewUnit, Sparing};
use crate::disk::geometry::Geometry;
use proptest::prelude::*;
use rules::Rules;

const SCHEMES: [Sparing; 11] = [
    Sparing::None,
    Sparing::Tracks,
    Sparing::PerCylinder,
    Sparing::PerTrack,
    Sparing::PerCylinderSlipToEnd,
    Sparing::CylinderFront,
    Sparing::CylinderFrontSlipToEnd,
    Sparing::AtEnd,
    Sparing::PerRange,
    Sparing::PerZone,
    Sparing::PerZoneSlipToEnd,
];

fn orders() -> impl Strategy<Value = HeadOrder> {
    prop_oneof![Just(HeadOrder::Rising), Just(HeadOrder::AlternatingInZone), Just(HeadOrder::AlternatingOnDisk)]
}

/// Zones with slips and defects as the spares allow: each of `wishes` is granted if there is room.
fn layouts() -> impl Strategy<Value = G1Layout> {
    let zone = (1u32..8, 3u32..9, 0u32..3, 0u64..9, prop::collection::vec((0u64..1000, any::<bool>()), 0..8), 0u32..3);
    let zones = prop::collection::vec(zone, 1..4);
    (1u32..4, orders(), prop::sample::select(&SCHEMES[..]), 1u32..4, zones).prop_map(
        |(heads, order, sparing, range_cylinders, wanted)| {
            let mut cylinders = 0;
            let mut zones = Vec::new();
            for (i, (width, blocks_per_track, spares, empty, wishes, gap)) in wanted.into_iter().enumerate() {
                let first_cylinder = cylinders + gap;
                cylinders = first_cylinder + width;
                let mut zone = G1Zone {
                    first_cylinder,
                    last_cylinder: cylinders - 1,
                    blocks_per_track,
                    offset: 0.7 * i as f64,
                    empty,
                    track_skew: 1.6,
                    cylinder_skew: 2.4,
                    range_skew: 0.0,
                    skew_unit: if i % 2 == 0 { SkewUnit::Sectors } else { SkewUnit::Revolutions },
                    spares,
                    slips: Vec::new(),
                    defects: Vec::new(),
                };
                if Rules::new(heads, order, sparing, range_cylinders, &zone).blocks() < 1 {
                    (zone.empty, zone.spares) = (0, 0);
                }
                for (wish, slip) in wishes {
                    zone = Rules::new(heads, order, sparing, range_cylinders, &zone).grant(wish, slip);
                }
                zones.push(zone);
            }
            G1Layout { heads, cylinders: cylinders + 1, order, sparing, range_cylinders, zones }
        },
    )
}

proptest! {
    #[test]
    fn every_block_is_where_the_rules_put_it_and_every_other_place_is_empty(layout in layouts()) {
        let g = Geometry::g1(&layout).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let mut first = 0;
        let mut held = std::collections::HashMap::new();
        for (index, zone) in layout.zones.iter().enumerate() {
            let rules = Rules::new(layout.heads, layout.order, layout.sparing, layout.range_cylinders, zone);
            let blocks = rules.blocks() as u64;
            prop_assert_eq!((g.zones()[index].first_block, g.zones()[index].blocks), (first, blocks));
            for lba in first..first + blocks {
                let place = rules.place(lba - first);
                let (cylinder, head, sector, angle) = rules.physical(place);
                let found = g.place_of(lba);
                prop_assert_eq!((found.cylinder, found.head, found.sector), (cylinder, head, sector));
                let off = (found.angle - angle).abs();
                prop_assert!(off.min(1.0 - off) < 1e-9, "{} {}", found.angle, angle);
                prop_assert_eq!(g.block_at(cylinder, head, sector), Some(lba));
                prop_assert_eq!(held.insert((cylinder, head, sector), lba), None);
            }
            first += blocks;
        }
        prop_assert_eq!(g.capacity(), first);
        for (cylinder, head, sector) in (0..layout.cylinders).flat_map(|c| {
            (0..layout.heads + 1).flat_map(move |h| (0..10).map(move |s| (c, h, s)))
        }) {
            prop_assert_eq!(g.block_at(cylinder, head, sector), held.get(&(cylinder, head, sector)).copied());
        }
    }

    #[test]
    fn walking_the_tracks_is_locating_each_and_parts_of_a_track_share_their_bounds(layout in layouts()) {
        let g = Geometry::g1(&layout).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let (mut track, mut next) = (g.track_of(0), 0);
        loop {
            prop_assert_eq!((track.first, track.sectors > 0), (next, true));
            for lba in track.first..track.end() {
                prop_assert_eq!(g.track_of(lba), track);
            }
            let zone = &layout.zones[track.zone as usize];
            let rules = Rules::new(layout.heads, layout.order, layout.sparing, layout.range_cylinders, zone);
            let start = g.zones()[track.zone as usize].first_block;
            let belongs = |lba: u64| rules.belongs(lba - start);
            let remapped = rules.place(track.first - start) != belongs(track.first);
            let bounds = g.bounds(&track);
            if remapped {
                prop_assert_eq!(bounds, track.first..track.end());
            } else {
                let on_track = |lba: &u64| {
                    let (cylinder, head, ..) = rules.physical(belongs(*lba));
                    (cylinder, head) == (track.cylinder, track.head)
                };
                let blocks: Vec<u64> = (start..start + rules.blocks() as u64).filter(on_track).collect();
                prop_assert_eq!(bounds, blocks[0]..blocks[blocks.len() - 1] + 1);
            }
            next = track.end();
            match g.next_track(&track) {
                Some(after) => track = after,
                None => break,
            }
        }
        prop_assert_eq!(next, g.capacity());
    }

    #[test]
    fn no_layout_panics(
        mut layout in layouts(),
        zone in 0usize..3,
        which in 0usize..11,
        value in prop_oneof![Just(0u64), Just(u64::MAX), Just(u64::from(u32::MAX)), 0u64..200],
    ) {
        let at = zone % layout.zones.len();
        let zone = &mut layout.zones[at];
        match which {
            0 => layout.heads = value as u32,
            1 => layout.cylinders = value as u32,
            2 => layout.range_cylinders = value as u32,
            3 => zone.first_cylinder = value as u32,
            4 => zone.last_cylinder = value as u32,
            5 => zone.blocks_per_track = value as u32,
            6 => zone.empty = value,
            7 => zone.spares = value as u32,
            8 => zone.slips.push(value),
            9 => zone.defects.push((value, value / 2)),
            _ => zone.track_skew = f64::from_bits(value),
        }
        if let Ok(g) = Geometry::g1(&layout) {
            prop_assert!(g.capacity() > 0);
            let steps = g.capacity().min(3000);
            for i in 0..steps {
                let lba = (u128::from(g.capacity() - 1) * u128::from(i) / u128::from(steps)) as u64;
                let p = g.place_of(lba);
                prop_assert_eq!(g.block_at(p.cylinder, p.head, p.sector), Some(lba));
            }
        }
    }
}
