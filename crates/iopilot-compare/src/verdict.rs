//! Decides which of several runs is best.

use crate::comparison::Verdict;
use crate::measure::{Measure, TIE};
use crate::verdict_text;
use iopilot_sim::{Range, RunReport};

/// Among runs that are equal by the measure, waiting counts as longer beyond this ratio.
const WAITS_LONGER: f64 = 1.1;

/// What decided between several runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VerdictReason<'a> {
    /// The measure.
    MeasureAlone,
    /// Of the runs that are equal by the measure, processes wait less under `best` than under `most`.
    LessWaiting { waiting: Measure, best: &'a RunReport, most: &'a RunReport },
    /// Processes wait least under `least`, but `best` ends much sooner. `among_equals` if both are equal by the measure.
    EndsSooner { waiting: Measure, best: &'a RunReport, least: &'a RunReport, among_equals: bool },
}

impl VerdictReason<'_> {
    fn key(&self) -> Option<&'static str> {
        match self {
            Self::MeasureAlone => None,
            Self::LessWaiting { waiting, .. } => Some(waiting.key()),
            Self::EndsSooner { .. } => Some(Measure::Elapsed.key()),
        }
    }
}

/// `runs` from best to worst by a measure.
#[derive(Debug)]
pub(crate) struct Ranking<'a> {
    pub(crate) measure: Measure,
    /// The best by the measure.
    pub(crate) first: &'a RunReport,
    /// The others, best first.
    pub(crate) others: Vec<&'a RunReport>,
    /// The first, and those that are equal to it.
    pub(crate) equals: Vec<&'a RunReport>,
}

impl<'a> Ranking<'a> {
    fn of(runs: &'a [RunReport], measure: Measure) -> Option<Self> {
        let mut ranked: Vec<&RunReport> = runs.iter().collect();
        // The sort is stable: among equals the first one of the request is best.
        ranked.sort_by(|a, b| measure.gain(b, a).total_cmp(&measure.gain(a, b)));
        let (&first, others) = ranked.split_first()?;
        let tied = others.iter().copied().filter(|run| measure.is_tie(first, run));
        let equals = std::iter::once(first).chain(tied).collect();
        Some(Self { measure, first, others: others.to_vec(), equals })
    }

    /// Whether the scheduler makes no difference by the measure.
    pub(crate) fn all_equal(&self) -> bool {
        !self.others.is_empty() && self.equals.len() > self.others.len()
    }

    fn decide(&self, runs: &'a [RunReport]) -> VerdictReason<'a> {
        if self.measure == Measure::Waiting {
            let all: Vec<&RunReport> = runs.iter().collect();
            if let Some(best) = ends_sooner(self.first, &all, self.measure) {
                return VerdictReason::EndsSooner {
                    waiting: self.measure,
                    best,
                    least: self.first,
                    among_equals: false,
                };
            }
        }
        // The measure of waiting that the ranking does not show.
        let waited_for = runs.iter().any(|run| run.critical_requests > 0);
        let waiting =
            if self.measure != Measure::Waiting && waited_for { Measure::Waiting } else { Measure::ProcessWaiting };
        let Some((least, most)) = least_waiting(&self.equals, waiting) else { return VerdictReason::MeasureAlone };
        // The run in which processes wait least may also end much later than others.
        match ends_sooner(least, &self.equals, waiting) {
            Some(best) => VerdictReason::EndsSooner { waiting, best, least, among_equals: true },
            None => VerdictReason::LessWaiting { waiting, best: least, most },
        }
    }
}

impl Verdict {
    /// Judges `runs` by `measure`. Runs that are equal by it are judged by how long processes wait.
    pub(crate) fn of(runs: &[RunReport], measure: Measure) -> Self {
        let Some(ranking) = Ranking::of(runs, measure) else {
            let text = "Nothing was run.".to_owned();
            return Self { measure: measure.key().to_owned(), text, ..Self::default() };
        };
        let decision = ranking.decide(runs);
        let names = |runs: &[&RunReport]| runs.iter().map(|run| run.scheduler.clone()).collect::<Vec<_>>();
        let (best, winners) = match decision {
            VerdictReason::MeasureAlone if ranking.all_equal() => (ranking.first, Vec::new()),
            VerdictReason::MeasureAlone => (ranking.first, names(&ranking.equals)),
            VerdictReason::LessWaiting { best, .. } | VerdictReason::EndsSooner { best, .. } => (best, names(&[best])),
        };
        let equals = match decision {
            VerdictReason::EndsSooner { among_equals: false, .. } => vec![best.scheduler.clone()],
            _ => names(&ranking.equals),
        };
        let ranked = || std::iter::once(&ranking.first).chain(&ranking.others);
        let mut others = ranked().filter(|run| run.scheduler != best.scheduler);
        let gain = |other: Option<&&RunReport>| other.map_or(0.0, |other| measure.gain(best, other));
        Self {
            best: best.scheduler.clone(),
            measure: measure.key().to_owned(),
            decided_by: decision.key().map(str::to_owned),
            better_than_second_percent: gain(others.next()),
            better_than_worst_percent: gain(ranked().rfind(|run| run.scheduler != best.scheduler)),
            equals,
            winners,
            text: verdict_text::text(&ranking, decision, runs),
        }
    }
}

/// Whether processes wait longer in `more` than in `less` by `waiting`, beyond doubt.
pub(crate) fn waits_longer(more: &RunReport, less: &RunReport, waiting: Measure) -> bool {
    waiting.value(more) > WAITS_LONGER * waiting.value(less) && !waiting.overlap(more, less)
}

/// Of `runs`, the one in which processes wait least.
pub(crate) fn least_of<'a>(runs: impl Iterator<Item = &'a RunReport>, waiting: Measure) -> Option<&'a RunReport> {
    runs.min_by(|a, b| waiting.value(a).total_cmp(&waiting.value(b)))
}

/// Among runs that are equal by the measure, the one in which processes wait least, and the one in which they wait most. `None`
/// if the waiting is equal, too.
fn least_waiting<'a>(equals: &[&'a RunReport], waiting: Measure) -> Option<(&'a RunReport, &'a RunReport)> {
    let least = least_of(equals.iter().copied(), waiting)?;
    let most = *equals.iter().max_by(|a, b| waiting.value(a).total_cmp(&waiting.value(b)))?;
    waits_longer(most, least, waiting).then_some((least, most))
}

/// The ratio of a time to `least`, given the ranges of both; 1 if the ranges do not separate them.
fn times_as_long(value: f64, range: Range, least: f64, of_least: Range) -> f64 {
    let ratio = if least > 0.0 { value / least } else { 1.0 };
    if ratio <= 1.0 + TIE || range.min <= of_least.max { 1.0 } else { ratio }
}

/// If some processes wait long and others do not, the run with the least waiting may end much later than another. The better
/// choice is the run that is nearest to the best in both: in `waiting`, where `first` is best, and in the time until all have
/// ended. Among equals it is the first one of the request. `None` if `first` is as good.
fn ends_sooner<'a>(first: &RunReport, runs: &[&'a RunReport], waiting: Measure) -> Option<&'a RunReport> {
    let ends = Measure::Elapsed;
    let soonest = least_of(runs.iter().copied(), ends)?;
    let farthest = |run: &RunReport| {
        let times = |measure: Measure, least: &RunReport| {
            times_as_long(measure.value(run), measure.range(run), measure.value(least), measure.range(least))
        };
        times(waiting, first).max(times(ends, soonest))
    };
    let best = runs.iter().min_by(|a, b| farthest(a).total_cmp(&farthest(b)))?;
    (farthest(best) < farthest(first) / (1.0 + TIE)).then_some(*best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_sim::Spread;

    /// A verdict names one best, and the sentence calls no other one so.
    fn says_one_thing(verdict: &Verdict) {
        assert_eq!(verdict.winners, std::slice::from_ref(&verdict.best), "{verdict:?}");
        assert!(verdict.text.contains(&format!("{} is best", verdict.best)), "{}", verdict.text);
        assert_eq!(verdict.text.matches(" best").count(), 1, "{}", verdict.text);
        assert!(!verdict.text.contains("better choice"), "{}", verdict.text);
    }

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
            "bfq is best: it finishes in 1.30 s, and processes wait 12.9 ms for a request. Under none they wait less, \
             12.1 ms, but it finishes in 2.00 s."
        );
        says_one_thing(&verdict);
        assert_eq!(verdict.decided_by.as_deref(), Some("elapsed_s"));
        assert!(verdict.better_than_second_percent < 0.0, "{verdict:?}");
    }

    #[test]
    fn equal_throughput_does_not_hide_that_a_process_waits() {
        let run =
            |name: &str, wait: f64| RunReport { critical_requests: 9, wait_ms_mean: wait, ..run(name, 10.0, 5.0) };
        let verdict = Verdict::of(&[run("none", 10.5), run("bfq", 0.38), run("kyber", 9.0)], Measure::Throughput);
        assert_eq!((verdict.best.as_str(), verdict.equals.len()), ("bfq", 3));
        assert_eq!(
            verdict.text,
            "All are within 1 % of each other by throughput. bfq is best: processes wait 0.380 ms for a request, 10.5 ms \
             under none."
        );
        says_one_thing(&verdict);
    }

    #[test]
    fn who_waits_least_is_said_of_all() {
        let run = |name: &str, throughput: f64, wait: f64| RunReport {
            critical_requests: 9,
            wait_ms_mean: wait,
            ..run(name, throughput, 5.0)
        };
        let runs = [run("noop", 1.17, 99.1), run("as", 1.17, 110.0), run("none", 0.861, 69.5)];
        let verdict = Verdict::of(&runs, Measure::Throughput);
        assert_eq!(
            verdict.text,
            "noop and as are equal by throughput: 35.9 % more than none. noop is best: processes wait 99.1 ms for a request, \
             110 ms under as. Of all they wait least under none: 69.5 ms."
        );
        says_one_thing(&verdict);
        let verdict = Verdict::of(&[runs[0].clone(), runs[2].clone()], Measure::Throughput);
        assert_eq!(
            verdict.text,
            "noop is best by throughput: 35.9 % more than none. But processes wait least under none: 69.5 ms for a request, 99.1 \
             ms under noop."
        );
    }

    #[test]
    fn waiting_within_its_spread_decides_nothing() {
        let run = |name: &str, least: f64, most: f64| {
            let replay = |wait: f64| RunReport { critical_requests: 9, wait_ms_mean: wait, ..run(name, 1.0, 5.0) };
            RunReport { spread: Spread::of(&[replay(least), replay(most)]), ..replay((least + most) / 2.0) }
        };
        let verdict = Verdict::of(&[run("a", 1.0, 9.0), run("b", 2.0, 12.0)], Measure::Throughput);
        assert!(verdict.text.contains("does not matter"), "{}", verdict.text);
        let verdict = Verdict::of(&[run("a", 5.0, 9.0), run("b", 1.0, 2.0)], Measure::Throughput);
        assert_eq!(verdict.decided_by.as_deref(), Some("wait_ms_mean"));
        says_one_thing(&verdict);
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
        assert_eq!(
            verdict.text,
            "All are within 1 % of each other by the time that processes wait. as is best: it finishes in 15.0 s, and processes \
             wait 11.2 ms for a request (geometric mean over processes). Under cscan they wait less, 10.0 ms, but it finishes in \
             20.0 s."
        );
        says_one_thing(&verdict);
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
                process_wait_ms: zero,
                wait_ms_p99: zero,
                task_s_mean: None,
                response_ms_mean: zero,
            };
            RunReport { spread: Some(spread), ..run(name, value, 1.0) }
        };
        let runs = [run("none", 10.0, 9.0, 11.0), run("bfq", 12.0, 10.5, 13.0)];
        let verdict = Verdict::of(&runs, Measure::Throughput);
        assert!(verdict.text.starts_with("No scheduler is better by throughput beyond the spread"), "{}", verdict.text);
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
        assert!(verdict.winners.is_empty());
        let runs = [run("noop", 1.0, 10.0), run("cfq", 1.0, 10.05), run("as", 1.0, 20.0)];
        let verdict = Verdict::of(&runs, Measure::MeanResponse);
        assert!(verdict.text.starts_with("noop and cfq are best"), "{}", verdict.text);
    }
}
