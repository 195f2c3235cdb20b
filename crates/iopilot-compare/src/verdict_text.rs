//! The verdict as sentences. They call one scheduler best, or several equal ones.

use crate::measure::{Measure, TIE};
use crate::verdict::{Ranking, VerdictReason, least_of, waits_longer};
use iopilot_sim::RunReport;

/// Schedulers that are named before the rest are counted.
const NAMED: usize = 4;

/// The verdict on `runs`, ranked as `ranking`.
pub(crate) fn text(ranking: &Ranking<'_>, decision: VerdictReason<'_>, runs: &[RunReport]) -> String {
    match decision {
        VerdictReason::MeasureAlone => by_measure(ranking) + &soonest(ranking) + &waits_less_elsewhere(ranking, runs),
        VerdictReason::LessWaiting { waiting, best, most } => {
            let mut text = equals(ranking);
            text += &format!(
                " {} is best: processes wait {} ms for a request{}, {} ms under {}.",
                best.scheduler,
                plain(waiting.value(best)),
                over_processes(waiting),
                plain(waiting.value(most)),
                most.scheduler,
            );
            text + &others_wait_less(best, waiting, runs)
        }
        VerdictReason::EndsSooner { waiting, best, least, among_equals } => {
            let mut text = if among_equals { equals(ranking) + " " } else { String::new() };
            text += &format!(
                "{} is best: it finishes in {} s, and processes wait {} ms for a request{}.",
                best.scheduler,
                plain(best.elapsed_s),
                plain(waiting.value(best)),
                over_processes(waiting),
            );
            text += &format!(
                " Under {} they wait less, {} ms, but it finishes in {} s.",
                least.scheduler,
                plain(waiting.value(least)),
                plain(least.elapsed_s),
            );
            text + &others_wait_less(least, waiting, runs)
        }
    }
}

fn over_processes(waiting: Measure) -> &'static str {
    if waiting == Measure::ProcessWaiting { " (geometric mean over processes)" } else { "" }
}

/// If processes wait less than under `best` in a run that is worse by the measure, says so.
fn others_wait_less(best: &RunReport, waiting: Measure, runs: &[RunReport]) -> String {
    match least_of(runs.iter(), waiting) {
        Some(least) if waits_longer(best, least, waiting) => {
            format!(" Of all they wait least under {}: {} ms.", least.scheduler, plain(waiting.value(least)))
        }
        _ => String::new(),
    }
}

/// More throughput may be bought with waiting. If processes wait less in a run that is worse by throughput, says so.
fn waits_less_elsewhere(ranking: &Ranking<'_>, runs: &[RunReport]) -> String {
    let waiting = Measure::Waiting;
    let waited_for = runs.iter().all(|run| run.critical_requests > 0);
    match (least_of(runs.iter(), waiting), least_of(ranking.equals.iter().copied(), waiting)) {
        (Some(least), Some(of_equals))
            if ranking.measure == Measure::Throughput && waited_for && waits_longer(of_equals, least, waiting) =>
        {
            let (least_ms, ms) = (plain(waiting.value(least)), plain(waiting.value(of_equals)));
            let names = (&least.scheduler, &of_equals.scheduler);
            format!(
                " But processes wait least under {}: {least_ms} ms for a request, {ms} ms under {}.",
                names.0, names.1
            )
        }
        _ => String::new(),
    }
}

/// Formats `value` with three digits.
fn plain(value: f64) -> String {
    let decimals = match value {
        _ if value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ if value >= 1.0 || value == 0.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// Whether runs count as equal although they differ by more than a tie.
fn within_spread(ranking: &Ranking<'_>) -> bool {
    let gain = |run: &&RunReport| ranking.measure.gain(ranking.first, run);
    ranking.equals.iter().map(gain).fold(0.0, f64::max) > 100.0 * TIE
}

fn names(runs: &[&RunReport]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| run.scheduler.as_str()).collect();
    match names.split_last() {
        Some((only, [])) => (*only).to_owned(),
        Some((last, before)) if before.len() < NAMED => format!("{} and {last}", before.join(", ")),
        _ => format!("{} and {} others", names[0], names.len() - 1),
    }
}

/// How much better the first is than the best that is not equal to it, and than the worst.
fn gains(ranking: &Ranking<'_>) -> String {
    let Ranking { measure, first, others, .. } = ranking;
    let than = measure.words().1;
    let compared = |other: &RunReport| format!("{:.1} % {than} than {}", measure.gain(first, other), other.scheduler);
    let Some(worst) = others.last() else { return String::new() };
    match others.iter().find(|run| !measure.is_tie(first, run)) {
        Some(next) if next.scheduler != worst.scheduler => format!("{}, {}", compared(next), compared(worst)),
        _ => compared(worst),
    }
}

/// All are equal by the measure, as a sentence without its end.
fn all_equal(ranking: &Ranking<'_>) -> String {
    let noun = ranking.measure.words().0;
    match within_spread(ranking) {
        true => format!("No scheduler is better by {noun} beyond the spread of the replays"),
        false => format!("All are within {:.0} % of each other by {noun}", 100.0 * TIE),
    }
}

/// Which runs are equal by the measure, before another quantity decides between them.
fn equals(ranking: &Ranking<'_>) -> String {
    if ranking.all_equal() {
        return all_equal(ranking) + ".";
    }
    let spread = if within_spread(ranking) { ", within the spread of the replays" } else { "" };
    let noun = ranking.measure.words().0;
    format!("{} are equal by {noun}{spread}: {}.", names(&ranking.equals), gains(ranking))
}

/// The verdict by the measure alone.
fn by_measure(ranking: &Ranking<'_>) -> String {
    if ranking.others.is_empty() {
        return format!("Only {} was run.", ranking.first.scheduler);
    }
    if ranking.all_equal() {
        return all_equal(ranking) + ": the scheduler does not matter here.";
    }
    let verb = if ranking.equals.len() == 1 { "is" } else { "are" };
    let spread = if within_spread(ranking) { ", equal within the spread of the replays" } else { "" };
    let noun = ranking.measure.words().0;
    format!("{} {verb} best by {noun}{spread}: {}.", names(&ranking.equals), gains(ranking))
}

/// If processes wait for each other, or unequally long, the run with the least waiting need not end first. Says which one does.
fn soonest(ranking: &Ranking<'_>) -> String {
    let Ranking { measure, first: best, others, .. } = ranking;
    match least_of(others.iter().copied(), Measure::Elapsed) {
        Some(first) if *measure == Measure::Waiting && first.elapsed_s < best.elapsed_s * (1.0 - TIE) => {
            format!(
                " {} ends soonest, after {:.1} s against {:.1} s.",
                first.scheduler, first.elapsed_s, best.elapsed_s
            )
        }
        _ => String::new(),
    }
}
