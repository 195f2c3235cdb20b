//! The time of a read that hits the drive's cache, and of one that misses it (GF 4.3.1).

use super::{Claim, Experiment, Outcome, ResultTable, Setup};
use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_catalogue::Catalogue;
use iopilot_device::{Device, Synchronous, TimedDevice};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "gf-cache-times",
    source: "GF 4.3.1",
    title: "reads of 4 kB that are hits and misses of a drive's own cache",
    run,
};

/// The four drives of GF 4.5.1.
const DISKS: [&str; 4] = ["hd-250-32", "hd-320-16", "hd-500-16", "hd-500-32"];
/// 4 kB.
const BLOCK: u64 = 8;
/// A read that takes longer is a miss (GF 4.3.1).
const LIMIT: Nanos = Nanos::from_millis(1);
/// The benchmarks read 32 files of 1 GB (GF 2.4.3): their length in sectors.
const FILES: u64 = 32 << 21;

/// The mean of some times, and how many of them are on the expected side of [`LIMIT`].
#[derive(Default)]
struct Times {
    count: u64,
    sum_us: f64,
    on_its_side: u64,
}

impl Times {
    fn add(&mut self, time: Nanos, on_its_side: bool) {
        self.count += 1;
        self.sum_us += time.as_micros_f64();
        self.on_its_side += u64::from(on_its_side);
    }

    fn mean_us(&self) -> f64 {
        self.sum_us / self.count as f64
    }

    fn classified_percent(&self) -> f64 {
        100.0 * self.on_its_side as f64 / self.count as f64
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let reads = if setup.quick { 500 } else { 20_000 };
    let mut table = ResultTable::new(
        "times",
        "Mean time of a read of 4 kB, and how many take more (misses) or no more (hits) than 1000 µs",
        &["disk", "miss_us", "miss_above_percent", "hit_us", "hit_below_percent"],
    );
    let (mut hits, mut misses, mut classified) = (Vec::new(), Vec::new(), f64::INFINITY);
    for name in DISKS {
        let device = Catalogue::get(name)?.build()?;
        let files = FILES.min(device.capacity() / 2);
        let mut disk = Synchronous::new(device);
        let mut random = Pcg64Mcg::seed_from_u64(setup.seed);
        let (mut miss, mut hit) = (Times::default(), Times::default());
        for _ in 0..reads {
            let lba = random.random_range(0..files / BLOCK) * BLOCK;
            let time = disk.serve(Op::Read, Lba(lba), Sectors(BLOCK as u32))?;
            miss.add(time, time > LIMIT);
            // The same block again certainly is in the cache.
            let time = disk.serve(Op::Read, Lba(lba), Sectors(BLOCK as u32))?;
            hit.add(time, time <= LIMIT);
        }
        classified = classified.min(miss.classified_percent()).min(hit.classified_percent());
        misses.push(miss.mean_us());
        hits.push(hit.mean_us());
        table.row(vec![
            name.into(),
            miss.mean_us().into(),
            miss.classified_percent().into(),
            hit.mean_us().into(),
            hit.classified_percent().into(),
        ]);
    }
    let range = |values: &[f64]| {
        let (low, high) = values.iter().fold((f64::MAX, 0.0f64), |(l, h), &v| (l.min(v), h.max(v)));
        (low, high, format!("{low:.0} to {high:.0} µs"))
    };
    let (low, high, ours) = range(&hits);
    let (miss_low, miss_high, ours_misses) = range(&misses);
    let claims = vec![
        Claim::new(
            "GF 4.3.1",
            "a read of 4 kB that hits takes between 150 and 220 µs",
            "150 to 220 µs",
            ours,
            low >= 150.0 && high <= 220.0,
            "the drives' overheads are derived from data sheets, not measured",
        ),
        Claim::new(
            "GF 4.3.1",
            "a read of 4 kB that misses takes around 8000 µs",
            "within a quarter of 8000 µs",
            ours_misses,
            miss_low >= 6000.0 && miss_high <= 10_000.0,
            "the seeks between the source's files are not known",
        ),
        Claim::new(
            "GF 4.3.1",
            "1000 µs tell a miss from a hit",
            "at least 99 % of both on their side",
            format!("{classified:.1} %"),
            classified >= 99.0,
            "some misses find their sector under the head",
        ),
    ];
    let notes = vec!["reads at random within the first 32 GiB, where the files of the benchmarks are".to_owned()];
    Ok(Outcome { tables: vec![table], claims, notes, files: Vec::new() })
}
