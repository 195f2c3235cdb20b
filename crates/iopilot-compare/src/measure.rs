//! [`Measure`]: the quantity by which runs are compared.

use iopilot_block::{InputError, suggest};
use iopilot_sim::{Range, RunReport};
use iopilot_workload::Workload;
use iopilot_workload::replay::ReplayMode;
use std::fmt;
use std::str::FromStr;

/// A relative difference up to this does not count.
pub(crate) const TIE: f64 = 0.01;

/// The quantity by which runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// For workloads that issue as fast as they are served.
    Throughput,
    /// For processes that wait and think. The mean response time misleads there, because it counts background writes, for
    /// which nobody waits, like any other request (Ganger ch. 2, 7).
    Waiting,
    /// The mean over processes, whether they have few requests or many. It decides only between runs that are equal by another
    /// measure.
    ProcessWaiting,
    /// For tasks that run on CPUs: the mean time until a user's task is done (Ganger 4.2).
    TaskTime,
    /// For programs without tasks.
    Elapsed,
    /// The 99th percentile of the response time of requests that a process waits for; of all requests if no process waits.
    TailWaiting,
    /// For open arrivals. The sum of the response times is the thesis' total service time (GF 4.2).
    MeanResponse,
}

impl Measure {
    const ALL: [Self; 7] = [
        Self::Throughput,
        Self::Waiting,
        Self::ProcessWaiting,
        Self::TaskTime,
        Self::Elapsed,
        Self::TailWaiting,
        Self::MeanResponse,
    ];

    /// Its name as an objective.
    fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Waiting => "waiting",
            Self::ProcessWaiting => "process-waiting",
            Self::TaskTime => "task-time",
            Self::Elapsed => "elapsed",
            Self::TailWaiting => "p99-waiting",
            Self::MeanResponse => "response-time",
        }
    }

    /// The measure for `runs` of `workload`.
    pub fn of(workload: &Workload, runs: &[RunReport]) -> Self {
        if !runs.is_empty() && runs.iter().all(|run| run.task_s_mean.is_some()) {
            return Self::TaskTime;
        }
        match workload {
            Workload::Trace(trace) => match trace.mode() {
                ReplayMode::Open => Self::MeanResponse,
                ReplayMode::Closed => Self::Throughput,
                ReplayMode::Dependent if trace.has_waiters() => Self::Waiting,
                ReplayMode::Dependent => Self::MeanResponse,
            },
            Workload::Fio { .. } => Self::Throughput,
            Workload::Ganger { .. } => Self::MeanResponse,
            Workload::BuiltinPrograms(_) | Workload::UserPrograms { .. } => Self::Elapsed,
        }
    }

    /// The measure with this key in reports.
    pub(crate) fn with_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.key() == key)
    }

    /// Its key in reports.
    pub fn key(self) -> &'static str {
        match self {
            Self::Throughput => "throughput_mb_s",
            Self::Waiting => "wait_ms_mean",
            Self::ProcessWaiting => "process_wait_ms",
            Self::TaskTime => "task_s_mean",
            Self::Elapsed => "elapsed_s",
            Self::TailWaiting => "wait_ms_p99",
            Self::MeanResponse => "response_ms.mean",
        }
    }

    /// Its name in a sentence, and how a better value compares with a worse one.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Throughput => ("throughput", "more"),
            Self::Waiting | Self::ProcessWaiting => ("the time that processes wait", "less"),
            Self::TaskTime => ("the time that tasks take", "less"),
            Self::Elapsed => ("the time until all have ended", "less"),
            Self::TailWaiting => ("the 99th percentile of waiting", "less"),
            Self::MeanResponse => ("mean response time", "less"),
        }
    }

    /// The measure of `run`.
    pub fn value(self, run: &RunReport) -> f64 {
        match self {
            Self::Throughput => run.throughput_mb_s,
            Self::Waiting => run.wait_ms_mean,
            Self::ProcessWaiting => run.process_wait_ms,
            Self::TaskTime => run.task_s_mean.unwrap_or(f64::NAN),
            Self::Elapsed => run.elapsed_s,
            Self::TailWaiting => run.wait_ms_p99(),
            Self::MeanResponse => run.response_ms.mean,
        }
    }

    /// The range of the measure in the replays of `run`.
    pub fn range(self, run: &RunReport) -> Range {
        let of_replays = run.spread.and_then(|spread| match self {
            Self::Throughput => Some(spread.throughput_mb_s),
            Self::Waiting => Some(spread.wait_ms_mean),
            Self::ProcessWaiting => Some(spread.process_wait_ms),
            Self::TaskTime => spread.task_s_mean,
            Self::Elapsed => Some(spread.elapsed_s),
            Self::TailWaiting => Some(spread.wait_ms_p99),
            Self::MeanResponse => Some(spread.response_ms_mean),
        });
        let value = self.value(run);
        of_replays.unwrap_or(Range { min: value, max: value })
    }

    /// Whether a larger value is better.
    pub fn is_more_better(self) -> bool {
        self == Self::Throughput
    }

    /// Whether the replays of `a` and `b` overlap.
    pub fn overlap(self, a: &RunReport, b: &RunReport) -> bool {
        let (x, y) = (self.range(a), self.range(b));
        x.min <= y.max && y.min <= x.max
    }

    /// Whether `a` and `b` are equal: they differ by less than a tie, or their replays overlap.
    pub(crate) fn is_tie(self, a: &RunReport, b: &RunReport) -> bool {
        self.gain(a, b).abs() <= 100.0 * TIE || self.overlap(a, b)
    }

    /// How much better `a` is than `b`, in percent of `b`'s value.
    pub fn gain(self, a: &RunReport, b: &RunReport) -> f64 {
        let (a, b) = (self.value(a), self.value(b));
        match self {
            _ if b == 0.0 => 0.0,
            Self::Throughput => 100.0 * (a / b - 1.0),
            _ => 100.0 * (1.0 - a / b),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Measure {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        Self::ALL.into_iter().find(|measure| measure.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            let near = suggest(text, names.iter().copied()).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            InputError::new("objective", text, format!("one of {}{near}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_sim::Spread;

    #[test]
    fn means_of_tasks_have_a_spread_of_their_own() {
        let run = |task: f64| RunReport { elapsed_s: 59.0, task_s_mean: Some(task), ..RunReport::default() };
        let runs = [run(0.023), run(0.024), run(0.025)];
        let middle = RunReport { spread: Spread::of(&runs), ..run(0.024) };
        assert_eq!(Measure::TaskTime.range(&middle), Range { min: 0.023, max: 0.025 });
        assert!(!Measure::TaskTime.is_tie(&middle, &run(0.055)));
        let some = Spread::of(&[run(1.0), RunReport::default()]).unwrap();
        assert_eq!(some.task_s_mean, None, "not all runs have tasks");
    }

    #[test]
    fn a_measure_is_found_by_its_key() {
        assert!(Measure::ALL.iter().all(|measure| Measure::with_key(measure.key()) == Some(*measure)));
        assert!(Measure::ALL.iter().all(|measure| measure.to_string().parse() == Ok(*measure)));
        let error = "thruput".parse::<Measure>().unwrap_err().to_string();
        assert!(error.contains("throughput") && !error.contains('\n'), "{error}");
    }
}
