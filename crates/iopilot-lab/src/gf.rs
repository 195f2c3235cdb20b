//! The I/O-bound benchmarks of GF 2.4.3 and 3.4.2 (GF: González-Férez' thesis of 2012), as the block layer sees them.
//!
//! The block layer does not see what a program reads, because the kernel reads ahead of sequential accesses. The
//! windows are those of Linux 2.6.23: four pages at the start of a file, then twice as large each, up to 128 kB. The
//! second window is issued when the first has been read. Each later one is issued while the process waits for the
//! window before.

mod at_once;
mod layout;
mod pattern;
mod request;
mod source;
mod tree;

pub(crate) use at_once::BenchmarksAtOnce;
pub use source::BenchmarkSequence;

use std::fmt;

/// One of the benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GfBenchmark {
    /// `tac`: a file of 1 GB is read backwards, 8 kB at a time.
    Tac,
    /// 512 kB Strided Read: 4 kB are read and 512 kB left out, to the end of the file. This is done four times, each
    /// time beginning 4 kB further on.
    Strided512,
    /// 8 kB Strided Read: 4 kB are read and 8 kB left out.
    Strided8,
    /// Linux Kernel Read: `cat` of every file of a source tree, found by `find`.
    KernelRead,
    /// IOR Read: a file of 1 GB is read from its beginning, 64 kB at a time.
    Ior,
}

impl GfBenchmark {
    /// The benchmarks in the order in which they run on the clean file system (GF 3.4.2).
    pub const ALL: [Self; 5] = [Self::Tac, Self::Strided512, Self::Strided8, Self::KernelRead, Self::Ior];
}

impl fmt::Display for GfBenchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tac => "TAC",
            Self::Strided512 => "512k-SR",
            Self::Strided8 => "8k-SR",
            Self::KernelRead => "LKR",
            Self::Ior => "IOR",
        })
    }
}
