//! The table of schedulers under several models of a workload.

use super::{Alignment, Table, Terminal, number, wrap};
use iopilot_compare::ModelComparison;
use number::plain;
use std::fmt::Write;

/// A row for each model and scheduler.
pub(crate) fn models(comparison: &ModelComparison, terminal: Terminal) -> String {
    let ModelComparison { machine, workload, traced, population, runs } = comparison;
    let mut out = format!("{} on {}\n\n", workload.name, machine.name);
    let right = |title| (title, Alignment::Right);
    let columns = [
        ("model", Alignment::Left),
        ("scheduler", Alignment::Left),
        right("response ms"),
        right("change %"),
        right("elapsed s"),
    ];
    let mut table = Table::new(&columns);
    for run in runs {
        table.row(vec![
            run.model.to_string(),
            run.scheduler.clone(),
            plain(run.response_ms),
            format!("{:+.1}", run.change_percent),
            plain(run.elapsed_s),
        ]);
    }
    out += &table.render(terminal);
    let note = format!(
        "Changes are from {traced}, under which the trace was taken. The closed model keeps {population} requests outstanding. \
         Only the system model has the causes of requests: a process that waits issues nothing."
    );
    let _ = write!(out, "\n{}", wrap(&note, terminal.width));
    out
}
