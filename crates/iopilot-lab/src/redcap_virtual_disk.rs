//! `redcap-virtual-disk`: REDCAP of 64 MiB that a reference disk turns on and off, on two disks under CFQ and AS (GF
//! 3.5.2). The thesis calls the reference disk a virtual disk.

mod claims;
mod tables;
mod thesis;

use super::gf::GfBenchmark::{Ior, KernelRead, Strided8, Strided512, Tac};
use super::redcap_bench::{BenchPlan, BenchResults, BenchmarkMix, PlanCell, pictures};
use super::{Experiment, Outcome, Setup};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "redcap-virtual-disk",
    source: "GF 3.5.2",
    title: "REDCAP of 64 MiB with a reference disk: five benchmarks alone, in a row and at once, two disks, CFQ and AS",
    run,
};

const CLEAN: usize = 0;
const AGED: usize = 1;
const CFQ: usize = 0;
const AS: usize = 1;

const LOADS: &[BenchmarkMix] = &[
    BenchmarkMix::Alone(Tac),
    BenchmarkMix::Alone(Strided512),
    BenchmarkMix::Alone(Strided8),
    BenchmarkMix::Alone(KernelRead),
    BenchmarkMix::Alone(Ior),
    BenchmarkMix::InARow,
    BenchmarkMix::AtOnce,
];

const WHOLE: BenchPlan = BenchPlan {
    disks: &[("clean", "st3400620as"), ("aged", "hd-320-16")],
    schedulers: &[("CFQ", "cfq"), ("AS", "as:linux_2_6_23=1")],
    loads: LOADS,
    processes: &[1, 2, 4, 8, 16, 32],
    at_once: &[1, 2, 4],
    files: |_| 4.0,
    algorithms,
};

const QUICK: BenchPlan = BenchPlan { processes: &[1, 8], at_once: &[1], files: |_| 0.04, ..WHOLE };

/// One cell also runs equation 3.3 as printed.
fn algorithms(place: PlanCell, load: BenchmarkMix) -> &'static [&'static str] {
    let printed = place == (CLEAN, CFQ) && matches!(load, BenchmarkMix::Alone(Strided512 | KernelRead));
    if printed { &["vd", "vd-all-blocks"] } else { &["vd"] }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let results = BenchResults::run(if setup.quick { QUICK } else { WHOLE }, setup)?;
    Ok(Outcome {
        tables: tables::of(&results),
        claims: claims::of(&results),
        notes: [
            "files are placed as on a new ext3 that wrote them at the same time; the thesis' aged disk was used for \
             years",
            "only metadata are kept in a page cache: nothing that an earlier benchmark has read is found",
            "alone and in a row, four whole files are read, and more processes than four read a part each",
            "not run: DR, because the home directories are not available",
        ]
        .map(str::to_owned)
        .to_vec(),
        files: pictures(&results, "redcap-virtual-disk"),
    })
}
