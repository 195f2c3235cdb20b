//! The tables of results.

use super::SSD_160;
use super::thesis::{TABLE_PROCESSES, TABLES, TableRow};
use crate::ResultTable;
use crate::gf::GfBenchmark::Strided512;
use crate::outcome::Cell;
use crate::redcap_bench::{BenchResults, BenchmarkMix, CaseResult, alone, cache_cells, in_a_row, percent, place_cells};

pub(super) fn of(results: &BenchResults) -> Vec<ResultTable> {
    vec![
        alone(results, "Each benchmark alone (Figures 3.23 to 3.30)"),
        in_a_row(results, "All benchmarks in a row (Figures 3.31 to 3.38)"),
        at_once(results),
        strided(results),
    ]
}

const AT_ONCE: [&str; 9] = [
    "disk",
    "scheduler",
    "processes",
    "without_s",
    "with_s",
    "gain_percent",
    "active_percent",
    "hit_percent",
    "changes",
];

fn at_once(results: &BenchResults) -> ResultTable {
    let title = "All benchmarks at the same time (Figure 3.39)";
    let mut table = ResultTable::new("at_once", title, &AT_ONCE);
    for place in results.plan.places() {
        for &processes in results.plan.at_once {
            let run = |algorithm| results.find(place, BenchmarkMix::AtOnce, processes, algorithm);
            let (Some(without), Some(with)) = (run(None), run(Some("vd"))) else { continue };
            let seconds = |measured: &CaseResult| measured.seconds.first().copied().unwrap_or(f64::NAN);
            let (without_s, with_s) = (seconds(without), seconds(with));
            let mut row = place_cells(&results.plan, place);
            row.push(u64::from(processes).into());
            row.extend([without_s, with_s, percent(with_s, without_s)].map(Cell::from));
            row.extend(cache_cells(with));
            table.row(row);
        }
    }
    table
}

/// Our results beside a row of the source: for each number of processes that was run, application seconds and I/O
/// seconds of both.
pub(super) fn beside(results: &BenchResults, row: &TableRow) -> Vec<(u32, [f64; 4])> {
    let place = (SSD_160, row.scheduler);
    let cell = |(i, &processes): (usize, &u32)| {
        let algorithm = row.redcap.then_some("vd");
        let ours = results.find(place, BenchmarkMix::Alone(Strided512), processes, algorithm)?;
        Some((processes, [row.application[i], *ours.seconds.first()?, row.io[i], ours.io_seconds]))
    };
    TABLE_PROCESSES.iter().enumerate().filter_map(cell).collect()
}

fn strided(results: &BenchResults) -> ResultTable {
    let columns = ["scheduler", "cache", "processes", "thesis_s", "seconds", "thesis_io_s", "io_seconds"];
    let title = "512k-SR on the SSD-160 (Tables 3.6 and 3.7)";
    let mut table = ResultTable::new("strided", title, &columns);
    for row in &TABLES {
        for (processes, seconds) in beside(results, row) {
            let mut cells: Vec<Cell> = vec![
                results.plan.schedulers[row.scheduler].0.into(),
                if row.redcap { "REDCAP" } else { "none" }.into(),
                u64::from(processes).into(),
            ];
            cells.extend(seconds.map(Cell::from));
            table.row(cells);
        }
    }
    table
}
