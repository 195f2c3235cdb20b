//! The claims of GF 3.6.4.

use super::tables::beside;
use super::thesis::{ALONE, AT_ONCE, IOR, ROW, TABLES, TableRow};
use super::{CFQ, NOOP, SSD_160};
use crate::Claim;
use crate::gf::GfBenchmark::{self, Ior, KernelRead, Strided512, Tac};
use crate::redcap_bench::{BenchResults, BenchmarkMix, StatedGain, near};

/// How much a time may differ, in percent.
const NEAR_SECONDS: f64 = 25.0;
const PROGRAMS: &str = "a program takes 1 ms to start here, which is less of the whole time than in the thesis";
const ANOTHER_WAIT: &str = "CFQ idles for the next request of a process, for another time than the thesis' CFQ";
const NO_OVERHEAD: &str = "REDCAP and the reference disk take CPU time here only for copying";
const FAST_DRIVE: &str = "the model of the drive is faster than the drive was";

pub(super) fn of(results: &BenchResults) -> Vec<Claim> {
    let mut claims: Vec<Claim> = ALONE.iter().filter_map(|number| number.claim(results, cause(number))).collect();
    for row in &TABLES {
        claims.extend(of_row(results, row, ("Table 3.6", "application"), 0));
        claims.extend(of_row(results, row, ("Table 3.7", "I/O"), 2));
    }
    claims.extend(of_ior(results));
    claims.extend(state(results));
    claims.extend(ROW.iter().filter_map(|&(benchmark, gain)| best_in_a_row(results, benchmark, gain)));
    claims.extend(AT_ONCE.iter().filter_map(|number| number.claim(results, ANOTHER_WAIT)));
    claims
}

/// The known reasons why a number comes out differently.
fn cause(number: &StatedGain) -> &'static str {
    match number.load() {
        BenchmarkMix::Alone(Strided512 | Ior) => NO_OVERHEAD,
        BenchmarkMix::Alone(KernelRead) => PROGRAMS,
        _ if number.place().1 == CFQ => ANOTHER_WAIT,
        _ => "the model of the drive, or the CPU time of a read",
    }
}

/// A claim about a row of a table, cell by cell. Our values are compared from the index `first` on.
fn of_row(results: &BenchResults, row: &TableRow, (source, time): (&str, &str), first: usize) -> Option<Claim> {
    let cells = beside(results, row);
    let off = |seconds: &[f64; 4]| 100.0 * (seconds[first + 1] / seconds[first] - 1.0);
    let worst = cells.iter().map(|(_, seconds)| off(seconds).abs()).reduce(f64::max)?;
    let shown: Vec<_> = cells.iter().map(|(_, s)| format!("{:.2} ({:.2})", s[first + 1], s[first])).collect();
    let with = if row.redcap { "with" } else { "without" };
    let scheduler = results.plan.schedulers[row.scheduler].0;
    let claim = format!("512k-SR, {scheduler}, {with} REDCAP: {time} time, ours (the thesis')");
    let goal = format!("each within {NEAR_SECONDS} %");
    let because = if row.redcap { NO_OVERHEAD } else { FAST_DRIVE };
    Some(Claim::new(source, claim, goal, shown.join(", "), worst <= NEAR_SECONDS, because))
}

fn of_ior(results: &BenchResults) -> Option<Claim> {
    let seconds =
        |algorithm| results.find((SSD_160, NOOP), BenchmarkMix::Alone(Ior), 32, algorithm)?.seconds.first().copied();
    let (with, without) = (seconds(Some("vd"))?, seconds(None)?);
    let off = |ours: f64, theirs: f64| (100.0 * (ours / theirs - 1.0)).abs();
    Some(Claim::new(
        "3.6.4",
        format!("IOR, SSD-160, Noop, 32 processes: {} s with REDCAP, {} s without", IOR.0, IOR.1),
        format!("each within {NEAR_SECONDS} %"),
        format!("{with:.2} s, {without:.2} s"),
        off(with, IOR.0).max(off(without, IOR.1)) <= NEAR_SECONDS,
        NO_OVERHEAD,
    ))
}

fn state(results: &BenchResults) -> Vec<Claim> {
    let active = |benchmark| {
        results.plan.places().flat_map(move |place| {
            let of = move |&p: &u32| {
                Some(results.find(place, BenchmarkMix::Alone(benchmark), p, Some("vd"))?.active_percent)
            };
            results.plan.processes.iter().filter_map(of)
        })
    };
    let mut claims = Vec::new();
    for benchmark in [Tac, GfBenchmark::Strided8, KernelRead] {
        let least = active(benchmark).fold(f64::INFINITY, f64::min);
        let claim = format!("{benchmark}: the cache is always active");
        let because = "the reference disk took less for the same reads, for some number of processes";
        claims.push(Claim::new("3.6.4", claim, "95 % of the reads", format!("{least:.1} %"), least >= 95.0, because));
    }
    let most = active(Strided512).fold(0.0, f64::max);
    let claim = "512k-SR: the cache is off from the first check on";
    let because = "1000 reads come before the first check, and a benchmark that is cut short has few more";
    claims.push(Claim::new("3.6.4", claim, "on for 20 % at most", format!("{most:.1} %"), most <= 20.0, because));
    claims
}

fn best_in_a_row(results: &BenchResults, benchmark: GfBenchmark, expected: f64) -> Option<Claim> {
    let of = |place| {
        let gain = move |&p: &u32| results.gain_in_a_row(place, benchmark, p);
        results.plan.processes.iter().filter_map(gain)
    };
    let ours = results.plan.places().flat_map(of).reduce(f64::max)?;
    let claim = format!("in a row, {benchmark}, at best: gains {expected} %");
    let because = if benchmark == KernelRead { PROGRAMS } else { "the CPU time of a read" };
    Some(near("Fig. 3.31-3.38", claim, expected, ours, because))
}
