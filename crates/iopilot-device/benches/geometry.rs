//! From block to track, for random blocks: the layouts of DiskSim's files, at the size of real drives.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iopilot_device::{
    G1Layout, G1Zone, G4Child, G4Entry, G4Layout, Geometry, HeadOrder, SkewUnit, Sparing, TrackLayout, TrackPattern,
    Zone,
};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::hint::black_box;

const BATCH: usize = 10_000;
const ZONES: u32 = 24;
const HEADS: u32 = 6;

/// 9 GB in 24 zones of 418 cylinders.
fn zoned() -> Geometry {
    let zone = |i| Zone {
        first_cylinder: i * 418,
        cylinders: 418,
        sectors_per_track: 334 - 5 * i,
        offset: 0.0,
        track_skew: 0.19,
        cylinder_skew: 0.28,
        band_skew: 0.0,
    };
    Geometry::new(HEADS, TrackLayout::Serpentine, (0..ZONES).map(zone).collect(), None)
}

/// The same with spares, and with `slips` slips in each zone.
fn g1(sparing: Sparing, slips: u64) -> Geometry {
    let zone = |i| G1Zone {
        first_cylinder: i * 418,
        last_cylinder: i * 418 + 417,
        blocks_per_track: 334 - 5 * i,
        track_skew: 63.0,
        cylinder_skew: 113.0,
        skew_unit: SkewUnit::Sectors,
        spares: 89,
        slips: (0..slips).map(|s| 1001 + s * 20_011).collect(),
        ..G1Zone::default()
    };
    let layout = G1Layout {
        heads: HEADS,
        cylinders: 418 * ZONES,
        order: HeadOrder::AlternatingInZone,
        sparing,
        range_cylinders: 6,
        zones: (0..ZONES).map(zone).collect(),
    };
    Geometry::g1(&layout).expect("sound")
}

/// 4 TB in 59 zones, each of 21 bands of 256 cylinders, inwards and outwards on ten heads; `slips` slips, evenly
/// spread.
fn g4(slips: u64) -> Geometry {
    let mut layout = G4Layout { heads: 10, cylinders: 59 * 21 * 256, capacity: u64::MAX, ..G4Layout::default() };
    let mut root = Vec::new();
    let mut first = 0;
    for i in 0..59 {
        let sectors = 3072 - 25 * i;
        layout.patterns.push(TrackPattern { low: 0, high: sectors - 1, per_turn: sectors });
        let run = u64::from(sectors) * 128;
        let tracks = (0..20).map(|half| G4Entry {
            first: u64::from(half) * run,
            cylinder: if half % 2 == 0 { half / 10 * 128 } else { half / 10 * 128 + 127 },
            offset: 0.0,
            blocks: u64::from(sectors),
            cylinders: 1,
            turn: 0.14,
            run_blocks: run,
            run_cylinders: if half % 2 == 0 { 128 } else { -128 },
            child: G4Child::Track { pattern: i as usize, head: half % 10 },
        });
        layout.nodes.push(tracks.collect());
        root.push(G4Entry {
            first,
            cylinder: i * 21 * 256,
            offset: 0.0,
            blocks: 20 * run,
            cylinders: 256,
            turn: 0.14,
            run_blocks: 21 * 20 * run,
            run_cylinders: 21 * 256,
            child: G4Child::Node(i as usize),
        });
        first += 21 * 20 * run;
    }
    layout.slips = (1..=slips).map(|s| (first / (slips + 1) * s, 2)).collect();
    layout.nodes.push(root);
    Geometry::g4(&layout).expect("sound")
}

fn track_of(c: &mut Criterion) {
    let mut group = c.benchmark_group("track_of");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (label, geometry) in [
        ("zones", zoned()),
        ("g1, spares at the end of zones", g1(Sparing::PerZone, 0)),
        ("g1, spares at the end of zones, 20 slips each", g1(Sparing::PerZone, 20)),
        ("g1, spares in ranges, 20 slips each", g1(Sparing::PerRange, 20)),
        ("g4", g4(0)),
        ("g4, 15,000 slips", g4(15_000)),
    ] {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let places: Vec<u64> = (0..BATCH).map(|_| rng.random_range(0..geometry.capacity())).collect();
        group.bench_function(label, |b| {
            b.iter(|| {
                for &lba in &places {
                    black_box(geometry.track_of(lba));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, track_of);
criterion_main!(benches);
