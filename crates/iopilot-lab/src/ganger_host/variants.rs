//! Decisions that were made here because the thesis does not say: how much depends on each of them.

use super::{Bench, Figures, ResultTable, Runs, Setup, TASKS, change};
use rayon::prelude::*;

/// Alternative decisions: the difference in words, and in the machine's description.
const VARIANTS: [(&str, &str); 5] = [
    ("the syncer sweeps a thirtieth", "[cache]\nsyncer_share = 0.033333\n"),
    ("cylinder groups of 16 MiB", "[filesystem]\ngroup_mib = 16\n"),
    ("read-ahead of two pages", "[cache]\nread_ahead_pages = 2\n"),
    ("the CPU scheduler svr4", "scheduler = \"svr4\"\n"),
    ("an idle loop of its own", "idle_loop = \"process\"\n"),
];

/// The tasks under C-LOOK with each alternative, beside `usual`, which has the decisions as made.
pub(super) fn table(usual: &Runs, setup: &Setup<'_>) -> anyhow::Result<ResultTable> {
    let title = "Decisions that the thesis does not fix, made differently, under C-LOOK: the effect on the tasks";
    let columns = ["variant", "task", "elapsed_s", "change_percent", "io_waits", "io_wait_ms", "response_ms"];
    let mut table = ResultTable::new("variants", title, &columns);
    let each = VARIANTS.par_iter().map(|(_, more)| {
        let points = TASKS.map(|task| (task, "clook")).to_vec();
        Runs::new(&Bench::new(more, setup)?, points)
    });
    let all = each.collect::<anyhow::Result<Vec<_>>>()?;
    let named = VARIANTS.iter().map(|(name, _)| *name).zip(&all);
    for (name, runs) in std::iter::once(("as decided", usual)).chain(named) {
        for task in TASKS {
            let as_decided = Figures::of(usual.of(task, "clook")?)?;
            let ours = Figures::of(runs.of(task, "clook")?)?;
            table.row(vec![
                name.into(),
                task.into(),
                ours.elapsed_s.into(),
                change(ours.elapsed_s, as_decided.elapsed_s).into(),
                ours.io_waits.into(),
                ours.wait_ms().into(),
                ours.response_ms.into(),
            ]);
        }
    }
    Ok(table)
}
