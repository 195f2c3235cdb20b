//! The cost of a simulated request to a mechanical disk: `cargo bench -p iopilot-catalogue --bench mech`.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{AnyDevice, Catalogue, DeviceSpec, PolicySpec};
use iopilot_device::{Device, DeviceRequest};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::hint::black_box;

const BATCH: usize = 10_000;

fn device(name: &str, policy: PolicySpec) -> AnyDevice {
    let mut spec = Catalogue::get(name).expect("in the catalogue");
    if let DeviceSpec::Mechanical(m) = &mut spec.device {
        m.interface.queue_policy = policy;
        if policy == PolicySpec::Fifo {
            m.interface.age_limit_ms = None;
        }
    }
    spec.provenance.clear();
    spec.build().expect("sound")
}

/// Keeps `depth` requests outstanding for a batch of them; the places are drawn beforehand.
fn closed(device: &mut AnyDevice, now: &mut Nanos, depth: usize, op: Op, places: &[u64]) {
    let mut out = Vec::with_capacity(depth);
    let mut next = places.iter();
    let mut submit = |device: &mut AnyDevice, id: RequestId, now: Nanos| {
        if let Some(&lba) = next.next() {
            let request = DeviceRequest { id, op, lba: Lba(lba), sectors: Sectors(8), flags: Flags::empty() };
            device.submit(request, now);
        }
    };
    for i in 0..depth {
        submit(device, RequestId::from_index(i), *now);
    }
    while let Some(at) = device.next_event() {
        *now = at;
        device.advance(at, &mut out);
        for completion in out.drain(..) {
            submit(device, black_box(completion).id, at);
        }
    }
}

fn mech(c: &mut Criterion) {
    let mut group = c.benchmark_group("mech");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (label, depth, policy, op, random) in [
        ("random read, depth 1, fifo", 1, PolicySpec::Fifo, Op::Read, true),
        ("random read, depth 32, fifo", 32, PolicySpec::Fifo, Op::Read, true),
        ("random read, depth 32, sptf", 32, PolicySpec::Sptf, Op::Read, true),
        ("random write, depth 1, fifo", 1, PolicySpec::Fifo, Op::Write, true),
        ("sequential read, depth 1, fifo", 1, PolicySpec::Fifo, Op::Read, false),
    ] {
        group.bench_function(label, |b| {
            let mut device = device("hd-500-32", policy);
            let mut rng = Pcg64Mcg::seed_from_u64(1);
            let mut now = Nanos::ZERO;
            let mut at = 0;
            b.iter_batched_ref(
                || -> Vec<u64> {
                    (0..BATCH)
                        .map(|_| {
                            at = if random { rng.random_range(0..90_000_000) * 8 } else { (at + 8) % 900_000_000 };
                            at
                        })
                        .collect()
                },
                |places| closed(&mut device, &mut now, depth, op, places),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, mech);
criterion_main!(benches);
