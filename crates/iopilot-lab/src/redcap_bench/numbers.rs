//! [`StatedGain`]: a gain that the thesis states.

use super::results::{BenchResults, PlanCell};
use super::run::BenchmarkMix;
use crate::Claim;
use crate::gf::GfBenchmark;

/// How much a gain may differ, in percentage points.
const NEAR: f64 = 10.0;

/// The number of processes that a gain is stated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessCount {
    /// This number.
    Processes(u32),
    /// "Up to": the best of all numbers.
    Best,
    /// The worst of all numbers.
    Worst,
}

/// The quantity that is gained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Time,
    IoTime,
    TimeInARow(GfBenchmark),
}

/// How much REDCAP shortens a load, in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatedGain {
    source: &'static str,
    load: BenchmarkMix,
    place: PlanCell,
    at: ProcessCount,
    gain: f64,
    of: Of,
}

impl StatedGain {
    /// A gain of application time, from section `source`.
    pub(crate) const fn new(
        source: &'static str,
        load: BenchmarkMix,
        place: PlanCell,
        at: ProcessCount,
        gain: f64,
    ) -> Self {
        Self { source, load, place, at, gain, of: Of::Time }
    }

    /// The gain of a benchmark alone.
    pub(crate) const fn alone(
        source: &'static str,
        benchmark: GfBenchmark,
        place: PlanCell,
        at: ProcessCount,
        gain: f64,
    ) -> Self {
        Self::new(source, BenchmarkMix::Alone(benchmark), place, at, gain)
    }

    /// The gain of a benchmark in a row.
    pub(crate) const fn in_a_row(
        source: &'static str,
        benchmark: GfBenchmark,
        place: PlanCell,
        at: ProcessCount,
        gain: f64,
    ) -> Self {
        Self { of: Of::TimeInARow(benchmark), ..Self::new(source, BenchmarkMix::InARow, place, at, gain) }
    }

    /// The same number as a gain of I/O time.
    pub(crate) const fn io(self) -> Self {
        Self { of: Of::IoTime, ..self }
    }

    /// The disk and the scheduler.
    pub(crate) const fn place(&self) -> PlanCell {
        self.place
    }

    /// The load.
    pub(crate) const fn load(&self) -> BenchmarkMix {
        self.load
    }

    /// The claim that our gain is near. `None` if that case was not run.
    pub(crate) fn claim(&self, results: &BenchResults, because: &str) -> Option<Claim> {
        let &Self { source, load, place, at, gain, of } = self;
        let ours = |processes| match of {
            Of::Time => results.gain(place, load, processes),
            Of::IoTime => results.io_gain(place, load, processes),
            Of::TimeInARow(benchmark) => results.gain_in_a_row(place, benchmark, processes),
        };
        let all = results.plan.counts(load).iter().filter_map(|&processes| ours(processes));
        let ours = match at {
            ProcessCount::Processes(processes) => ours(processes),
            ProcessCount::Best => all.reduce(f64::max),
            ProcessCount::Worst => all.reduce(f64::min),
        }?;
        let at = match at {
            ProcessCount::Processes(1) => "1 process".to_owned(),
            ProcessCount::Processes(n) => format!("{n} processes"),
            ProcessCount::Best => "at best".to_owned(),
            ProcessCount::Worst => "at worst".to_owned(),
        };
        let what = match of {
            Of::TimeInARow(benchmark) => format!("in a row, {benchmark}"),
            Of::Time | Of::IoTime => load.to_string(),
        };
        let time = if of == Of::IoTime { "of I/O time" } else { "" };
        let claim = format!("{what}, {}, {at}: gains {gain} % {time}", results.plan.name(place));
        Some(near(source, claim.trim_end(), gain, ours, because))
    }
}

/// A claim that a gain in percent is met within some points.
pub(crate) fn near(source: &str, claim: impl Into<String>, expected: f64, ours: f64, because: &str) -> Claim {
    let goal = format!("within {NEAR} points");
    Claim::new(source, claim, goal, format!("{ours:.1} %"), (ours - expected).abs() <= NEAR, because)
}
