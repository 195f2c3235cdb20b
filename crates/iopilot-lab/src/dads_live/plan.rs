//! [`DadsLivePlan`]: the disk, the rows of benchmarks, and the autopilot's settings.

use super::benchmark::{Benchmark, BenchmarkLoad};
use std::time::Duration;

/// The plan of a run.
pub(super) struct DadsLivePlan {
    pub(super) disk: &'static str,
    pub(super) size: u64,
    pub(super) depth: u32,
    /// The autopilot's candidates, and the schedulers that its flights start from.
    pub(super) schedulers: &'static [&'static str],
    pub(super) from: &'static [&'static str],
    pub(super) benchmarks: &'static [Benchmark],
    pub(super) load: BenchmarkLoad,
    /// A row of other benchmarks, each of which is fastest under a different scheduler; and the schedulers its flights
    /// start from.
    pub(super) mixed: &'static [Benchmark],
    pub(super) mixed_load: BenchmarkLoad,
    pub(super) mixed_from: &'static [&'static str],
    /// The time between two checks of the autopilot.
    pub(super) interval: Duration,
    /// The least number of requests of a trial.
    pub(super) trial_requests: u32,
}

impl DadsLivePlan {
    pub(super) fn new(quick: bool) -> Self {
        let full = Self {
            disk: "hd-500-16",
            size: 4 << 30,
            depth: 4,
            // With default tunables, bfq takes slow readers for interactive ones and idles for none of them, or idles
            // for all. It is chance which (see docs/explanation/autopilot.md). With strict guarantees it idles for each
            // queue that it serves.
            schedulers: &["none", "mq-deadline", "kyber", "bfq", "bfq:strict_guarantees=1"],
            from: &["none", "mq-deadline", "kyber", "bfq"],
            benchmarks: &Benchmark::ALL,
            load: BenchmarkLoad { processes: 8, share: 0.9 },
            mixed: &[Benchmark::Strided8, Benchmark::Random],
            mixed_load: BenchmarkLoad { processes: 8, share: 1.0 },
            mixed_from: &["mq-deadline", "bfq"],
            interval: Duration::from_secs(1),
            trial_requests: 8000,
        };
        if !quick {
            return full;
        }
        let benchmarks = &[Benchmark::Ior, Benchmark::Tac];
        Self {
            size: 1 << 30,
            schedulers: &["none", "bfq"],
            from: &["none", "bfq"],
            benchmarks,
            load: BenchmarkLoad { share: 0.1, ..full.load },
            mixed_load: BenchmarkLoad { share: 0.1, ..full.mixed_load },
            mixed_from: &["bfq"],
            interval: Duration::from_millis(500),
            ..full
        }
    }
}
