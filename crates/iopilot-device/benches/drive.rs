//! What a request costs in the model of a complete drive: `cargo bench -p iopilot-device --bench drive`.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_device::{
    After, BlockTimes, Device, DeviceRequest, DriveModel, FastWrite, G1Layout, G1Zone, Geometry, HeadOrder, Mechanics,
    ReadAhead, SeekCurve, SingleDrive, SkewUnit, Sparing,
};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::hint::black_box;

const BATCH: usize = 10_000;
const MS: f64 = 1e6;

/// A drive like those of 1999: 10,000 rpm, 9 GB in 24 zones, ten segments, read-ahead and fast writes.
fn drive() -> SingleDrive {
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
    let mut model = DriveModel::plain(Mechanics {
        geometry: Geometry::g1(&layout).expect("a sound layout"),
        seek: SeekCurve::Table((0..130).map(|i| (1 + i * 77, (1.2 + (f64::from(i) * 0.6).sqrt()) * MS)).collect()),
        period: 6.0 * MS,
        initial_angle: 0.0,
        head_switch: 0.176 * MS,
        write_settle: 0.487 * MS,
    });
    (model.buffer.segments, model.buffer.segment_blocks) = (10, 374);
    (model.read.ahead, model.read.free_blocks, model.read.stop_in_sector) = (ReadAhead::Adaptive, true, false);
    (model.write.fast, model.write.combine) = (FastWrite::Always, true);
    model.bus.block_times = BlockTimes { read: 0.099 * MS, write: 0.099 * MS };
    model.overheads.read_hit = After::either(0.184 * MS);
    model.overheads.write_hit = After { read: 0.186 * MS, write: 0.189 * MS };
    SingleDrive::new(model)
}

/// One request after the other; the places are drawn beforehand.
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

fn requests(c: &mut Criterion) {
    let mut group = c.benchmark_group("drive");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (label, reads, random) in
        [("random read", 1.0, true), ("random, two thirds read", 0.66, true), ("sequential read", 1.0, false)]
    {
        group.bench_function(label, |b| {
            let mut drive = drive();
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
    group.finish();
}

criterion_group!(benches, requests);
criterion_main!(benches);
