//! The tables of results.

use super::thesis::{TABLE_3_4, TABLE_3_4_PROCESSES};
use super::{CFQ, CLEAN};
use crate::ResultTable;
use crate::outcome::Cell;
use crate::redcap_bench::{BenchResults, BenchmarkMix, CaseResult, alone, cache_cells, in_a_row, percent, place_cells};

pub(super) fn of(results: &BenchResults) -> Vec<ResultTable> {
    vec![
        alone(results, "Each benchmark alone (Figures 3.9 to 3.14)"),
        in_a_row(results, "All benchmarks in a row (Figures 3.15 to 3.20)"),
        at_once(results),
        as_printed(results),
    ]
}

const AT_ONCE: [&str; 12] = [
    "disk",
    "scheduler",
    "processes",
    "thesis_without_s",
    "without_s",
    "thesis_with_s",
    "with_s",
    "thesis_gain_percent",
    "gain_percent",
    "active_percent",
    "hit_percent",
    "changes",
];

fn at_once(results: &BenchResults) -> ResultTable {
    let title = "All benchmarks at the same time (Table 3.4)";
    let mut table = ResultTable::new("at_once", title, &AT_ONCE);
    for (place, cells) in TABLE_3_4 {
        for (processes, (thesis_with, thesis_without)) in TABLE_3_4_PROCESSES.into_iter().zip(cells) {
            let run = |algorithm| results.find(place, BenchmarkMix::AtOnce, processes, algorithm);
            let (Some(without), Some(with)) = (run(None), run(Some("vd"))) else { continue };
            let seconds = |measured: &CaseResult| measured.seconds.first().copied().unwrap_or(f64::NAN);
            let mut row = place_cells(&results.plan, place);
            row.push(u64::from(processes).into());
            row.extend([thesis_without, seconds(without), thesis_with, seconds(with)].map(Cell::from));
            row.push(percent(thesis_with, thesis_without).into());
            row.push(percent(seconds(with), seconds(without)).into());
            row.extend(cache_cells(with));
            table.row(row);
        }
    }
    table
}

/// Equation 3.3 as printed, which counts prefetched blocks as served, beside the comparison of the same blocks.
fn as_printed(results: &BenchResults) -> ResultTable {
    let columns = ["benchmark", "processes", "algorithm", "seconds", "gain_percent", "active_percent"];
    let title = "Equation 3.3 as printed (the clean disk, CFQ)";
    let mut table = ResultTable::new("as_printed", title, &columns);
    let place = (CLEAN, CFQ);
    for &load in results.plan.loads {
        let algorithms = (results.plan.algorithms)(place, load);
        for &processes in results.plan.processes.iter().filter(|_| algorithms.len() > 1) {
            let run = |algorithm| results.find(place, load, processes, algorithm);
            let Some(without) = run(None) else { continue };
            for &algorithm in algorithms {
                let Some(with) = run(Some(algorithm)) else { continue };
                table.row(vec![
                    load.to_string().into(),
                    u64::from(processes).into(),
                    algorithm.into(),
                    with.seconds[0].into(),
                    percent(with.seconds[0], without.seconds[0]).into(),
                    with.active_percent.into(),
                ]);
            }
        }
    }
    table
}
