//! The CPU time of a request in the model of a complete drive: `cargo bench -p iopilot-scsi --bench drive`.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_device::{
    Device, DeviceRequest, G1Layout, G1Zone, G4Child, G4Entry, G4Layout, Geometry, HeadOrder, Mechanics, SeekCurve,
    SkewUnit, Sparing, TrackPattern,
};
use iopilot_sched::{IoQueueConfig, IoQueuePolicy};
use iopilot_scsi::{After, BlockTimes, DriveModel, FastWrite, ReadAheadRule, SingleDrive};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::hint::black_box;

const BATCH: usize = 10_000;
const MS: f64 = 1e6;

/// The layout of a drive like those of 1999: 9 GB in 24 zones.
fn g1() -> Geometry {
    let zones = (0..24).map(|i| G1Zone {
        first_cylinder: i * 418,
        last_cylinder: i * 418 + 417,
        blocks_per_track: 334 - 5 * i,
        track_skew: 63.0,
        cylinder_skew: 101.0,
        skew_unit: SkewUnit::Sectors,
        spares: 84,
        slips: (0..u64::from(i % 4)).map(|k| 50_017 * (k + 1)).collect(),
        ..G1Zone::default()
    });
    let layout = G1Layout {
        heads: 6,
        cylinders: 24 * 418,
        order: HeadOrder::AlternatingInZone,
        sparing: Sparing::PerZone,
        range_cylinders: 1,
        zones: zones.collect(),
    };
    Geometry::g1(&layout).expect("a sound layout")
}

/// The same number of blocks, cylinders and heads, head by head in bands of 19 cylinders and back, with slips.
fn g4() -> Geometry {
    let mut layout = G4Layout { heads: 6, cylinders: 24 * 418, capacity: u64::MAX, ..G4Layout::default() };
    let (mut root, mut first) = (Vec::new(), 0);
    for i in 0..24u32 {
        let sectors = 334 - 5 * i;
        layout.patterns.push(TrackPattern { low: 0, high: sectors - 1, per_turn: sectors });
        let run = u64::from(sectors) * 19;
        let tracks = (0..6u32).map(|head| G4Entry {
            first: u64::from(head) * run,
            cylinder: if head % 2 == 0 { 0 } else { 18 },
            offset: 0.0,
            blocks: u64::from(sectors),
            cylinders: 1,
            turn: 0.19,
            run_blocks: run,
            run_cylinders: if head % 2 == 0 { 19 } else { -19 },
            child: G4Child::Track { pattern: i as usize, head },
        });
        layout.nodes.push(tracks.collect());
        root.push(G4Entry {
            first,
            cylinder: i * 418,
            offset: 0.0,
            blocks: 6 * run,
            cylinders: 19,
            turn: 0.0,
            run_blocks: 22 * 6 * run,
            run_cylinders: 418,
            child: G4Child::Node(i as usize),
        });
        first += 22 * 6 * run;
    }
    layout.nodes.push(root);
    layout.capacity = first - 100;
    layout.slips = (0..36).map(|k| (50_017 + k * 400_009, 1)).collect();
    Geometry::g4(&layout).expect("a sound layout")
}

/// A drive of 1999: 10,000 rpm, ten segments, read-ahead and fast writes.
fn drive(geometry: Geometry, change: impl FnOnce(&mut DriveModel)) -> SingleDrive {
    let mut model = DriveModel::plain(Mechanics {
        geometry,
        seek: SeekCurve::Table((0..130).map(|i| (1 + i * 77, (1.2 + (f64::from(i) * 0.6).sqrt()) * MS)).collect()),
        period: 6.0 * MS,
        initial_angle: 0.0,
        head_switch: 0.176 * MS,
        write_settle: 0.487 * MS,
    });
    (model.buffer.segments, model.buffer.segment_blocks) = (10, 374);
    (model.read.ahead, model.read.free_blocks, model.read.stop_in_sector) = (ReadAheadRule::Adaptive, true, false);
    (model.write.fast, model.write.combine) = (FastWrite::Always, true);
    model.bus.block_times = BlockTimes { read: 0.099 * MS, write: 0.099 * MS };
    model.overheads.read_hit = After::either(0.184 * MS);
    model.overheads.write_hit = After { read: 0.186 * MS, write: 0.189 * MS };
    change(&mut model);
    SingleDrive::new(model)
}

/// One request after the other; the addresses are drawn beforehand.
fn one_by_one(drive: &mut SingleDrive, now: &mut Nanos, requests: &[(Op, u64)]) {
    let mut out = Vec::with_capacity(1);
    for &(op, lba) in requests {
        let id = RequestId::from_index(0);
        drive.submit(DeviceRequest { id, op, lba: Lba(lba), sectors: Sectors(8), flags: Flags::empty() }, *now);
        while out.is_empty() {
            let Some(at) = drive.next_event() else { break };
            drive.advance(at, &mut out);
            *now = at;
        }
        black_box(out.pop());
    }
}

/// Keeps a fixed number of requests inside; returns when `count` have ended.
fn queued(
    drive: &mut SingleDrive,
    now: &mut Nanos,
    places: &mut impl Iterator<Item = u64>,
    inside: &mut usize,
    count: usize,
) {
    let depth = drive.queue_depth() as usize;
    let mut out = Vec::with_capacity(depth);
    while *inside < depth {
        submit(drive, *now, *inside, places);
        *inside += 1;
    }
    let mut ended = 0;
    while ended < count {
        let Some(at) = drive.next_event() else { break };
        *now = at;
        drive.advance(at, &mut out);
        for completion in out.drain(..) {
            ended += 1;
            submit(drive, *now, completion.id.index(), places);
        }
    }
}

fn submit(drive: &mut SingleDrive, now: Nanos, name: usize, places: &mut impl Iterator<Item = u64>) {
    let lba = Lba(places.next().unwrap_or(0));
    let id = RequestId::from_index(name);
    drive.submit(DeviceRequest { id, op: Op::Read, lba, sectors: Sectors(8), flags: Flags::empty() }, now);
}

fn requests(c: &mut Criterion) {
    let mut group = c.benchmark_group("drive");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (label, geometry, reads, random) in [
        ("random read", g1(), 1.0, true),
        ("random read, layout g4", g4(), 1.0, true),
        ("random, two thirds read", g1(), 0.66, true),
        ("sequential read", g1(), 1.0, false),
    ] {
        group.bench_function(label, |b| {
            let mut drive = drive(geometry.clone(), |_| {});
            let mut rng = Pcg64Mcg::seed_from_u64(1);
            let mut now = Nanos::ZERO;
            let mut at = 0;
            let blocks = drive.capacity() / 8;
            b.iter_batched_ref(
                || -> Vec<(Op, u64)> {
                    let mut draw = |_| {
                        at = if random { rng.random_range(0..blocks) } else { (at + 1) % blocks };
                        (if rng.random_bool(reads) { Op::Read } else { Op::Write }, at * 8)
                    };
                    (0..BATCH).map(&mut draw).collect()
                },
                |requests| one_by_one(&mut drive, &mut now, requests),
                BatchSize::LargeInput,
            );
        });
    }
    group.throughput(Throughput::Elements(1000));
    for (label, depth, policy) in [
        ("16 queued, fcfs", 16, IoQueuePolicy::Fcfs),
        ("128 queued, sptf", 128, IoQueuePolicy::Sptf),
        ("128 queued, asptf", 128, IoQueuePolicy::Asptf),
    ] {
        group.bench_function(label, |b| {
            let queue = IoQueueConfig { age_weight: 30.0, max_wait: 30.0, ..IoQueueConfig::with_policy(policy) };
            let mut drive = drive(g1(), |m| (m.queue_depth, m.queue) = (depth, queue));
            let mut rng = Pcg64Mcg::seed_from_u64(1);
            let blocks = drive.capacity() / 8;
            let mut places = std::iter::repeat_with(move || rng.random_range(0..blocks) * 8);
            let (mut now, mut inside) = (Nanos::ZERO, 0);
            b.iter(|| queued(&mut drive, &mut now, &mut places, &mut inside, 1000));
        });
    }
    group.finish();
}

criterion_group!(benches, requests);
criterion_main!(benches);
