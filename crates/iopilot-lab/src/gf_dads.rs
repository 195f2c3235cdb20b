//! The autopilot follows the better of two schedulers (GF 4.5, 4.6).
//!
//! Five benchmarks in a row on six disks, by 1 to 32 processes: under each scheduler alone, and with the autopilot, which
//! has two to choose from and begins with the one or the other. The virtual disk that it tries them on is the table-based
//! one, trained on the disk off line and learning from it while it flies (GF 4.3.1).

mod bench;
mod cells;
mod judge;
mod observed;
mod picture;
mod subject;
mod tables;

use super::{Experiment, Outcome, Setup};
use crate::gf::GfBenchmark;
use bench::{AS, CFQ, DEADLINE, NOOP, SchedulerIndex};
use iopilot_block::Nanos;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "gf-dads",
    source: "GF 4.6",
    title: "the autopilot follows the better of two schedulers, benchmark by benchmark",
    run,
};

/// The order of GF 4.5.3, which shall cause changes.
const BENCHMARKS: [GfBenchmark; 5] =
    [GfBenchmark::Ior, GfBenchmark::KernelRead, GfBenchmark::Strided512, GfBenchmark::Tac, GfBenchmark::Strided8];

/// Two schedulers that are compared, in the source's order.
type Pair = [SchedulerIndex; 2];

/// The pairs, and the figures with their results on hard disks and on SSDs, where AS and CFQ are not compared.
const PAIRS: [(Pair, &str, Option<&str>); 5] = [
    ([AS, DEADLINE], "4.4", Some("4.9")),
    ([AS, NOOP], "4.5", Some("4.10")),
    ([CFQ, AS], "4.6", None),
    ([CFQ, DEADLINE], "4.7", Some("4.11")),
    ([CFQ, NOOP], "4.8", Some("4.12")),
];

/// What is run.
struct Plan {
    disks: &'static [&'static str],
    processes: &'static [u32],
    pairs: &'static [(Pair, &'static str, Option<&'static str>)],
    /// From check to check.
    interval: Nanos,
    /// As many whole files as are read: with more processes each reads a part of its own.
    files: f64,
}

/// GF 4.5 and 4.6, but for the files: with 32 processes the whole ones take an hour and a half of the disk's time.
const WHOLE: Plan = Plan {
    disks: &["hd-250-32", "hd-320-16", "hd-500-16", "hd-500-32", "ssd-160", "ssd-64"],
    processes: &[1, 2, 4, 8, 16, 32],
    pairs: &PAIRS,
    interval: Nanos::from_secs(5),
    files: 4.0,
};

const QUICK: Plan = Plan {
    disks: &["hd-500-16", "ssd-160"],
    processes: &[8],
    pairs: PAIRS.split_at(1).0,
    interval: Nanos::from_secs(2),
    files: 0.5,
};

impl Plan {
    /// The part of its files that each of so many processes reads.
    fn share(&self, processes: u32) -> f64 {
        (self.files / f64::from(processes)).min(1.0)
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = if setup.quick { &QUICK } else { &WHOLE };
    let results = cells::all(plan, setup)?;
    Ok(judge::outcome(&results, setup.quick))
}
