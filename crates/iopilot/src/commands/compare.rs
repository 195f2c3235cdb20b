//! `iopilot compare`: every scheduler on one workload, one table.

use super::{Context, session};
use crate::args::{Compare, Sort};
use crate::render;
use iopilot_sim::RunOptions;

/// Runs the command; the text to print.
pub(crate) fn run(args: &Compare, context: &Context) -> anyhow::Result<String> {
    session::check_writable("--report", args.output.report.as_ref())?;
    let schedulers = session::schedulers(&args.scheduler)?;
    let machine = session::machine(&args.machine, context)?;
    let workload = session::workload(&args.workload, &args.replay, &machine)?;
    let options = RunOptions { seed: args.replay.seed, log: false };
    let comparison = session::run(&machine, &workload, &schedulers, &options, context)?;
    session::write_report(args.output.report.as_ref(), &comparison, context)?;
    if args.output.json {
        return render::json(&comparison);
    }
    Ok(render::comparison(&comparison, args.sort == Sort::Best, context.terminal))
}
