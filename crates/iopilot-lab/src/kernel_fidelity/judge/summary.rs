//! How many cells are within their goals, scheduler by scheduler.

use super::{KNOWN, Known, MB_S, MEAN, MEAN_MS, P99, P99_MS, Within, percent};
use crate::ResultTable;
use crate::kernel_fidelity::SCHEDULERS;
use crate::kernel_fidelity::predict::Figures;
use crate::outcome::Cell as Value;

/// The disk was the model where it was late by less than this share of what a request takes on average.
const ON_TIME: f64 = 0.001;

/// Which cells are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    All,
    /// Those in which the virtual disk was on time: on a machine that is held up from outside the others tell of that.
    OnTime,
    /// Those in which the kernel's own mean is known; in the others it is not known how far off a simulation is.
    Known,
}

/// All cells, and some of them alone.
pub(super) fn table(known: &[Known<'_>]) -> ResultTable {
    let columns = [
        "counted",
        "scheduler",
        "cells",
        "mean_ok",
        "mean_median_percent",
        "mean_worst_percent",
        "mb_s_ok",
        "mb_s_median_percent",
        "mb_s_worst_percent",
        "p99_ok",
        "p99_median_percent",
        "p99_worst_percent",
        "kernel_error_median_percent",
    ];
    let title = format!("cells within {MEAN} % (mean, throughput) and {P99} % (p99) of the kernel, and how far off");
    let mut table = ResultTable::new("summary", title, &columns);
    let groups = [("all", Counted::All), ("disk on time", Counted::OnTime), ("kernel's mean known", Counted::Known)];
    for (name, counted) in groups {
        for (s, scheduler) in SCHEDULERS.iter().enumerate() {
            table.row(row([name, scheduler], known, counted, &[s]));
        }
        table.row(row([name, "all"], known, counted, &[0, 1, 2, 3]));
    }
    table
}

/// What a figure may be off by, in percent, and the figure.
type Compared = (f64, fn(&Figures) -> f64);

fn row(names: [&str; 2], known: &[Known<'_>], counted: Counted, schedulers: &[usize]) -> Vec<Value> {
    let each = known.iter().flat_map(|k| schedulers.iter().map(move |&s| (k, s)));
    let is_counted = |&(k, s): &(&Known<'_>, usize)| match counted {
        Counted::All => true,
        Counted::OnTime => k.late[s] / 1e3 < ON_TIME * k.kernel[s].mean_ms,
        Counted::Known => k.spread[s].error <= KNOWN,
    };
    let cells: Vec<(&Known<'_>, usize)> = each.filter(is_counted).collect();
    let mut row: Vec<Value> = names.map(Value::from).to_vec();
    row.push(cells.len().into());
    let compared: [Compared; 3] = [(MEAN, MEAN_MS), (MEAN, MB_S), (P99, P99_MS)];
    for (goal, figure) in compared {
        let off = cells.iter().map(|&(k, s)| percent(figure(&k.simulated(s, s)), figure(&k.kernel[s])));
        let within = Within::new(goal, off);
        let (median, worst) = within.median_and_worst();
        row.extend([Value::from(within.count()), median.into(), worst.into()]);
    }
    let (median, _) = Within::new(MEAN, cells.iter().map(|&(k, s)| k.spread[s].error)).median_and_worst();
    row.push(median.into());
    row
}
