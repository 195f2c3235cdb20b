//! The results as tables: one for each figure of the source.

use super::BENCHMARKS;
use super::bench::{self, Run};
use super::cells::{FlightResults, PairView, VARIANTS};
use crate::ResultTable;
use crate::outcome::Cell;

/// On hard disks, and on SSDs.
const NAMES: [[&str; 2]; 5] = [
    ["figure_4_4", "figure_4_9"],
    ["figure_4_5", "figure_4_10"],
    ["figure_4_6", ""],
    ["figure_4_7", "figure_4_11"],
    ["figure_4_8", "figure_4_12"],
];

/// All tables.
pub(super) fn all(results: &FlightResults) -> Vec<ResultTable> {
    let mut tables = Vec::new();
    for solid_state in [false, true] {
        for (i, &(pair, hard, ssd)) in results.plan.pairs.iter().enumerate() {
            let Some(figure) = (if solid_state { ssd } else { Some(hard) }) else { continue };
            let [a, b] = pair.map(bench::name);
            let title = format!(
                "GF Figure {figure}: {a} and {b} alone, and the autopilot, which begins with either; times as shares \
                 of the slowest of the four (GF 4.3)"
            );
            let views = results.views().filter(|v| v.pair == pair && v.disk.solid_state == solid_state);
            tables.push(figure_of(NAMES[i][usize::from(solid_state)], title, views));
        }
    }
    tables.push(alone(results));
    tables.push(lasting(results));
    tables.extend(variants(results));
    tables
}

fn figure_of<'a>(name: &'static str, title: String, views: impl Iterator<Item = PairView<'a>>) -> ResultTable {
    let benchmarks = BENCHMARKS.map(|b| b.to_string());
    let mut columns = vec!["disk", "processes", "scheduler", "total"];
    columns.extend(benchmarks.iter().map(String::as_str));
    columns.extend(["total_s", "checks", "changes", "pinned", "model_error_%"]);
    let mut table = ResultTable::new(name, title, &columns);
    for view in views {
        let alone = view.pair.map(bench::name).map(str::to_owned).into_iter().zip(view.alone);
        let all: Vec<_> = alone.chain(view.flights()).collect();
        let slowest = |of| all.iter().map(|(_, run)| run.of(of)).fold(0.0, f64::max);
        for (name, run) in &all {
            let mut row: Vec<Cell> = vec![view.disk.name.as_str().into(), u64::from(view.processes).into()];
            row.push(name.as_str().into());
            row.push((run.of(None) / slowest(None)).into());
            row.extend((0..BENCHMARKS.len()).map(|b| Cell::from(run.of(Some(b)) / slowest(Some(b)))));
            row.push(run.of(None).into());
            if run.checks.is_empty() {
                row.extend([f64::NAN; 4].map(Cell::from));
            } else {
                row.extend([run.checks.len(), run.changes(), run.pinned()].map(Cell::from));
                row.push(run.error_percent().into());
            }
            table.row(row);
        }
    }
    table
}

/// Seconds under each scheduler alone.
fn alone(results: &FlightResults) -> ResultTable {
    let benchmarks = BENCHMARKS.map(|b| format!("{b}_s"));
    let mut columns = vec!["disk", "processes", "scheduler", "total_s"];
    columns.extend(benchmarks.iter().map(String::as_str));
    let mut table = ResultTable::new("alone", "Application times under each scheduler alone", &columns);
    for cell in &results.cells {
        for (scheduler, run) in cell.alone() {
            let mut row: Vec<Cell> =
                vec![results.disks[cell.disk].name.as_str().into(), u64::from(cell.processes).into()];
            row.extend([bench::name(scheduler).into(), run.of(None).into()]);
            row.extend(run.seconds.map(Cell::from));
            table.row(row);
        }
    }
    table
}

/// The thesis' trials, and longer ones.
fn lasting(results: &FlightResults) -> ResultTable {
    let title = "The source's trials, and longer ones: total time against the better of the two alone, %";
    let columns = ["disk", "processes", "scheduler", "source_%", "lasting_%", "changes", "pinned", "model_error_%"];
    let mut table = ResultTable::new("lasting", title, &columns);
    for view in results.views() {
        for ((name, source), (_, lasting)) in view.flights().into_iter().zip(view.lasting().flights()) {
            let over = |run: &Run| 100.0 * (run.of(None) / view.best(None) - 1.0);
            table.row(vec![
                view.disk.name.as_str().into(),
                u64::from(view.processes).into(),
                name.as_str().into(),
                over(source).into(),
                over(lasting).into(),
                lasting.changes().into(),
                lasting.pinned().into(),
                lasting.error_percent().into(),
            ]);
        }
    }
    table
}

/// Other objectives and models that the autopilot might use.
fn variants(results: &FlightResults) -> Option<ResultTable> {
    let title = "Other objectives and models of the autopilot: total time against the better of the two alone, %";
    let columns = ["disk", "processes", "scheduler", "compared", "over_better_%", "changes", "pinned", "model_error_%"];
    let mut table = ResultTable::new("variants", title, &columns);
    for cell in results.cells.iter().filter(|cell| !cell.varied.is_empty()) {
        for view in results.of(cell) {
            for (i, (name, first)) in view.flights().into_iter().enumerate() {
                let pair = if i == 0 { view.pair } else { [view.pair[1], view.pair[0]] };
                let others = cell.varied.iter().filter(|(_, p, _)| *p == pair).map(|(v, _, run)| (*v, run));
                let others: Vec<_> = others.collect();
                if others.is_empty() {
                    continue;
                }
                for (variant, run) in [(0, first)].into_iter().chain(others) {
                    table.row(vec![
                        view.disk.name.as_str().into(),
                        u64::from(view.processes).into(),
                        name.as_str().into(),
                        VARIANTS[variant].0.into(),
                        (100.0 * (run.of(None) / view.best(None) - 1.0)).into(),
                        run.changes().into(),
                        run.pinned().into(),
                        run.error_percent().into(),
                    ]);
                }
            }
        }
    }
    (!table.rows().is_empty()).then_some(table)
}
