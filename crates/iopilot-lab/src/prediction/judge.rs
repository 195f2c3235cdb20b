//! Judges predictions by the real runs.

use super::figures::{PredictionFigures, median};
use super::{Cell, Plan, Row};
use crate::outcome::{Claim, Outcome, ResultTable};

/// Two schedulers differ if one takes this many times as long as the other.
const DIFFERENT: f64 = 1.1;

impl Row {
    fn real(&self) -> PredictionFigures {
        PredictionFigures::median(&self.real)
    }

    /// The predicted elapsed time over the real one.
    fn ratio(&self) -> f64 {
        self.predicted.elapsed_s / self.real().elapsed_s
    }

    /// Whether the prediction is near: within a tenth, or with the real time inside the stated spread.
    fn is_near(&self) -> bool {
        let real = self.real().elapsed_s;
        (self.ratio() - 1.0).abs() <= 0.1 || (self.spread.0..=self.spread.1).contains(&real)
    }
}

/// The pairs of schedulers that differ in real runs of one load: how many were ranked right, and how many there are.
fn pairs(cells: &[Cell]) -> (usize, usize) {
    let (mut right, mut all) = (0, 0);
    for cell in cells {
        for (n, a) in cell.rows.iter().enumerate() {
            for b in &cell.rows[n + 1..] {
                let real = a.real().elapsed_s / b.real().elapsed_s;
                if (1.0 / DIFFERENT..=DIFFERENT).contains(&real) {
                    continue;
                }
                all += 1;
                let predicted = a.predicted.elapsed_s / b.predicted.elapsed_s;
                right += usize::from((predicted > 1.0) == (real > 1.0) && predicted != 1.0);
            }
        }
    }
    (right, all)
}

/// How much longer than the best the verdict's choice takes in real runs, in percent.
fn cost_percent(cell: &Cell) -> f64 {
    let best = cell.rows.iter().map(|row| row.real().elapsed_s).fold(f64::INFINITY, f64::min);
    let chosen =
        cell.rows.iter().find(|row| row.scheduler == cell.verdict).map_or(f64::NAN, |row| row.real().elapsed_s);
    100.0 * (chosen / best - 1.0)
}

/// The tables and the claims.
pub(super) fn outcome(plan: &Plan, cells: &[Cell], left_out: &[&str]) -> Outcome {
    let columns = [
        "disk",
        "load",
        "recorded_under",
        "self_replay_percent",
        "scheduler",
        "real_s",
        "predicted_s",
        "ratio",
        "spread_min_s",
        "spread_max_s",
        "real_wait_ms",
        "predicted_wait_ms",
    ];
    let mut table = ResultTable::new("predictions", "Predicted from one recording, and run for real", &columns);
    let mut verdicts = ResultTable::new(
        "verdicts",
        "The verdict's choice, and what it costs in real runs",
        &["disk", "load", "verdict", "equal_to_it", "cost_percent"],
    );
    for cell in cells {
        for row in &cell.rows {
            let real = row.real();
            table.row(vec![
                cell.disk.into(),
                cell.load.into(),
                cell.recorded_under.as_str().into(),
                cell.self_replay_percent.unwrap_or(f64::NAN).into(),
                row.scheduler.into(),
                real.elapsed_s.into(),
                row.predicted.elapsed_s.into(),
                row.ratio().into(),
                row.spread.0.into(),
                row.spread.1.into(),
                real.wait_ms.into(),
                row.predicted.wait_ms.into(),
            ]);
        }
        verdicts.row(vec![
            cell.disk.into(),
            cell.load.into(),
            cell.verdict.as_str().into(),
            cell.equals.join(", ").into(),
            cost_percent(cell).into(),
        ]);
    }
    let mut notes = vec![format!(
        "{} real runs under each scheduler; their median is compared. Predictions are those of `iopilot compare` with \
         the disk's name alone.",
        plan.runs
    )];
    if !left_out.is_empty() {
        notes.push(format!("left out, as their programs are not here: {}", left_out.join(", ")));
    }
    Outcome { tables: vec![table, verdicts], claims: claims(cells), notes, ..Outcome::default() }
}

fn claims(cells: &[Cell]) -> Vec<Claim> {
    let rows = || cells.iter().flat_map(|cell| &cell.rows);
    let count = rows().count();
    let error = 100.0 * median(rows().map(|row| (row.ratio() - 1.0).abs()));
    let near = rows().filter(|row| row.is_near()).count();
    let worst = rows().map(|row| row.ratio().max(1.0 / row.ratio())).fold(1.0, f64::max);
    let (right, all) = pairs(cells);
    let cost = cells.iter().map(cost_percent).fold(0.0, f64::max);
    let because = "see the table of predictions, and docs/lab/prediction.md";
    let claim = |what: &str, goal: &str, ours: String, holds: bool| Claim::new("", what, goal, ours, holds, because);
    vec![
        claim("the median error of predicted elapsed times", "at most 4 %", format!("{error:.1} %"), error <= 4.0),
        claim(
            "predictions within 10 %, or with the real time inside the stated spread",
            "90 %",
            format!("{near} of {count}"),
            10 * near >= 9 * count,
        ),
        claim("the worst prediction", "not beyond 1.5 times", format!("{worst:.2} times"), worst <= 1.5),
        claim(
            "pairs of schedulers that differ by more than 10 % are ranked right",
            "95 %",
            format!("{right} of {all}"),
            20 * right >= 19 * all,
        ),
        claim("what the verdict's choice costs at most", "5 %", format!("{cost:.1} %"), cost <= 5.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scheduler: &'static str, predicted: f64, real: f64) -> Row {
        let figures = |elapsed_s| PredictionFigures { elapsed_s, wait_ms: 1.0 };
        Row { scheduler, predicted: figures(predicted), spread: (predicted, predicted), real: vec![figures(real)] }
    }

    fn cell(verdict: &str, rows: Vec<Row>) -> Cell {
        Cell {
            disk: "d",
            load: "l",
            recorded_under: "none".into(),
            self_replay_percent: None,
            verdict: verdict.into(),
            equals: Vec::new(),
            rows,
        }
    }

    #[test]
    fn only_pairs_that_differ_are_ranked() {
        let rows = vec![row("none", 1.0, 1.0), row("bfq", 2.0, 1.05), row("kyber", 0.9, 2.0)];
        assert_eq!(pairs(&[cell("none", rows)]), (0, 2));
        assert_eq!(pairs(&[cell("none", vec![row("none", 1.0, 1.0), row("bfq", 1.1, 3.0)])]), (1, 1));
    }

    #[test]
    fn a_choice_costs_what_it_takes_longer_than_the_best() {
        let cell = cell("bfq", vec![row("none", 1.0, 2.0), row("bfq", 0.9, 2.5)]);
        assert!((cost_percent(&cell) - 25.0).abs() < 1e-9);
    }

    #[test]
    fn a_real_time_inside_the_spread_is_near() {
        let mut far = row("none", 1.0, 1.3);
        assert!(!far.is_near());
        far.spread = (0.9, 1.4);
        assert!(far.is_near());
    }
}
