//! What is printed: tables for people, JSON for programs.

mod columns;
mod details;
mod json;
pub(crate) mod number;
mod table;

pub(crate) use columns::{Better, COLUMNS, Column};
pub(crate) use details::details;
pub(crate) use json::json;
pub(crate) use table::{Alignment, Table, comparison};

use iopilot_sim::{Comparison, RunReport};

/// The value the verdict compares: smaller is better.
pub(crate) fn measure(comparison: &Comparison, run: &RunReport) -> f64 {
    if comparison.verdict.measure == "elapsed_s" { run.elapsed_s } else { run.response_ms.mean }
}

/// The runs from best to worst by the verdict's measure; equal ones in the order asked for.
pub(crate) fn ranking(comparison: &Comparison) -> Vec<usize> {
    let mut order: Vec<usize> = (0..comparison.runs.len()).collect();
    order.sort_by(|&a, &b| {
        let value = |i: usize| measure(comparison, &comparison.runs[i]);
        // The verdict names one of those that are equal: it goes first.
        let named = |i: usize| comparison.runs[i].scheduler != comparison.verdict.best;
        value(a).total_cmp(&value(b)).then(named(a).cmp(&named(b))).then(a.cmp(&b))
    });
    order
}
