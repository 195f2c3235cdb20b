//! `iopilot compare`: every scheduler on one workload, one table.

use super::{Context, session};
use crate::args::{Compare, Sort};
use crate::render;
use iopilot_block::InputError;
use iopilot_compare::Candidates;
use iopilot_sim::RunOptions;

/// Runs the command; the text to print.
pub(crate) fn run(args: &Compare, context: &Context) -> anyhow::Result<String> {
    session::check_writable("--report", args.output.report.as_ref())?;
    let schedulers = session::schedulers(&args.scheduler)?;
    let redcaps = session::redcaps(args.redcap.as_deref())?;
    let mut machine = session::machine(&args.machine, context)?;
    let load = |path| session::workload(path, &args.replay, &machine);
    let workloads = args.workload.iter().map(|path| load(path)).collect::<Result<Vec<_>, _>>()?;
    if let Some(other) = workloads.iter().position(|workload| !workload.is_like(&workloads[0])) {
        let got = args.workload[other].display().to_string();
        let expected = format!("another recording of the same load as {}", args.workload[0].display());
        return Err(InputError::new("workload", got, expected).into());
    }
    let settings = session::take_settings(&mut machine, &workloads, &args.replay);
    let options = RunOptions { seed: args.replay.seed, log: false };
    let candidates =
        Candidates { schedulers: &schedulers, redcaps: &redcaps, replays: args.replays, run: iopilot_dads::simulate };
    let mut comparison = session::predict(&machine, &workloads, &candidates, &options, context)?;
    comparison.workload.notes.extend(settings);
    session::write_report(args.output.report.as_ref(), &comparison, context)?;
    if args.output.json {
        return render::json(&comparison);
    }
    Ok(render::comparison(&comparison, args.sort == Sort::Best, context.terminal))
}
