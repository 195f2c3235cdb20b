//! Small zones, drawn.

use super::*;

/// The sectors of a drive, track by track, shown as the blocks on them.
fn drawn(layout: &G1Layout) -> String {
    let g = Geometry::g1(layout).unwrap();
    let zone = &layout.zones[0];
    let cylinders = zone.first_cylinder..=zone.last_cylinder;
    let tracks = cylinders.flat_map(|c| (0..layout.heads).map(move |h| (c, h)));
    let draw = |(c, h): (u32, u32)| {
        let sectors = (0..zone.blocks_per_track).map(|s| g.block_at(c, h, s));
        sectors.map(|lba| lba.map_or(".".into(), |lba| lba.to_string())).collect::<Vec<_>>().join(" ")
    };
    tracks.map(draw).collect::<Vec<_>>().join("|")
}

/// Two heads, four sectors a track, two cylinders, one spare.
fn small(sparing: Sparing, change: fn(&mut G1Layout)) -> G1Layout {
    let zone = G1Zone { last_cylinder: 1, blocks_per_track: 4, spares: 1, ..G1Zone::default() };
    let mut layout =
        G1Layout { heads: 2, cylinders: 9, order: HeadOrder::Rising, sparing, range_cylinders: 1, zones: vec![zone] };
    change(&mut layout);
    layout
}

fn refused(sparing: Sparing, change: fn(&mut G1Layout)) -> String {
    Geometry::g1(&small(sparing, change)).unwrap_err().to_string()
}

#[test]
fn every_scheme_places_slips_and_spares_by_its_rule() {
    let slipped = |sparing| drawn(&small(sparing, |l| l.zones[0].slips = vec![2]));
    assert_eq!(drawn(&small(Sparing::None, |_| ())), "0 1 2 3|4 5 6 7|8 9 10 11|12 13 14 15");
    assert_eq!(slipped(Sparing::Tracks), "0 1 2 3|4 5 6 7|. . . .|8 9 10 11");
    assert_eq!(slipped(Sparing::PerCylinder), "0 1 . 2|3 4 5 6|7 8 9 10|11 12 13 .");
    assert_eq!(slipped(Sparing::PerTrack), "0 1 . 2|3 4 5 .|6 7 8 .|9 10 11 .");
    assert_eq!(slipped(Sparing::PerCylinderSlipToEnd), "0 1 . 2|3 4 5 .|6 7 8 9|10 11 12 .");
    assert_eq!(slipped(Sparing::CylinderFront), "0 1 . 2|3 4 5 6|. 7 8 9|10 11 12 13");
    assert_eq!(slipped(Sparing::CylinderFrontSlipToEnd), ". 0 . 1|2 3 4 5|. 6 7 8|9 10 11 12");
    assert_eq!(slipped(Sparing::AtEnd), "0 1 . 2|3 4 5 6|7 8 9 10|11 12 13 14");
    assert_eq!(slipped(Sparing::PerZone), "0 1 . 2|3 4 5 6|7 8 9 10|11 12 13 14");
    assert_eq!(slipped(Sparing::PerZoneSlipToEnd), "0 1 . 2|3 4 5 6|7 8 9 10|11 12 13 .");
}

#[test]
fn a_smaller_range_at_the_end_of_a_zone_has_no_spares() {
    let layout = small(Sparing::PerRange, |l| {
        l.range_cylinders = 2;
        l.zones[0].last_cylinder = 2;
    });
    assert_eq!(drawn(&layout), "0 1 2 3|4 5 6 7|8 9 10 11|12 13 14 .|15 16 17 18|19 20 21 22");
}

#[test]
fn schemes_have_the_numbers_of_disksims_files() {
    for (number, scheme) in SCHEMES.into_iter().enumerate() {
        assert_eq!(Sparing::from_number(number as u32), Some(scheme));
    }
    assert_eq!((Sparing::from_number(11), HeadOrder::from_number(3)), (None, None));
    assert_eq!(HeadOrder::from_number(2), Some(HeadOrder::AlternatingOnDisk));
}

#[test]
fn a_defect_is_read_from_its_replacement_and_counts_where_it_belongs() {
    let layout = small(Sparing::PerZone, |l| {
        l.zones[0].spares = 2;
        l.zones[0].defects = vec![(5, 15)];
    });
    assert_eq!(drawn(&layout), "0 1 2 3|4 . 6 7|8 9 10 11|12 13 . 5");
    let g = Geometry::g1(&layout).unwrap();
    let mut track = g.track_of(4);
    let mut parts = Vec::new();
    while track.first < 8 {
        parts.push((track.first..track.end(), track.cylinder, track.head, g.bounds(&track)));
        track = g.next_track(&track).unwrap();
    }
    assert_eq!(parts, [(4..5, 0, 1, 4..8), (5..6, 1, 1, 5..6), (6..8, 0, 1, 4..8)]);
    assert_eq!(g.bounds(&g.track_of(12)), 12..14, "blocks remapped to here do not count");
}

#[test]
fn a_bad_track_is_replaced_as_a_whole() {
    let layout = small(Sparing::Tracks, |l| {
        l.zones[0].empty = 6;
        l.zones[0].defects = vec![(1, 3)];
    });
    assert_eq!(drawn(&layout), ". . . .|. . . .|2 3 4 5|. . 0 1");
}

#[test]
fn heads_may_descend_in_every_other_cylinder() {
    let drawn_as = |order: HeadOrder, first: u32| {
        let mut layout = small(Sparing::None, |_| ());
        layout.order = order;
        (layout.zones[0].first_cylinder, layout.zones[0].last_cylinder) = (first, first + 1);
        drawn(&layout)
    };
    let second = "0 1 2 3|4 5 6 7|12 13 14 15|8 9 10 11";
    assert_eq!(drawn_as(HeadOrder::AlternatingInZone, 1), second);
    assert_eq!(drawn_as(HeadOrder::AlternatingOnDisk, 2), second);
    assert_eq!(drawn_as(HeadOrder::AlternatingOnDisk, 1), "4 5 6 7|0 1 2 3|8 9 10 11|12 13 14 15");
}

#[test]
fn skews_add_up_from_the_start_of_the_zone() {
    let layout = small(Sparing::None, |l| {
        let mut second = l.zones[0].clone();
        (second.first_cylinder, second.last_cylinder) = (2, 5);
        second.skew_unit = SkewUnit::Revolutions;
        (second.offset, second.track_skew, second.cylinder_skew, second.range_skew) = (0.5, 0.25, -0.125, 0.0625);
        (l.zones[0].offset, l.zones[0].track_skew, l.zones[0].cylinder_skew) = (1.9, 1.0, 2.0);
        l.zones.push(second);
        l.range_cylinders = 2;
    });
    let g = Geometry::g1(&layout).unwrap();
    let angles = |from: u64, n: u64| (0..n).map(|t| g.track_of(from + 4 * t).angle).collect::<Vec<_>>();
    // Offset 1 of 4 sectors; then a track, a cylinder and a track.
    assert_eq!(angles(0, 4), [0.25, 0.5, 0.0, 0.25]);
    assert_eq!(angles(16, 8), [0.5, 0.75, 0.625, 0.875, 0.8125, 0.0625, 0.9375, 0.1875], "a range is two cylinders");
}

#[test]
fn slips_move_the_angles_of_later_cylinders_in_some_schemes() {
    let angle = |sparing| {
        let layout = small(sparing, |l| l.zones[0].slips = vec![2]);
        let g = Geometry::g1(&layout).unwrap();
        let at = |c, h, s| g.block_at(c, h, s).map(|lba| g.place_of(lba).angle);
        [at(0, 0, 3), at(0, 1, 0), at(1, 0, 0)].map(|angle| angle.unwrap())
    };
    assert_eq!(angle(Sparing::PerZone), [0.75, 0.0, 0.0]);
    assert_eq!(angle(Sparing::PerCylinder), [0.75, 0.0, 0.25]);
    assert_eq!(angle(Sparing::PerTrack), [0.75, 0.25, 0.25]);
}

#[test]
fn an_inconsistent_layout_is_refused_with_the_parameter_named() {
    for (sparing, change, expected) in [
        (
            Sparing::PerZone,
            (|l| l.heads = 0) as fn(&mut G1Layout),
            "Number of data surfaces: got 0, expected 1 to 1024",
        ),
        (Sparing::PerZone, |l| l.zones.clear(), "Zones: got none, expected at least one zone"),
        (
            Sparing::PerZone,
            |l| l.zones.push(l.zones[0].clone()),
            "zone 1: First cylinder number: got 0, expected a cylinder behind those of zone 0, which ends with 1",
        ),
        (
            Sparing::PerZone,
            |l| l.zones[0].last_cylinder = 10,
            "zone 0: Last cylinder number: got 10, expected a cylinder below 9",
        ),
        (
            Sparing::PerZone,
            |l| l.zones[0].blocks_per_track = 0,
            "zone 0: Blocks per track: got 0, expected at least 1 and at most 2^30",
        ),
        (
            Sparing::PerZone,
            |l| l.zones[0].slips = vec![3, 3],
            "zone 0: slips: got 3, expected more than the slip before it, 3",
        ),
        (
            Sparing::PerZone,
            |l| l.zones[0].slips = vec![16],
            "zone 0: slips: got 16, expected a place below the zone's 16 sectors",
        ),
        (
            Sparing::Tracks,
            |l| l.zones[0].slips = vec![4],
            "zone 0: slips: got 4, expected a place below the zone's 4 tracks",
        ),
        (
            Sparing::PerZone,
            |l| l.zones[0].slips = vec![3, 4],
            "zone 0: slips: got 2 places, expected no more than there are spares for: 1 blocks find no place",
        ),
        (
            Sparing::PerZone,
            |l| l.zones[0].defects = vec![(3, 4)],
            "zone 0: defects: got 4, expected a replacement that holds no block and is not bad itself",
        ),
        (
            Sparing::PerZone,
            |l| l.zones[0].spares = 17,
            "zone 0: Number of spares: got 17 spares, 0 empty, 0 slips, expected less than the zone's 16 sectors",
        ),
        (
            Sparing::None,
            |l| l.zones[0].slips = vec![3],
            "zone 0: slips: got 1 places, expected none without a sparing scheme",
        ),
        (
            Sparing::PerRange,
            |l| l.range_cylinders = 0,
            "Rangesize for sparing: got 0, expected the cylinders of a range",
        ),
        (Sparing::PerTrack, |l| l.zones[0].spares = 4, "Zones: got no blocks, expected zones with blocks"),
    ] {
        assert_eq!(refused(sparing, change), expected);
    }
}
