//! Which of several runs is best.

use crate::report::{RunReport, Verdict};
use iopilot_workload::Workload;
use iopilot_workload::replay::ReplayMode;

/// Differences below this share are no difference.
const TIE: f64 = 0.01;

/// What makes a run better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// For workloads that issue as fast as they are served.
    Throughput,
    /// For processes that wait and think. Mean response time misleads there: it counts background writes, which nobody
    /// waits for, like any other request (Ganger ch. 2, 7).
    Waiting,
    /// For open arrivals; its sum is the thesis' total service time (GF 4.2).
    MeanResponse,
}

impl Measure {
    /// What makes one run of `workload` better than another.
    pub(crate) fn of(workload: &Workload) -> Self {
        match workload {
            Workload::Trace(trace) => match trace.mode() {
                ReplayMode::Open => Self::MeanResponse,
                ReplayMode::Closed => Self::Throughput,
                ReplayMode::Dependent if trace.has_waiters() => Self::Waiting,
                ReplayMode::Dependent => Self::MeanResponse,
            },
            Workload::Fio { .. } => Self::Throughput,
            Workload::Ganger { .. } => Self::MeanResponse,
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Throughput => "throughput_mb_s",
            Self::Waiting => "critical_response_ms.mean",
            Self::MeanResponse => "response_ms.mean",
        }
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Throughput => ("throughput", "more"),
            Self::Waiting => ("the time that processes wait", "less"),
            Self::MeanResponse => ("mean response time", "less"),
        }
    }

    fn value(self, run: &RunReport) -> f64 {
        match self {
            Self::Throughput => run.throughput_mb_s,
            Self::Waiting => run.critical_response_ms.mean,
            Self::MeanResponse => run.response_ms.mean,
        }
    }

    /// By how many percent of `b`'s value `a` is better.
    fn gain(self, a: &RunReport, b: &RunReport) -> f64 {
        let (a, b) = (self.value(a), self.value(b));
        match self {
            _ if b == 0.0 => 0.0,
            Self::Throughput => 100.0 * (a / b - 1.0),
            Self::Waiting | Self::MeanResponse => 100.0 * (1.0 - a / b),
        }
    }
}

impl Verdict {
    /// Judges `runs` by `measure`.
    pub(crate) fn of(runs: &[RunReport], measure: Measure) -> Self {
        let mut ranked: Vec<&RunReport> = runs.iter().collect();
        // Stable: of equals the first asked for is best.
        ranked.sort_by(|a, b| measure.gain(b, a).total_cmp(&measure.gain(a, b)));
        let (best, others) = match ranked.split_first() {
            Some((&best, others)) => (Some(best), others),
            None => (None, &ranked[..]),
        };
        let gain = |other: Option<&&RunReport>| match (best, other) {
            (Some(best), Some(other)) => measure.gain(best, other),
            _ => 0.0,
        };
        Self {
            best: best.map(|b| b.scheduler.clone()).unwrap_or_default(),
            measure: measure.key().to_owned(),
            better_than_second_percent: gain(others.first()),
            better_than_worst_percent: gain(others.last()),
            text: match best {
                Some(best) => sentence(best, others, measure) + &soonest(best, others, measure),
                None => "Nothing was run.".to_owned(),
            },
        }
    }
}

fn sentence(best: &RunReport, others: &[&RunReport], measure: Measure) -> String {
    let (noun, than) = measure.words();
    let Some(worst) = others.last() else {
        return format!("Only {} was run.", best.scheduler);
    };
    let close = |run: &&&RunReport| measure.gain(best, run) <= 100.0 * TIE;
    let ties: Vec<&str> = others.iter().filter(close).map(|r| r.scheduler.as_str()).collect();
    if ties.len() == others.len() {
        return format!(
            "All are within {:.0} % of each other by {noun}: the scheduler does not matter here.",
            100.0 * TIE
        );
    }
    let lead = match ties.len() {
        0 => format!("{} is best by {noun}", best.scheduler),
        1..=3 => {
            let (last, before) = ties.split_last().map_or(("", &[][..]), |(last, before)| (*last, before));
            let first: Vec<&str> = std::iter::once(best.scheduler.as_str()).chain(before.iter().copied()).collect();
            format!("{} and {last} are best by {noun}", first.join(", "))
        }
        n => format!("{} and {n} others are best by {noun}", best.scheduler),
    };
    let compared = |other: &RunReport| format!("{:.1} % {than} than {}", measure.gain(best, other), other.scheduler);
    match others.iter().find(|r| !close(r)) {
        Some(next) if next.scheduler != worst.scheduler => format!("{lead}: {}, {}.", compared(next), compared(worst)),
        _ => format!("{lead}: {}.", compared(worst)),
    }
}

/// Where processes wait for each other or unequally long, the one with the least waiting need not end first: says so.
fn soonest(best: &RunReport, others: &[&RunReport], measure: Measure) -> String {
    match others.iter().min_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s)) {
        Some(first) if measure == Measure::Waiting && first.elapsed_s < best.elapsed_s * (1.0 - TIE) => {
            format!(
                " {} ends soonest, after {:.1} s against {:.1} s.",
                first.scheduler, first.elapsed_s, best.elapsed_s
            )
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Recorder;

    fn run(name: &str, throughput_mb_s: f64, response: f64) -> RunReport {
        let mut run = Recorder::new(false, false).finish(name.to_owned());
        run.throughput_mb_s = throughput_mb_s;
        run.response_ms.mean = response;
        run
    }

    #[test]
    fn names_the_best_and_by_how_much() {
        let runs = [run("noop", 5.0, 20.0), run("cfq", 10.0, 10.0), run("deadline", 8.0, 12.5)];
        let verdict = Verdict::of(&runs, Measure::Throughput);
        assert_eq!((verdict.best.as_str(), verdict.better_than_second_percent), ("cfq", 25.0));
        assert_eq!(verdict.text, "cfq is best by throughput: 25.0 % more than deadline, 100.0 % more than noop.");
        let verdict = Verdict::of(&runs, Measure::MeanResponse);
        assert_eq!(
            verdict.text,
            "cfq is best by mean response time: 20.0 % less than deadline, 50.0 % less than noop."
        );
    }

    #[test]
    fn says_who_ends_soonest_where_that_is_another() {
        let run = |name: &str, wait: f64, elapsed_s: f64| {
            let mut run = run(name, 1.0, wait);
            run.critical_response_ms.mean = wait;
            run.elapsed_s = elapsed_s;
            run
        };
        let runs = [run("cscan", 10.0, 20.0), run("cfq", 12.5, 15.0)];
        let verdict = Verdict::of(&runs, Measure::Waiting);
        assert_eq!(
            verdict.text,
            "cscan is best by the time that processes wait: 20.0 % less than cfq. cfq ends soonest, after 15.0 s against 20.0 s."
        );
    }

    #[test]
    fn lists_equals_as_a_sentence_does() {
        let runs = [run("a", 1.0, 10.0), run("b", 1.0, 10.01), run("c", 1.0, 10.02), run("d", 1.0, 20.0)];
        let text = Verdict::of(&runs, Measure::MeanResponse).text;
        assert!(text.starts_with("a, b and c are best by mean response time: 50.0 % less than d"), "{text}");
    }

    #[test]
    fn does_not_crown_a_scheduler_that_is_no_better() {
        let verdict = Verdict::of(&[run("noop", 1.0, 10.0), run("cfq", 1.0, 10.05)], Measure::MeanResponse);
        assert!(verdict.text.contains("does not matter"), "{}", verdict.text);
        let runs = [run("noop", 1.0, 10.0), run("cfq", 1.0, 10.05), run("as", 1.0, 20.0)];
        let verdict = Verdict::of(&runs, Measure::MeanResponse);
        assert!(verdict.text.starts_with("noop and cfq are best"), "{}", verdict.text);
    }
}
