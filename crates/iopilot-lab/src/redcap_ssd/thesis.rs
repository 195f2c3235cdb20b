//! The numbers of GF 3.6.4.

use super::{CFQ, NOOP, SSD_64, SSD_160};
use crate::gf::GfBenchmark::{self, Ior, KernelRead, Strided8, Strided512, Tac};
use crate::redcap_bench::{BenchmarkMix, ProcessCount, StatedGain};

/// Benchmarks alone.
pub(super) const ALONE: [StatedGain; 28] = [
    StatedGain::alone("Fig. 3.23", Tac, (SSD_160, CFQ), ProcessCount::Best, 60.0),
    StatedGain::alone("Fig. 3.24", Tac, (SSD_160, NOOP), ProcessCount::Best, 80.0),
    StatedGain::alone("Fig. 3.27", Tac, (SSD_64, CFQ), ProcessCount::Best, 60.0),
    StatedGain::alone("Fig. 3.28", Tac, (SSD_64, NOOP), ProcessCount::Best, 80.0),
    StatedGain::alone("Fig. 3.25", Tac, (SSD_160, CFQ), ProcessCount::Best, 80.0).io(),
    StatedGain::alone("Fig. 3.26", Tac, (SSD_160, NOOP), ProcessCount::Best, 80.0).io(),
    StatedGain::alone("Fig. 3.29", Tac, (SSD_64, CFQ), ProcessCount::Best, 80.0).io(),
    StatedGain::alone("Fig. 3.30", Tac, (SSD_64, NOOP), ProcessCount::Best, 80.0).io(),
    StatedGain::alone("Fig. 3.23", Strided512, (SSD_160, CFQ), ProcessCount::Worst, -38.0),
    StatedGain::alone("Fig. 3.25", Strided512, (SSD_160, CFQ), ProcessCount::Worst, -22.0).io(),
    StatedGain::alone("Fig. 3.23", Strided8, (SSD_160, CFQ), ProcessCount::Best, 62.5),
    StatedGain::alone("Fig. 3.24", Strided8, (SSD_160, NOOP), ProcessCount::Best, 70.4),
    StatedGain::alone("Fig. 3.27", Strided8, (SSD_64, CFQ), ProcessCount::Best, 64.2),
    StatedGain::alone("Fig. 3.28", Strided8, (SSD_64, NOOP), ProcessCount::Best, 71.5),
    StatedGain::alone("Fig. 3.23", KernelRead, (SSD_160, CFQ), ProcessCount::Best, 26.8),
    StatedGain::alone("Fig. 3.24", KernelRead, (SSD_160, NOOP), ProcessCount::Best, 17.7),
    StatedGain::alone("Fig. 3.27", KernelRead, (SSD_64, CFQ), ProcessCount::Best, 27.9),
    StatedGain::alone("Fig. 3.28", KernelRead, (SSD_64, NOOP), ProcessCount::Best, 18.5),
    StatedGain::alone("Fig. 3.25", KernelRead, (SSD_160, CFQ), ProcessCount::Best, 74.5).io(),
    StatedGain::new("3.6.4", BenchmarkMix::OneProgram, (SSD_160, CFQ), ProcessCount::Best, 59.0),
    StatedGain::new("3.6.4", BenchmarkMix::OneProgram, (SSD_160, NOOP), ProcessCount::Best, 68.0),
    StatedGain::new("3.6.4", BenchmarkMix::OneProgram, (SSD_160, CFQ), ProcessCount::Best, 76.0).io(),
    StatedGain::new("3.6.4", BenchmarkMix::OneProgram, (SSD_160, NOOP), ProcessCount::Best, 77.0).io(),
    StatedGain::alone("Fig. 3.23", Ior, (SSD_160, CFQ), ProcessCount::Worst, -5.6),
    StatedGain::alone("Fig. 3.24", Ior, (SSD_160, NOOP), ProcessCount::Worst, -5.6),
    StatedGain::alone("Fig. 3.27", Ior, (SSD_64, CFQ), ProcessCount::Worst, -5.6),
    StatedGain::alone("Fig. 3.25", Ior, (SSD_160, CFQ), ProcessCount::Worst, 0.0).io(),
    StatedGain::alone("Fig. 3.26", Ior, (SSD_160, NOOP), ProcessCount::Worst, 0.0).io(),
];

/// In a row, the best over both disks and schedulers.
pub(super) const ROW: [(GfBenchmark, f64); 3] = [(Tac, 80.0), (Strided8, 71.0), (KernelRead, 28.0)];

/// All at the same time.
pub(super) const AT_ONCE: [StatedGain; 5] = [
    StatedGain::new("Fig. 3.39", BenchmarkMix::AtOnce, (SSD_160, CFQ), ProcessCount::Best, 88.0),
    StatedGain::new("Fig. 3.39", BenchmarkMix::AtOnce, (SSD_160, CFQ), ProcessCount::Processes(4), 63.6),
    StatedGain::new("Fig. 3.39", BenchmarkMix::AtOnce, (SSD_64, CFQ), ProcessCount::Processes(4), 62.0),
    StatedGain::new("Fig. 3.39", BenchmarkMix::AtOnce, (SSD_160, NOOP), ProcessCount::Best, 87.0),
    StatedGain::new("Fig. 3.39", BenchmarkMix::AtOnce, (SSD_160, NOOP), ProcessCount::Worst, 87.0),
];

/// IOR on the SSD-160 under Noop with 32 processes: seconds with REDCAP and without.
pub(super) const IOR: (f64, f64) = (170.19, 163.36);

/// A row of Tables 3.6 and 3.7: 512k-SR on the SSD-160.
pub(super) struct TableRow {
    pub(super) scheduler: usize,
    pub(super) redcap: bool,
    /// Application time and I/O time in seconds, for [`TABLE_PROCESSES`].
    pub(super) application: [f64; 6],
    pub(super) io: [f64; 6],
}

pub(super) const TABLE_PROCESSES: [u32; 6] = [1, 2, 4, 8, 16, 32];

pub(super) const TABLES: [TableRow; 4] = [
    TableRow {
        scheduler: CFQ,
        redcap: true,
        application: [3.11, 6.44, 11.75, 22.53, 45.08, 91.37],
        io: [2.31, 4.42, 8.21, 15.84, 31.62, 63.44],
    },
    TableRow {
        scheduler: CFQ,
        redcap: false,
        application: [2.37, 4.66, 9.15, 18.04, 36.03, 72.84],
        io: [1.89, 3.81, 7.62, 15.18, 30.33, 60.65],
    },
    TableRow {
        scheduler: NOOP,
        redcap: true,
        application: [3.10, 4.76, 8.89, 17.20, 34.12, 67.61],
        io: [2.31, 4.14, 7.84, 15.25, 30.41, 60.41],
    },
    TableRow {
        scheduler: NOOP,
        redcap: false,
        application: [2.35, 4.10, 8.14, 16.13, 32.05, 63.95],
        io: [1.88, 3.77, 7.63, 15.26, 30.48, 60.97],
    },
];
