//! The numbers of GF 3.5.2.

use super::{AGED, AS, CFQ, CLEAN};
use crate::gf::GfBenchmark::{self, Ior, KernelRead, Strided8, Strided512, Tac};
use crate::redcap_bench::{PlanCell, ProcessCount, StatedGain};

const P1: ProcessCount = ProcessCount::Processes(1);
const P8: ProcessCount = ProcessCount::Processes(8);
const P32: ProcessCount = ProcessCount::Processes(32);

/// Benchmarks alone.
pub(super) const ALONE: [StatedGain; 30] = [
    StatedGain::alone("Fig. 3.9", Tac, (CLEAN, CFQ), ProcessCount::Best, 24.7),
    StatedGain::alone("Fig. 3.10", Tac, (CLEAN, AS), ProcessCount::Best, 29.1),
    StatedGain::alone("Fig. 3.11", Tac, (AGED, CFQ), ProcessCount::Best, 28.4),
    StatedGain::alone("Fig. 3.12", Tac, (AGED, AS), ProcessCount::Best, 32.5),
    StatedGain::alone("Fig. 3.9", Strided512, (CLEAN, CFQ), ProcessCount::Worst, 0.0),
    StatedGain::alone("Fig. 3.10", Strided512, (CLEAN, AS), ProcessCount::Processes(2), -2.0),
    StatedGain::alone("Fig. 3.11", Strided512, (AGED, CFQ), P1, -2.0),
    StatedGain::alone("Fig. 3.12", Strided512, (AGED, AS), P1, -2.0),
    StatedGain::alone("Fig. 3.9", Strided8, (CLEAN, CFQ), ProcessCount::Best, 36.8),
    StatedGain::alone("Fig. 3.10", Strided8, (CLEAN, AS), ProcessCount::Best, 37.5),
    StatedGain::alone("Fig. 3.11", Strided8, (AGED, CFQ), ProcessCount::Best, 44.5),
    StatedGain::alone("Fig. 3.12", Strided8, (AGED, AS), ProcessCount::Best, 40.5),
    StatedGain::alone("Fig. 3.9", KernelRead, (CLEAN, CFQ), P32, 79.2),
    StatedGain::alone("Fig. 3.10", KernelRead, (CLEAN, AS), P8, 60.5),
    StatedGain::alone("Fig. 3.11", KernelRead, (AGED, CFQ), P32, 63.0),
    StatedGain::alone("Fig. 3.12", KernelRead, (AGED, AS), P8, 54.8),
    StatedGain::alone("Fig. 3.9", Ior, (CLEAN, CFQ), ProcessCount::Worst, 0.0),
    StatedGain::alone("Fig. 3.10", Ior, (CLEAN, AS), P1, -15.6),
    StatedGain::alone("Fig. 3.10", Ior, (CLEAN, AS), P8, -4.3),
    StatedGain::alone("Fig. 3.10", Ior, (CLEAN, AS), ProcessCount::Processes(16), -8.9),
    StatedGain::alone("Fig. 3.10", Ior, (CLEAN, AS), P32, -8.2),
    StatedGain::alone("Fig. 3.11", Ior, (AGED, CFQ), ProcessCount::Worst, 0.0),
    StatedGain::alone("Fig. 3.12", Ior, (AGED, AS), P1, -13.6),
    StatedGain::alone("Fig. 3.12", Ior, (AGED, AS), P8, -3.7),
    StatedGain::alone("Fig. 3.12", Ior, (AGED, AS), ProcessCount::Processes(16), -4.2),
    StatedGain::alone("Fig. 3.12", Ior, (AGED, AS), P32, -1.8),
    StatedGain::alone("Fig. 3.13", Ior, (CLEAN, AS), P1, -2.6).io(),
    StatedGain::alone("Fig. 3.13", Ior, (CLEAN, AS), P32, -4.8).io(),
    StatedGain::alone("Fig. 3.14", Ior, (AGED, AS), P1, 6.0).io(),
    StatedGain::alone("Fig. 3.14", Ior, (AGED, AS), P32, 3.4).io(),
];

/// In a row, the best over both disks and schedulers.
pub(super) const ROW: [(GfBenchmark, f64); 3] = [(Tac, 32.7), (Strided8, 42.2), (KernelRead, 76.6)];

/// In a row, gains that the thesis attributes to the page cache.
pub(super) const ROW_PAGE_CACHE: [StatedGain; 6] = [
    StatedGain::in_a_row("Fig. 3.15", Strided512, (CLEAN, CFQ), P1, 50.0),
    StatedGain::in_a_row("Fig. 3.15", Strided8, (CLEAN, CFQ), P1, 5.0),
    StatedGain::in_a_row("Fig. 3.15", Ior, (CLEAN, CFQ), P1, 32.0),
    StatedGain::in_a_row("Fig. 3.16", Ior, (CLEAN, AS), P1, -12.0),
    StatedGain::in_a_row("Fig. 3.17", Ior, (AGED, CFQ), P1, 22.0),
    StatedGain::in_a_row("Fig. 3.18", Ior, (AGED, AS), P1, -7.7),
];

/// Table 3.4: seconds with REDCAP and without, for 1, 2 and 4 processes of each benchmark.
pub(super) const TABLE_3_4: [(PlanCell, [(f64, f64); 3]); 4] = [
    ((CLEAN, CFQ), [(1578.13, 6122.70), (4582.22, 17183.80), (11444.07, 22807.35)]),
    ((CLEAN, AS), [(910.31, 934.55), (1805.04, 2208.32), (3323.07, 4090.08)]),
    ((AGED, CFQ), [(1501.36, 6993.03), (5602.43, 16948.33), (12689.72, 28137.86)]),
    ((AGED, AS), [(879.05, 971.72), (4523.09, 5421.19), (8000.82, 9417.00)]),
];
/// The numbers of processes of its columns.
pub(super) const TABLE_3_4_PROCESSES: [u32; 3] = [1, 2, 4];
/// The share of reads for which the cache was on, on the clean disk, in percent.
pub(super) const ACTIVE: [(PlanCell, f64); 2] = [((CLEAN, CFQ), 92.0), ((CLEAN, AS), 91.0)];
