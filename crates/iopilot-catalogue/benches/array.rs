//! The cost of a request to an array in the model: `cargo bench -p iopilot-catalogue --bench array`.
//!
//! Each batch continues with the same array, so the time of a request must not depend on the number of earlier ones.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{AnyDevice, Catalogue};
use iopilot_device::{
    Array, ArrayLayout, ArrayModel, ConstantDevice, Device, DeviceRequest, MappingRules, Organisation, Redundancy,
    Rotation,
};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::hint::black_box;

const BATCH: usize = 10_000;
const DEPTH: usize = 32;

/// Nine members with rotating parity, stripe unit 32 KiB.
fn raid5(member: &AnyDevice) -> Array<AnyDevice> {
    let layout = ArrayLayout::new(&Organisation {
        members: 9,
        member_sectors: member.capacity(),
        stripe_unit: Some(64),
        redundancy: Redundancy::Rotated { checks: 1, rotation: Rotation::LeftSymmetric, parity_unit: None },
        use_remainder: false,
    });
    let model = ArrayModel::new(layout.expect("sound"), MappingRules::default());
    Array::new(model, vec![member.clone(); 9], None).expect("sound")
}

/// Keeps 32 requests outstanding for a batch of them, drawn beforehand.
fn closed(array: &mut Array<AnyDevice>, now: &mut Nanos, requests: &[(Op, u64)]) {
    let mut out = Vec::with_capacity(DEPTH);
    let mut next = requests.iter();
    let mut submit = |array: &mut Array<AnyDevice>, id: RequestId, now: Nanos| {
        if let Some(&(op, lba)) = next.next() {
            let request = DeviceRequest { id, op, lba: Lba(lba), sectors: Sectors(8), flags: Flags::empty() };
            array.submit(request, now);
        }
    };
    for i in 0..DEPTH {
        submit(array, RequestId::from_index(i), *now);
    }
    while let Some(at) = array.next_event() {
        *now = at;
        array.advance(at, &mut out);
        for completion in out.drain(..) {
            submit(array, black_box(completion).id, at);
        }
    }
}

fn array(c: &mut Criterion) {
    let mut group = c.benchmark_group("array");
    group.throughput(Throughput::Elements(BATCH as u64));
    let constant = AnyDevice::from(ConstantDevice::simple(10_000_000, 4, Nanos::from_micros(100), 5.0));
    let disk = Catalogue::get("dg072a4951").and_then(|spec| spec.build()).expect("in the catalogue");
    for (label, member, reads) in [
        ("raid 5 of 9 fast members, 2/3 reads", &constant, 2.0 / 3.0),
        ("raid 5 of 9 fast members, writes", &constant, 0.0),
        ("raid 5 of 9 disks, 2/3 reads", &disk, 2.0 / 3.0),
    ] {
        group.bench_function(label, |b| {
            let mut array = raid5(member);
            let mut rng = Pcg64Mcg::seed_from_u64(1);
            let mut now = Nanos::ZERO;
            let places = array.capacity() / 8;
            b.iter_batched_ref(
                || -> Vec<(Op, u64)> {
                    let op = |rng: &mut Pcg64Mcg| if rng.random_bool(reads) { Op::Read } else { Op::Write };
                    (0..BATCH).map(|_| (op(&mut rng), rng.random_range(0..places) * 8)).collect()
                },
                |requests| closed(&mut array, &mut now, requests),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, array);
criterion_main!(benches);
