//! The autopilot follows the better of two schedulers (GF 4.5, 4.6; GF is González-Férez' thesis of 2012).
//!
//! Five benchmarks in a row on six disks, by 1 to 32 processes: under each scheduler alone, and with the autopilot. The
//! autopilot has two candidates, and begins with either of them. Its trials run on the table-based disk, which was
//! trained on the disk off line and learns from it during the flight (GF 4.3.1).

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

/// The order of GF 4.5.3, which is meant to cause changes.
const BENCHMARKS: [GfBenchmark; 5] =
    [GfBenchmark::Ior, GfBenchmark::KernelRead, GfBenchmark::Strided512, GfBenchmark::Tac, GfBenchmark::Strided8];

/// Two schedulers that are compared, in the source's order.
type Pair = [SchedulerIndex; 2];

/// The pairs, and their figures for hard disks and for SSDs. The thesis does not compare AS and CFQ on SSDs.
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
    /// The time between two checks.
    interval: Nanos,
    /// The amount that is read, in whole files. More processes than that each read a part of their own file.
    files: f64,
}

/// GF 4.5 and 4.6, but with less to read: with 32 processes whole files would take an hour and a half of the disk's
/// time.
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
    /// The share of its files that each of `processes` processes reads.
    fn share(&self, processes: u32) -> f64 {
        (self.files / f64::from(processes)).min(1.0)
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = if setup.quick { &QUICK } else { &WHOLE };
    let results = cells::all(plan, setup)?;
    Ok(judge::outcome(&results, setup.quick))
}
