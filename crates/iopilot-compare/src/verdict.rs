//! Decides which of several runs is best.

use crate::comparison::Verdict;
use iopilot_sim::{Range, RunReport};
use iopilot_workload::Workload;
use iopilot_workload::replay::ReplayMode;

/// A relative difference up to this does not count.
const TIE: f64 = 0.01;
/// Among runs that are equal by the measure, waiting counts as longer beyond this ratio.
const WAITS_LONGER: f64 = 1.1;

/// The quantity by which runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// For workloads that issue as fast as they are served.
    Throughput,
    /// For processes that wait and think. The mean response time misleads there, because it counts background writes, for
    /// which nobody waits, like any other request (Ganger ch. 2, 7).
    Waiting,
    /// For processes that run on CPUs: the mean time until a user's task is done (Ganger 4.2).
    Elapsed,
    /// For open arrivals. The sum of the response times is the thesis' total service time (GF 4.2).
    MeanResponse,
}

impl Measure {
    /// The measure for `runs` of `workload`.
    pub(crate) fn of(workload: &Workload, runs: &[RunReport]) -> Self {
        if !runs.is_empty() && runs.iter().all(|run| tasks_take(run).is_some()) {
            return Self::Elapsed;
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
        [Self::Throughput, Self::Waiting, Self::Elapsed, Self::MeanResponse]
            .into_iter()
            .find(|measure| measure.key() == key)
    }

    fn key(self) -> &'static str {
        match self {
            Self::Throughput => "throughput_mb_s",
            Self::Waiting => "wait_ms_mean",
            Self::Elapsed => "elapsed_s",
            Self::MeanResponse => "response_ms.mean",
        }
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Throughput => ("throughput", "more"),
            Self::Waiting => ("the time that processes wait", "less"),
            Self::Elapsed => ("the time that tasks take", "less"),
            Self::MeanResponse => ("mean response time", "less"),
        }
    }

    /// The measure of `run`.
    pub(crate) fn value(self, run: &RunReport) -> f64 {
        match self {
            Self::Throughput => run.throughput_mb_s,
            Self::Waiting => run.wait_ms_mean,
            Self::Elapsed => tasks_take(run).unwrap_or(run.elapsed_s),
            Self::MeanResponse => run.response_ms.mean,
        }
    }

    /// The range of the measure in the replays of `run`.
    pub(crate) fn range(self, run: &RunReport) -> Range {
        let value = self.value(run);
        let only = Range { min: value, max: value };
        run.spread.map_or(only, |spread| match self {
            Self::Throughput => spread.throughput_mb_s,
            Self::Waiting => spread.wait_ms_mean,
            Self::Elapsed => spread.elapsed_s,
            Self::MeanResponse => spread.response_ms_mean,
        })
    }

    /// Whether `a` and `b` are equal: they differ by less than a tie, or their replays overlap.
    fn is_tie(self, a: &RunReport, b: &RunReport) -> bool {
        let (x, y) = (self.range(a), self.range(b));
        self.gain(a, b).abs() <= 100.0 * TIE || (x.min <= y.max && y.min <= x.max)
    }

    /// How much better `a` is than `b`, in percent of `b`'s value.
    fn gain(self, a: &RunReport, b: &RunReport) -> f64 {
        let (a, b) = (self.value(a), self.value(b));
        match self {
            _ if b == 0.0 => 0.0,
            Self::Throughput => 100.0 * (a / b - 1.0),
            Self::Waiting | Self::Elapsed | Self::MeanResponse => 100.0 * (1.0 - a / b),
        }
    }
}

/// The mean time of the tasks of a host in seconds; `None` if there are none.
pub(crate) fn tasks_take(run: &RunReport) -> Option<f64> {
    let tasks = &run.host.as_ref()?.tasks;
    (!tasks.is_empty()).then(|| tasks.iter().map(|task| task.elapsed_s).sum::<f64>() / tasks.len() as f64)
}

impl Verdict {
    /// Judges `runs` by `measure`. Runs that are equal by it are judged by how long processes wait.
    pub(crate) fn of(runs: &[RunReport], measure: Measure) -> Self {
        let mut ranked: Vec<&RunReport> = runs.iter().collect();
        // The sort is stable: among equals the first one of the request is best.
        ranked.sort_by(|a, b| measure.gain(b, a).total_cmp(&measure.gain(a, b)));
        let Some((&first, others)) = ranked.split_first() else {
            return Self::of_nothing(measure);
        };
        let equals: Vec<&RunReport> =
            std::iter::once(first).chain(others.iter().copied().filter(|run| measure.is_tie(first, run))).collect();
        let waiting = Waiting::beside(measure, runs);
        let all: Vec<&RunReport> = runs.iter().collect();
        let by_measure = |run: &RunReport| (measure.value(run), measure.range(run));
        let sooner = if measure == Measure::Waiting { ends_sooner(first, &all, by_measure) } else { None };
        let least_waiting = if sooner.is_some() { None } else { least_waiting(&equals, waiting) };
        // The run in which processes wait least may also end much later than others.
        let sooner_equal = least_waiting.and_then(|(least, _)| ends_sooner(least, &equals, |run| waiting.range(run)));
        let least = least_waiting.map(|(least, _)| least);
        let best = sooner.or(sooner_equal).or(least).unwrap_or(first);
        let mut text = sentence(&equals, others, measure, best.scheduler != first.scheduler);
        let but = |sooner: &RunReport, later: &RunReport| {
            format!(
                " But {sooner} finishes in {} s, {} in {} s: {sooner} is the better choice.",
                plain(sooner.elapsed_s),
                later.scheduler,
                plain(later.elapsed_s),
                sooner = sooner.scheduler,
            )
        };
        if let Some(sooner) = sooner {
            text += &but(sooner, first);
        } else if let Some((least, most)) = least_waiting {
            text += &format!(
                " Processes wait least under {}: {} ms for a request, {} ms under {}{}.",
                least.scheduler,
                plain(waiting.of(least)),
                plain(waiting.of(most)),
                most.scheduler,
                if waiting == Waiting::EachProcess { " (geometric mean over processes)" } else { "" }
            );
            text += &sooner_equal.map_or(String::new(), |sooner| but(sooner, least));
        } else {
            text += &soonest(best, others, measure);
        }
        let gain = |other: Option<&&RunReport>| other.map_or(0.0, |other| measure.gain(best, other));
        let equals = if sooner.is_some() { vec![best] } else { equals };
        Self {
            best: best.scheduler.clone(),
            measure: measure.key().to_owned(),
            better_than_second_percent: gain(others.first()),
            better_than_worst_percent: gain(others.last()),
            equals: equals.iter().map(|run| run.scheduler.clone()).collect(),
            text,
        }
    }

    fn of_nothing(measure: Measure) -> Self {
        Self {
            best: String::new(),
            measure: measure.key().to_owned(),
            better_than_second_percent: 0.0,
            better_than_worst_percent: 0.0,
            equals: Vec::new(),
            text: "Nothing was run.".to_owned(),
        }
    }
}

/// The waiting time that decides between runs that are equal by the measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// The mean over the requests that processes wait for.
    EachRequest,
    /// The mean over processes, whether they have few requests or many.
    EachProcess,
}

impl Waiting {
    /// The waiting time of `runs` that `measure` does not show.
    fn beside(measure: Measure, runs: &[RunReport]) -> Self {
        let waited_for = runs.iter().any(|run| run.critical_requests > 0);
        if measure != Measure::Waiting && waited_for { Self::EachRequest } else { Self::EachProcess }
    }

    fn of(self, run: &RunReport) -> f64 {
        match self {
            Self::EachRequest => run.wait_ms_mean,
            Self::EachProcess => run.process_wait_ms,
        }
    }

    /// The waiting time in `run`, and its range.
    fn range(self, run: &RunReport) -> (f64, Range) {
        let value = self.of(run);
        let only = Range { min: value, max: value };
        (value, run.spread.filter(|_| self == Self::EachRequest).map_or(only, |spread| spread.wait_ms_mean))
    }
}

/// Among runs that are equal by the measure, the one in which processes wait least, and the one in which they wait most. `None`
/// if the waiting is equal, too.
fn least_waiting<'a>(equals: &[&'a RunReport], waiting: Waiting) -> Option<(&'a RunReport, &'a RunReport)> {
    let order = |a: &&&RunReport, b: &&&RunReport| waiting.of(a).total_cmp(&waiting.of(b));
    let (least, most) = (equals.iter().min_by(order)?, equals.iter().max_by(order)?);
    (waiting.of(most) > WAITS_LONGER * waiting.of(least)).then_some((*least, *most))
}

/// Formats `value` with three digits.
fn plain(value: f64) -> String {
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

/// The verdict by the measure, as a sentence. `equals` begins with the best.
fn sentence(equals: &[&RunReport], others: &[&RunReport], measure: Measure, decided_by_waiting: bool) -> String {
    let (noun, than) = measure.words();
    let best = equals[0];
    let Some(worst) = others.last() else {
        return format!("Only {} was run.", best.scheduler);
    };
    let farthest = equals.iter().map(|run| measure.gain(best, run)).fold(0.0, f64::max);
    let within_spread = farthest > 100.0 * TIE;
    if equals.len() > others.len() {
        let end = if decided_by_waiting { "." } else { ": the scheduler does not matter here." };
        return match within_spread {
            true => format!("By {noun} none is better beyond the spread of the replays{end}"),
            false => format!("All are within {:.0} % of each other by {noun}{end}", 100.0 * TIE),
        };
    }
    let names: Vec<&str> = equals.iter().map(|run| run.scheduler.as_str()).collect();
    let lead = match names.split_last() {
        Some((only, [])) => format!("{only} is best by {noun}"),
        Some((last, before)) if before.len() <= 3 => format!("{} and {last} are best by {noun}", before.join(", ")),
        _ => format!("{} and {} others are best by {noun}", best.scheduler, equals.len() - 1),
    };
    let lead = if within_spread { lead + ", equal within the spread of the replays" } else { lead };
    let compared = |other: &RunReport| format!("{:.1} % {than} than {}", measure.gain(best, other), other.scheduler);
    match others.iter().find(|run| !measure.is_tie(best, run)) {
        Some(next) if next.scheduler != worst.scheduler => format!("{lead}: {}, {}.", compared(next), compared(worst)),
        _ => format!("{lead}: {}.", compared(worst)),
    }
}

/// The ratio of a time to `least`, given the ranges of both; 1 if the ranges do not separate them.
fn times_as_long(value: f64, range: Range, least: f64, of_least: Range) -> f64 {
    let ratio = if least > 0.0 { value / least } else { 1.0 };
    if ratio <= 1.0 + TIE || range.min <= of_least.max { 1.0 } else { ratio }
}

/// If some processes wait long and others do not, the run with the least waiting may end much later than another. The better
/// choice is the run that is nearest to the best in both: in `waiting`, where `first` is best, and in the time until all have
/// ended. Among equals it is the first one of the request. `None` if `first` is as good.
fn ends_sooner<'a>(
    first: &'a RunReport,
    runs: &[&'a RunReport],
    waiting: impl Fn(&RunReport) -> (f64, Range),
) -> Option<&'a RunReport> {
    let elapsed = |run: &RunReport| {
        run.spread.map_or(Range { min: run.elapsed_s, max: run.elapsed_s }, |spread| spread.elapsed_s)
    };
    let soonest = runs.iter().min_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s))?;
    let (least, of_least) = waiting(first);
    let farthest = |run: &RunReport| {
        let (waits, range) = waiting(run);
        let ends = times_as_long(run.elapsed_s, elapsed(run), soonest.elapsed_s, elapsed(soonest));
        times_as_long(waits, range, least, of_least).max(ends)
    };
    let best = runs.iter().min_by(|a, b| farthest(a).total_cmp(&farthest(b)))?;
    (farthest(best) < farthest(first) / (1.0 + TIE)).then_some(*best)
}

/// If processes wait for each other, or unequally long, the run with the least waiting need not end first. Says which one does.
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
    use iopilot_sim::Spread;

    fn run(name: &str, throughput_mb_s: f64, response: f64) -> RunReport {
        let mut run = RunReport { scheduler: name.to_owned(), ..RunReport::default() };
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
    fn names_the_scheduler_that_ends_soonest_if_it_is_not_the_best() {
        let run = |name: &str, wait: f64, elapsed_s: f64| {
            let mut run = run(name, 1.0, wait);
            run.wait_ms_mean = wait;
            run.elapsed_s = elapsed_s;
            run
        };
        let runs = [run("cscan", 10.0, 17.5), run("cfq", 12.5, 15.0)];
        let verdict = Verdict::of(&runs, Measure::Waiting);
        assert_eq!(
            verdict.text,
            "cscan is best by the time that processes wait: 20.0 % less than cfq. cfq ends soonest, after 15.0 s against 17.5 s."
        );
        assert_eq!(verdict.best, "cscan");
        // 6 % more waiting costs little beside a third of the time.
        let runs = [run("none", 12.1, 2.0), run("bfq", 12.9, 1.3), run("kyber", 12.9, 1.9)];
        let verdict = Verdict::of(&runs, Measure::Waiting);
        assert_eq!((verdict.best.as_str(), verdict.equals.as_slice()), ("bfq", ["bfq".to_owned()].as_slice()));
        assert_eq!(
            verdict.text,
            "none is best by the time that processes wait: 6.2 % less than bfq, 6.2 % less than kyber. But bfq \
             finishes in 1.30 s, none in 2.00 s: bfq is the better choice."
        );
    }

    #[test]
    fn equal_throughput_does_not_hide_that_a_process_waits() {
        let run =
            |name: &str, wait: f64| RunReport { critical_requests: 9, wait_ms_mean: wait, ..run(name, 10.0, 5.0) };
        let verdict = Verdict::of(&[run("none", 10.5), run("bfq", 0.38), run("kyber", 9.0)], Measure::Throughput);
        assert_eq!((verdict.best.as_str(), verdict.equals.len()), ("bfq", 3));
        assert_eq!(
            verdict.text,
            "All are within 1 % of each other by throughput. Processes wait least under bfq: 0.38 ms for a request, \
             10.5 ms under none."
        );
    }

    #[test]
    fn of_equals_the_one_that_waits_least_may_end_too_late() {
        let run = |name: &str, process_wait_ms: f64, elapsed_s: f64| RunReport {
            process_wait_ms,
            elapsed_s,
            wait_ms_mean: 10.0,
            ..run(name, 1.0, 1.0)
        };
        let runs = [run("noop", 30.0, 15.0), run("cscan", 10.0, 20.0), run("as", 11.2, 15.0)];
        let verdict = Verdict::of(&runs, Measure::Waiting);
        assert_eq!((verdict.best.as_str(), verdict.equals.len()), ("as", 3));
        assert!(verdict.text.contains("Processes wait least under cscan: 10.0 ms for a request, 30.0 ms under noop"));
        assert!(
            verdict.text.ends_with("But as finishes in 15.0 s, cscan in 20.0 s: as is the better choice."),
            "{}",
            verdict.text
        );
    }

    #[test]
    fn no_scheduler_is_better_within_the_spread() {
        let run = |name: &str, value: f64, min: f64, max: f64| {
            let range = Range { min, max };
            let zero = Range::default();
            let spread = Spread {
                replays: 5,
                percent: 0.0,
                elapsed_s: zero,
                throughput_mb_s: range,
                wait_ms_mean: zero,
                response_ms_mean: zero,
            };
            RunReport { spread: Some(spread), ..run(name, value, 1.0) }
        };
        let runs = [run("none", 10.0, 9.0, 11.0), run("bfq", 12.0, 10.5, 13.0)];
        let verdict = Verdict::of(&runs, Measure::Throughput);
        assert!(verdict.text.starts_with("By throughput none is better beyond the spread"), "{}", verdict.text);
        let runs = [runs[0].clone(), runs[1].clone(), run("kyber", 5.0, 4.9, 5.1)];
        let verdict = Verdict::of(&runs, Measure::Throughput);
        assert_eq!(
            verdict.text,
            "bfq and none are best by throughput, equal within the spread of the replays: 140.0 % more than kyber."
        );
        assert_eq!(verdict.equals, ["bfq", "none"]);
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
