//! What is printed: tables for people, JSON for programs.

mod columns;
mod comparison;
mod details;
mod json;
mod models;
mod self_replay;
mod tune;

pub(crate) use columns::{Better, COLUMNS, RunColumn};
pub(crate) use comparison::comparison;
pub(crate) use details::details;
pub(crate) use iopilot_render::{Alignment, Table, Terminal, number, wrap};
pub(crate) use json::json;
pub(crate) use models::models;
pub(crate) use self_replay::self_replays;
pub(crate) use tune::tuned;

use iopilot_compare::Comparison;

/// The column the verdict compares.
pub(crate) fn measure(comparison: &Comparison) -> &'static RunColumn {
    let column = |key: &str| COLUMNS.iter().find(|c| c.key == key);
    column(&comparison.verdict.measure).unwrap_or(column("response_ms.mean").expect("it is a column"))
}

/// The columns that have a value in some run, and those that the verdict needs.
pub(crate) fn columns(comparison: &Comparison) -> impl Iterator<Item = &'static RunColumn> {
    let has_value = |column: &RunColumn| comparison.runs.iter().any(|run| !(column.value)(run).is_nan());
    COLUMNS.iter().filter(move |column| has_value(column) && (!column.on_demand || decides(comparison, column)))
}

/// Whether the verdict compares this column.
pub(crate) fn decides(comparison: &Comparison, column: &RunColumn) -> bool {
    column.key == measure(comparison).key || comparison.verdict.decided_by.as_deref() == Some(column.key)
}

/// The column `±%` in words; `None` if there are no replays.
pub(crate) fn spread_in_words(comparison: &Comparison) -> Option<String> {
    let replays = comparison.runs.iter().find_map(|run| run.spread)?.replays;
    let title = measure(comparison).full_title();
    Some(format!(
        "±%: half of the range of \"{title}\" in {replays} runs of each scheduler, in percent of the value shown."
    ))
}

/// The verdict's best, then the others from best to worst by the verdict's measure; equal ones in the order asked for.
pub(crate) fn ranking(comparison: &Comparison) -> Vec<usize> {
    let column = measure(comparison);
    let value = |i: usize| (column.value)(&comparison.runs[i]);
    let mut order: Vec<usize> = (0..comparison.runs.len()).collect();
    order.sort_by(|&a, &b| match column.better {
        Better::More => value(b).total_cmp(&value(a)),
        _ => value(a).total_cmp(&value(b)),
    });
    // The verdict's best may be another of the runs that tie by the measure.
    if let Some(at) = order.iter().position(|&i| comparison.runs[i].scheduler == comparison.verdict.best) {
        order[..=at].rotate_right(1);
    }
    order
}

/// What a user should know of how the workload was read; a line or more each.
pub(crate) fn notes(comparison: &Comparison, terminal: Terminal) -> Option<String> {
    let note = |n: &String| terminal.faint(&wrap(&format!("note: {n}"), terminal.width));
    let notes: String = comparison.workload.notes.iter().map(note).collect();
    (!notes.is_empty()).then_some(notes)
}
