//! The index against its rules, applied one block at a time.

use super::*;
use crate::disk::geometry::Geometry;
use proptest::prelude::*;

fn entry(first: u64, blocks: u64, run_blocks: u64, child: G4Child) -> G4Entry {
    G4Entry { first, cylinder: 0, offset: 0.0, blocks, cylinders: 1, turn: 0.0, run_blocks, run_cylinders: 1, child }
}

/// Two heads over bands of three cylinders, inwards on one and outwards on the other, four sectors a track. There are
/// two bands, the second without its last track. Behind them the root has another, whole band, of five sectors a
/// track.
fn layout() -> G4Layout {
    let track = |pattern, head| G4Child::Track { pattern, head };
    let band = |pattern: usize, sectors: u64| {
        let there =
            G4Entry { offset: 0.5, turn: 0.25, run_cylinders: 3, ..entry(0, sectors, 3 * sectors, track(pattern, 0)) };
        let back = G4Entry {
            cylinder: 2,
            turn: 0.125,
            run_cylinders: -3,
            ..entry(3 * sectors, sectors, 3 * sectors, track(pattern, 1))
        };
        vec![there, back]
    };
    let bands = G4Entry { cylinders: 3, turn: 0.0625, run_cylinders: 6, ..entry(0, 24, 44, G4Child::Node(0)) };
    let last =
        G4Entry { cylinder: 6, offset: 0.25, cylinders: 3, run_cylinders: 3, ..entry(44, 30, 30, G4Child::Node(1)) };
    G4Layout {
        heads: 2,
        cylinders: 9,
        capacity: 1000,
        patterns: vec![TrackPattern { low: 0, high: 3, per_turn: 4 }, TrackPattern { low: 1, high: 5, per_turn: 8 }],
        nodes: vec![band(0, 4), band(1, 5), vec![bands, last]],
        slips: Vec::new(),
        remaps: Vec::new(),
    }
}

/// Sectors track by track, shown as the blocks on them: cylinders across, a line for each head.
fn drawn(layout: &G4Layout) -> [String; 2] {
    let g = Geometry::g4(layout).unwrap();
    [0, 1].map(|head| {
        let track = |cylinder| {
            let sectors = (0..8).map(|s| g.block_at(cylinder, head, s)).take(if cylinder < 6 { 4 } else { 7 });
            sectors.map(|lba| lba.map_or(".".into(), |lba| lba.to_string())).collect::<Vec<_>>().join(" ")
        };
        (0..layout.cylinders).map(track).collect::<Vec<_>>().join("|")
    })
}

#[test]
fn repetitions_nest_and_may_descend() {
    assert_eq!(
        drawn(&layout()),
        [
            "0 1 2 3|4 5 6 7|8 9 10 11|24 25 26 27|28 29 30 31|32 33 34 35|\
             . 44 45 46 47 48 .|. 49 50 51 52 53 .|. 54 55 56 57 58 .",
            "20 21 22 23|16 17 18 19|12 13 14 15|. . . .|40 41 42 43|36 37 38 39|\
             . 69 70 71 72 73 .|. 64 65 66 67 68 .|. 59 60 61 62 63 .",
        ]
    );
}

#[test]
fn angles_add_up_along_the_repetitions() {
    let g = Geometry::g4(&layout()).unwrap();
    assert_eq!([0, 4, 8, 12, 16].map(|lba| g.track_of(lba).angle), [0.5, 0.75, 0.0, 0.0, 0.125]);
    assert_eq!([24, 36, 40].map(|lba| g.track_of(lba).angle), [0.5625, 0.0625, 0.1875]);
    let place = g.place_of(46);
    assert_eq!((place.cylinder, place.head, place.sector, place.angle), (6, 0, 3, 0.0), "a quarter from the root");
    assert_eq!(g.track_of(46).per_turn, 8);
}

#[test]
fn slips_are_skipped_even_if_an_earlier_slip_jumps_over_them() {
    // Places 5 and 6 are skipped, then 7: block 5 is at place 8.
    let layout = G4Layout { slips: vec![(5, 2), (6, 1), (20, 1), (73, 4)], ..layout() };
    assert_eq!(drawn(&layout)[0][..30], *"0 1 2 3|4 . . .|5 6 7 8|20 21 ");
    assert_eq!(drawn(&layout)[1][..30], *". 17 18 19|13 14 15 16|9 10 11");
    let g = Geometry::g4(&layout).unwrap();
    assert_eq!(g.capacity(), 69, "73 places before the last slip, less four");
    let track = g.track_of(18);
    assert_eq!((track.first, track.sectors, track.sector, track.angle), (17, 3, 1, 0.5));
    assert_eq!((g.bounds(&track), g.bounds(&g.track_of(4))), (17..20, 4..5));
}

#[test]
fn remapped_blocks_are_at_their_new_place_and_count_at_their_old_one() {
    let mut layout = layout();
    layout.remaps = vec![G4Remap { first: 5, blocks: 2, cylinder: 3, head: 1, sector: 1, per_turn: 4 }];
    layout.slips = vec![(2, 1)];
    let g = Geometry::g4(&layout).unwrap();
    let parts: Vec<_> = [2, 3, 5, 6, 7].map(|lba| g.track_of(lba)).iter().map(|t| (t.first, t.end())).collect();
    assert_eq!(parts, [(2, 3), (3, 5), (5, 7), (5, 7), (7, 11)]);
    let at = |lba| {
        let p = g.place_of(lba);
        (p.cylinder, p.head, p.sector)
    };
    assert_eq!([4, 5, 6, 7].map(at), [(1, 0, 1), (3, 1, 1), (3, 1, 2), (2, 0, 0)]);
    assert_eq!(g.block_at(3, 1, 2), Some(6));
    assert_eq!([g.block_at(1, 0, 2), g.block_at(1, 0, 1)], [None, Some(4)]);
    assert_eq!((g.bounds(&g.track_of(4)), g.bounds(&g.track_of(5))), (3..7, 5..7));
    // The index does not have the descending track on cylinder 3, so its angle is taken as 0.
    assert_eq!(g.place_of(5).angle, 0.25);
}

#[test]
fn an_inconsistent_layout_is_refused_with_the_parameter_named() {
    for (change, expected) in [
        ((|l| l.nodes.clear()) as fn(&mut G4Layout), "IDX: got no node, expected at least one; the last is the root"),
        (|l| l.nodes[1].clear(), "IDX 1: got no entries, expected at least one"),
        (|l| l.patterns[1].high = 8, "TP 1: got 1, 8, 8, expected low sector <= high sector < sectors per track"),
        (|l| l.nodes[0][1].first = 13, "IDX 0: entry 1: lbn: got 13, expected 12, where the entry before it ends"),
        (
            |l| l.nodes[2][0].blocks = 25,
            "IDX 2: entry 0: len: got 25, expected at most the 24 blocks of what it repeats",
        ),
        (|l| l.nodes[2][0].child = G4Child::Node(2), "IDX 2: got a node inside itself, expected at most 64 levels"),
        (|l| l.nodes[2][0].child = G4Child::Node(3), "IDX 2: entry 0: child: got 3, expected a node below 3"),
        (
            |l| l.nodes[0][0].child = G4Child::Track { pattern: 0, head: 2 },
            "IDX 0: entry 0: head: got 2, expected a head below 2",
        ),
        (
            |l| l.nodes[0][0].child = G4Child::Track { pattern: 2, head: 0 },
            "IDX 0: entry 0: child: got 2, expected a track pattern below 2",
        ),
        (
            |l| l.nodes[0][1].cylinder = 1,
            "IDX 0: entry 1: cyl, cyllen: got cylinders -1 to 1 in steps of 1, expected steps of at least 1 within 9 cylinders",
        ),
        (|l| l.nodes[2][1].cylinder = 8, "IDX: got cylinders 0 to 10, expected cylinders 0 to 8"),
        (
            |l| l.slips = vec![(4, 1), (4, 1)],
            "Slips: got 4, 1, expected rising positions, each with a number of sectors",
        ),
        (
            |l| l.remaps = vec![G4Remap { blocks: 2, per_turn: 1, ..G4Remap::default() }],
            "Remaps: got 2 blocks at 0/0/0 of 1, expected at least one block, within a track of the drive",
        ),
        (
            |l| l.remaps = vec![G4Remap { first: 74, blocks: 1, per_turn: 1, ..G4Remap::default() }],
            "Remaps: got 1 blocks from 74, expected blocks below 74",
        ),
        (|l| l.slips = vec![(0, 80)], "Slips: got all sectors, expected fewer than the index has"),
        (|l| l.capacity = 0, "Block count: got 0, expected at least 1"),
    ] {
        let mut layout = layout();
        change(&mut layout);
        assert_eq!(Geometry::g4(&layout).unwrap_err().to_string(), expected);
    }
}

/// Cylinder, head, sector and turns of a place, down the nodes, by DiskSim's rule.
fn by_rule(layout: &G4Layout, node: usize, mut y: u64) -> (i64, u32, u32, f64) {
    let e = layout.nodes[node].iter().find(|e| (e.first..e.first + e.run_blocks).contains(&y)).unwrap();
    y -= e.first;
    let (i, rest) = (y / e.blocks, y % e.blocks);
    let step = i as i64 * i64::from(e.cylinders) * if e.run_cylinders < 0 { -1 } else { 1 };
    let (cylinder, turns) = (i64::from(e.cylinder) + step, e.offset + i as f64 * e.turn);
    match e.child {
        G4Child::Node(n) => {
            let (c, h, s, a) = by_rule(layout, n, rest);
            (c + cylinder, h, s, a + turns)
        }
        G4Child::Track { pattern, head } => {
            let p = layout.patterns[pattern];
            (cylinder, head, p.low + rest as u32, turns + rest as f64 / f64::from(p.per_turn))
        }
    }
}

/// Sections of tracks in bands or cylinder by cylinder, repeated; slips and remaps anywhere.
fn layouts() -> impl Strategy<Value = G4Layout> {
    let section = (1u32..4, 2u32..7, 1u64..4, any::<bool>(), 0u64..5);
    let slips = prop::collection::btree_map(0u64..300, 1u64..4, 0..12);
    (1u32..4, prop::collection::vec(section, 1..4), slips, any::<bool>()).prop_map(|(heads, sections, slips, remap)| {
        let (mut patterns, mut nodes, mut root) = (Vec::new(), Vec::new(), Vec::new());
        let (mut cylinder, mut first) = (0, 0);
        for (width, sectors, repeats, banded, cut) in sections {
            patterns.push(TrackPattern { low: sectors % 2, high: sectors % 2 + sectors - 1, per_turn: sectors + 2 });
            let (n, track) = (u64::from(sectors), |head| G4Child::Track { pattern: patterns.len() - 1, head });
            let run = u64::from(if banded { width } else { 1 }) * n;
            let tracks = (0..heads).map(|head| {
                let down = banded && head % 2 == 1;
                G4Entry {
                    first: u64::from(head) * run,
                    cylinder: if down { width - 1 } else { 0 },
                    offset: 0.1 * f64::from(head),
                    turn: 0.3,
                    run_cylinders: (run / n) as i64 * if down { -1 } else { 1 },
                    ..entry(0, n, run, track(head))
                }
            });
            nodes.push(tracks.collect());
            let (mut blocks, mut span) = (run * u64::from(heads), if banded { width } else { 1 });
            if !banded && width > 1 {
                // One more level: cylinders in a section.
                let all = blocks * u64::from(width);
                nodes.push(vec![G4Entry { turn: 0.7, ..entry(0, blocks, all, G4Child::Node(nodes.len() - 1)) }]);
                (blocks, span) = (all, width);
            }
            let run_blocks = (blocks * repeats).saturating_sub(cut).max(1);
            root.push(G4Entry {
                cylinder,
                offset: 0.01,
                turn: 0.9,
                cylinders: span,
                run_cylinders: i64::from(span) * repeats as i64,
                ..entry(first, blocks, run_blocks, G4Child::Node(nodes.len() - 1))
            });
            first += run_blocks;
            cylinder += span * repeats as u32;
        }
        nodes.push(root);
        // A block of the second half is remapped to a cylinder of its own.
        let lba = first / 2;
        let to = G4Remap { first: lba, blocks: 1, cylinder, head: 0, sector: 1, per_turn: 4 };
        let slips: Vec<_> = slips.into_iter().collect();
        let left = slips.iter().map(|s| s.1).sum::<u64>() < first / 2;
        G4Layout {
            heads,
            cylinders: cylinder + 1,
            capacity: u64::MAX,
            patterns,
            nodes,
            slips: if left { slips } else { Vec::new() },
            remaps: if remap { vec![to] } else { Vec::new() },
        }
    })
}

proptest! {
    #[test]
    fn every_block_is_where_the_rules_put_it_and_every_other_place_is_empty(layout in layouts()) {
        let g = Geometry::g4(&layout).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let places = layout.nodes.last().map_or(0, |root| root[root.len() - 1].first + root[root.len() - 1].run_blocks);
        let mut held = std::collections::HashMap::new();
        let mut blocks = 0;
        for lba in 0.. {
            // Slips up to a place move it on, until there is no new one.
            let (mut y, mut last) = (lba, u64::MAX);
            while y != last {
                last = y;
                y = lba + layout.slips.iter().filter(|s| s.0 <= y).map(|s| s.1).sum::<u64>();
            }
            if y >= places {
                break;
            }
            blocks = lba + 1;
            let found = g.place_of(lba);
            let found_at = (i64::from(found.cylinder), found.head, found.sector);
            if let Some(to) = layout.remaps.iter().find(|r| r.first == lba) {
                prop_assert_eq!(found_at, (i64::from(to.cylinder), to.head, to.sector));
            } else {
                let (c, h, s, turns) = by_rule(&layout, layout.nodes.len() - 1, y);
                prop_assert_eq!(found_at, (c, h, s));
                let off = (found.angle - turns.rem_euclid(1.0)).abs();
                prop_assert!(off.min(1.0 - off) < 1e-9, "{} {}", found.angle, turns);
            }
            held.insert((found.cylinder, found.head, found.sector), lba);
        }
        prop_assert_eq!((g.capacity(), held.len() as u64), (blocks, blocks));
        for (c, h, s) in (0..layout.cylinders).flat_map(|c| {
            (0..layout.heads).flat_map(move |h| (0..10).map(move |s| (c, h, s)))
        }) {
            prop_assert_eq!(g.block_at(c, h, s), held.get(&(c, h, s)).copied());
        }
    }

    #[test]
    fn walking_the_tracks_is_locating_each_and_parts_of_a_track_share_their_bounds(layout in layouts()) {
        let g = Geometry::g4(&layout).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let (mut track, mut next) = (g.track_of(0), 0);
        let on = |t: &Track| (t.cylinder, t.head);
        loop {
            prop_assert_eq!((track.first, track.sectors > 0), (next, true));
            for lba in track.first..track.end() {
                prop_assert_eq!(g.track_of(lba), track);
            }
            let bounds = g.bounds(&track);
            for lba in bounds.clone().filter(|lba| layout.remaps.iter().all(|r| r.first != *lba)) {
                prop_assert_eq!(on(&g.track_of(lba)), on(&track));
                prop_assert_eq!(g.bounds(&g.track_of(lba)), bounds.clone());
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
        which in 0usize..14,
        at in 0usize..8,
        value in prop_oneof![Just(0u64), Just(u64::MAX), Just(1 << 47), Just(u64::from(u32::MAX)), 0u64..200],
    ) {
        let nodes = layout.nodes.len();
        let node = &mut layout.nodes[at % nodes];
        let entries = node.len();
        let entry = &mut node[at % entries];
        match which {
            0 => layout.heads = value as u32,
            1 => layout.cylinders = value as u32,
            2 => layout.capacity = value,
            3 => layout.patterns[0].high = value as u32,
            4 => layout.patterns[0].per_turn = value as u32,
            5 => entry.first = value,
            6 => entry.cylinder = value as u32,
            7 => entry.blocks = value,
            8 => entry.cylinders = value as u32,
            9 => entry.run_blocks = value,
            10 => entry.run_cylinders = -entry.run_cylinders,
            11 => entry.child = G4Child::Node(value as usize),
            12 => layout.slips.push((value, value)),
            _ => layout.remaps.push(G4Remap { first: value, blocks: 1, per_turn: value as u32, ..G4Remap::default() }),
        }
        if let Ok(g) = Geometry::g4(&layout) {
            let steps = g.capacity().min(300);
            for i in 0..steps {
                let lba = (u128::from(g.capacity() - 1) * u128::from(i) / u128::from(steps)) as u64;
                let track = g.track_of(lba);
                prop_assert!((track.first..track.end()).contains(&lba));
                prop_assert!(g.bounds(&track).contains(&lba));
                prop_assert!(track.cylinder < g.cylinders() && track.head < g.heads());
            }
        }
    }
}
