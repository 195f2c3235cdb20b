//! The claims of GF 2.5.1 about Figures 2.6 to 2.10.

use super::{CACHES, Results};
use crate::Claim;
use crate::gf::GfBenchmark;

/// How much a gain may differ, in percentage points.
const NEAR: f64 = 10.0;
/// Why an algorithm that estimates leaves a cache on that loses.
const ESTIMATE: &str = "v1 takes a hit to be worth a miss (eq. 2.6), where the drive would have read ahead by itself";

/// The known reasons why a benchmark comes out differently.
const fn cause(benchmark: GfBenchmark) -> &'static str {
    match benchmark {
        GfBenchmark::Tac => "TAC reads 8 KiB at a time, which gains more than the 64 KiB of GF 2.4.3",
        GfBenchmark::Strided8 => "8k-SR stands for 4k-SR, and the algorithm changes less often here",
        GfBenchmark::KernelRead => "the files of the source tree are placed differently",
        GfBenchmark::Ior | GfBenchmark::Strided512 => ESTIMATE,
    }
}

/// The index of a cache in [`CACHES`].
fn cache(name: &str) -> usize {
    CACHES.iter().position(|cache| *cache == name).unwrap_or(0)
}

/// A number of the text: the gain of a cache for a number of processes.
struct Number(&'static str, GfBenchmark, &'static str, u32, f64);

const NUMBERS: [Number; 11] = [
    Number("Fig. 2.6", GfBenchmark::KernelRead, "64x128k", 32, 79.0),
    Number("Fig. 2.6", GfBenchmark::KernelRead, "32x256k", 32, 72.0),
    Number("Fig. 2.6", GfBenchmark::KernelRead, "256x32k", 32, 54.0),
    Number("Fig. 2.6", GfBenchmark::KernelRead, "256x32k", 1, 0.0),
    Number("Fig. 2.8", GfBenchmark::Tac, "32x256k", 4, 40.0),
    Number("Fig. 2.8", GfBenchmark::Tac, "64x128k", 4, 16.0),
    Number("Fig. 2.8", GfBenchmark::Tac, "256x32k", 4, 0.0),
    Number("Fig. 2.9", GfBenchmark::Strided8, "128x64k", 1, 45.0),
    Number("Fig. 2.9", GfBenchmark::Strided8, "64x128k", 1, 40.0),
    Number("Fig. 2.9", GfBenchmark::Strided8, "64x128k", 32, 13.0),
    Number("Fig. 2.10", GfBenchmark::Strided512, "64x128k", 1, -3.6),
];

pub(super) fn of(results: &Results) -> Vec<Claim> {
    let mut claims: Vec<Claim> = NUMBERS.iter().filter_map(|number| of_number(results, number)).collect();
    let gains = |benchmark| {
        let of = move |&p: &u32| (0..CACHES.len()).filter_map(move |c| Some((p, c, results.gain(benchmark, p, c)?)));
        results.processes.iter().flat_map(of).collect::<Vec<_>>()
    };
    let worst = |benchmark| gains(benchmark).iter().map(|gain| gain.2).fold(f64::INFINITY, f64::min);
    let largest = |benchmark| gains(benchmark).iter().map(|gain| gain.2.abs()).fold(0.0, f64::max);
    let lkr = worst(GfBenchmark::KernelRead);
    claims.push(Claim::new(
        "Fig. 2.6",
        "LKR is never slower with REDCAP",
        "worst gain at least -1 %",
        format!("{lkr:.1} %"),
        lkr >= -1.0,
        ESTIMATE,
    ));
    let ior = largest(GfBenchmark::Ior);
    claims.push(Claim::new(
        "Fig. 2.7",
        "IOR: about nothing, in either direction",
        "within 5 %",
        format!("{ior:.1} % at most"),
        ior <= 5.0,
        ESTIMATE,
    ));
    let strided = worst(GfBenchmark::Strided512);
    claims.push(Claim::new(
        "Fig. 2.10",
        "512k-SR loses 3.6 % at most",
        "no less than -5 %",
        format!("{strided:.1} %"),
        strided >= -5.0,
        ESTIMATE,
    ));
    let off: Vec<u64> = (0..CACHES.len())
        .filter_map(|c| results.at(GfBenchmark::Strided512, 1, Some(c)))
        .map(|cell| cell.off_at)
        .collect();
    let first = off.iter().copied().max().unwrap_or(0);
    claims.push(Claim::new(
        "2.5.1",
        "512k-SR turns the cache off at the first chance: two bad checks, after 100 reads and 50 more",
        "read 150",
        off.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        off.iter().all(|&at| at == 150) && first > 0,
        "a check was good by chance",
    ));
    claims
}

fn of_number(results: &Results, number: &Number) -> Option<Claim> {
    let &Number(source, benchmark, name, processes, expected) = number;
    let ours = results.gain(benchmark, processes, cache(name))?;
    let noun = if processes == 1 { "process" } else { "processes" };
    Some(Claim::new(
        source,
        format!("{benchmark}, {processes} {noun}, {name}: gains {expected} %"),
        format!("within {NEAR} points"),
        format!("{ours:.1} %"),
        (ours - expected).abs() <= NEAR,
        cause(benchmark),
    ))
}
