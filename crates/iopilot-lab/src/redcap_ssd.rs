//! `redcap-ssd`: REDCAP of 64 MiB that a reference disk turns on and off, on two SSDs under CFQ and Noop (GF 3.6.4).

mod claims;
mod tables;
mod thesis;

use super::gf::GfBenchmark::{Ior, KernelRead, Strided8, Strided512, Tac};
use super::redcap_bench::{BenchPlan, BenchResults, BenchmarkMix, pictures};
use super::{Experiment, Outcome, Setup};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "redcap-ssd",
    source: "GF 3.6.4",
    title: "REDCAP of 64 MiB with a reference disk on two SSDs: five benchmarks alone, in a row and at once, CFQ and Noop",
    run,
};

const SSD_160: usize = 0;
const SSD_64: usize = 1;
const CFQ: usize = 0;
const NOOP: usize = 1;

const LOADS: &[BenchmarkMix] = &[
    BenchmarkMix::Alone(Tac),
    BenchmarkMix::Alone(Strided512),
    BenchmarkMix::Alone(Strided8),
    BenchmarkMix::Alone(KernelRead),
    BenchmarkMix::Alone(Ior),
    BenchmarkMix::OneProgram,
    BenchmarkMix::InARow,
    BenchmarkMix::AtOnce,
];

const WHOLE: BenchPlan = BenchPlan {
    disks: &[("SSD-160", "ssd-160"), ("SSD-64", "ssd-64")],
    schedulers: &[("CFQ", "cfq"), ("Noop", "noop")],
    loads: LOADS,
    processes: &[1, 2, 4, 8, 16, 32],
    at_once: &[1, 2, 4],
    // Whole files for the tables in seconds.
    files: |load| if matches!(load, BenchmarkMix::Alone(Strided512 | Ior)) { 32.0 } else { 4.0 },
    algorithms: |_, _| &["vd"],
};

const QUICK: BenchPlan = BenchPlan { processes: &[1, 8], at_once: &[1], files: |_| 0.04, ..WHOLE };

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let results = BenchResults::run(if setup.quick { QUICK } else { WHOLE }, setup)?;
    Ok(Outcome {
        tables: tables::of(&results),
        claims: claims::of(&results),
        notes: [
            "REDCAP and the reference disk take CPU time only for copying, where the thesis has overheads",
            "only metadata are kept in a page cache: nothing that an earlier benchmark has read is found",
            "four whole files are read, and more processes than four read a part each; alone, 512k-SR and IOR read all \
             files whole",
        ]
        .map(str::to_owned)
        .to_vec(),
        files: pictures(&results, "redcap-ssd"),
    })
}
