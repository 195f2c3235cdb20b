//! The tables that several experiments share.

use super::results::{BenchPlan, BenchResults, PlanCell, percent};
use super::run::{BenchmarkMix, CaseResult};
use crate::ResultTable;
use crate::gf::GfBenchmark;
use crate::outcome::Cell;

pub(crate) fn place_cells(plan: &BenchPlan, place: PlanCell) -> Vec<Cell> {
    vec![plan.disks[place.0].0.into(), plan.schedulers[place.1].0.into()]
}

/// The columns `active_percent`, `hit_percent`, `changes`.
pub(crate) fn cache_cells(measured: &CaseResult) -> [Cell; 3] {
    [measured.active_percent.into(), measured.hit_percent.into(), measured.changes.into()]
}

const ALONE: [&str; 14] = [
    "disk",
    "scheduler",
    "benchmark",
    "processes",
    "without_s",
    "with_s",
    "gain_percent",
    "io_without_s",
    "io_with_s",
    "io_gain_percent",
    "active_percent",
    "hit_percent",
    "changes",
    "off_at_read",
];

/// Each benchmark alone.
pub(crate) fn alone(results: &BenchResults, title: &str) -> ResultTable {
    let mut table = ResultTable::new("alone", title, &ALONE);
    let loads =
        results.plan.loads.iter().filter(|load| matches!(load, BenchmarkMix::Alone(_) | BenchmarkMix::OneProgram));
    for place in results.plan.places() {
        for &load in loads.clone() {
            for &processes in results.plan.processes {
                let run = |algorithm| results.find(place, load, processes, algorithm);
                let (Some(without), Some(with)) = (run(None), run(Some("vd"))) else { continue };
                let mut row = place_cells(&results.plan, place);
                row.extend([load.to_string().into(), u64::from(processes).into()]);
                for (without, with) in [(without.seconds[0], with.seconds[0]), (without.io_seconds, with.io_seconds)] {
                    row.extend([without, with, percent(with, without)].map(Cell::from));
                }
                row.extend(cache_cells(with));
                row.push(with.off_at.into());
                table.row(row);
            }
        }
    }
    table
}

/// Each benchmark of all in a row.
pub(crate) fn in_a_row(results: &BenchResults, title: &str) -> ResultTable {
    let columns = ["disk", "scheduler", "processes", "benchmark", "without_s", "with_s", "gain_percent"];
    let mut table = ResultTable::new("in_a_row", title, &columns);
    for place in results.plan.places() {
        for &processes in results.plan.processes {
            let run = |algorithm| results.find(place, BenchmarkMix::InARow, processes, algorithm);
            let (Some(without), Some(with)) = (run(None), run(Some("vd"))) else { continue };
            for (i, benchmark) in GfBenchmark::ALL.into_iter().enumerate() {
                let (without, with) = (without.seconds[i], with.seconds[i]);
                let mut row = place_cells(&results.plan, place);
                row.extend([u64::from(processes).into(), benchmark.to_string().into()]);
                row.extend([without, with, percent(with, without)].map(Cell::from));
                table.row(row);
            }
        }
    }
    table
}
