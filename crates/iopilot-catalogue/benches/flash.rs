//! The cost of a simulated request to a solid-state drive: `cargo bench -p iopilot-catalogue --bench flash`.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_catalogue::{AnyDevice, Catalogue, DeviceSpec, DiskSpec, PreconditionSpec};
use iopilot_device::{Completion, Device, DeviceRequest};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const BATCH: u64 = 100_000;

fn spec(name: &str, precondition: PreconditionSpec) -> DiskSpec {
    let mut spec = Catalogue::get(name).expect("in the catalogue");
    if let DeviceSpec::Ssd(ssd) = &mut spec.device {
        ssd.precondition = precondition;
    }
    spec.provenance.clear();
    spec
}

/// The NVMe drive with a tenth of its dies' blocks: 512 GB and as much spare.
fn half_a_terabyte() -> DiskSpec {
    let mut spec = spec("micron-7600-max-6t4", PreconditionSpec::Random);
    if let DeviceSpec::Ssd(ssd) = &mut spec.device {
        ssd.capacity_sectors = 1_000_000_000;
        ssd.nand.pages_per_block = 276;
        ssd.nand.blocks_per_plane = 407;
    }
    spec
}

struct Load {
    device: AnyDevice,
    now: Nanos,
    random: Pcg64Mcg,
    reads: f64,
    out: Vec<Completion>,
}

impl Load {
    fn new(spec: &DiskSpec, reads: f64) -> Self {
        let device = spec.build().expect("sound");
        let mut load = Self { device, now: Nanos::ZERO, random: Pcg64Mcg::seed_from_u64(1), reads, out: Vec::new() };
        for id in 0..32 {
            load.submit(RequestId::from_index(id));
        }
        load
    }

    fn submit(&mut self, id: RequestId) {
        let lba = Lba(self.random.random_range(0..self.device.capacity() / 8) * 8);
        let op = if self.random.random_bool(self.reads) { Op::Read } else { Op::Write };
        let request = DeviceRequest { id, op, lba, sectors: Sectors(8), flags: Flags::empty() };
        self.device.submit(request, self.now);
    }

    /// Serves `count` requests, 32 at a time.
    fn serve(&mut self, count: u64) {
        let mut done = 0;
        while done < count {
            let Some(at) = self.device.next_event() else { return };
            self.now = at;
            let mut out = std::mem::take(&mut self.out);
            self.device.advance(at, &mut out);
            for completion in out.drain(..) {
                done += 1;
                self.submit(completion.id);
            }
            self.out = out;
        }
    }
}

fn flash(c: &mut Criterion) {
    let mut group = c.benchmark_group("flash");
    group.throughput(Throughput::Elements(BATCH)).sample_size(10);
    for (label, spec, reads) in [
        ("512 GB NVMe, random 4 KiB, half reads, steady state", half_a_terabyte(), 0.5),
        ("512 GB NVMe, random 4 KiB writes, steady state", half_a_terabyte(), 0.0),
        ("512 GB NVMe, random 4 KiB reads", half_a_terabyte(), 1.0),
        ("ssd-160, random 4 KiB, half reads", spec("ssd-160", PreconditionSpec::Sequential), 0.5),
        ("ssd-160, random 4 KiB, half reads, steady state", spec("ssd-160", PreconditionSpec::Random), 0.5),
    ] {
        // The idle drive collects garbage. So let the load reach a steady state first.
        let mut load = Load::new(&spec, reads);
        load.serve(4 * BATCH);
        group.bench_function(label, |b| b.iter(|| load.serve(BATCH)));
    }
    group.finish();
}

/// One million requests, to measure time and memory. They run if they are named, and the filter then skips the other
/// benchmarks: `/usr/bin/time -v cargo bench -p iopilot-catalogue --bench flash -- million`.
fn million(_: &mut Criterion) {
    if std::env::args().any(|argument| argument == "million") {
        let mut load = Load::new(&half_a_terabyte(), 0.5);
        load.serve(1_000_000);
    }
}

criterion_group!(benches, flash, million);
criterion_main!(benches);
