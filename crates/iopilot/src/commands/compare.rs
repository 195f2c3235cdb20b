//! `iopilot compare`: every scheduler on one workload, one table.

use super::{CommandContext, session};
use crate::args::{CompareArgs, SortArg};
use crate::progress::with_progress_bar;
use crate::render;
use iopilot_block::InputError;
use iopilot_compare::{Candidates, WorkloadModel};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, RunOptions};
use iopilot_workload::Workload;

/// Runs the command and returns the text to print.
pub(crate) fn run(args: &CompareArgs, context: &CommandContext) -> anyhow::Result<String> {
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
    let options = RunOptions { seed: args.replay.seed, log: false, warm_up: args.warm_up };
    if let Some(models) = &args.models {
        return compare_models(&machine, &workloads, &schedulers, models, &options, args, context);
    }
    let candidates =
        Candidates { schedulers: &schedulers, redcaps: &redcaps, replays: args.replays, run: iopilot_dads::simulate };
    let mut comparison = session::predict(&machine, &workloads, &candidates, &options, context)?;
    comparison.workload.notes.extend(settings);
    session::write_report(args.output.report.as_ref(), &comparison, context)?;
    if args.output.json {
        return render::json(&comparison);
    }
    Ok(render::comparison(&comparison, args.sort == SortArg::Best, context.terminal))
}

/// Compares the schedulers under several models of the workload.
fn compare_models(
    machine: &Machine,
    workloads: &[Workload],
    schedulers: &[SchedulerSpec],
    models: &str,
    options: &RunOptions,
    args: &CompareArgs,
    context: &CommandContext,
) -> anyhow::Result<String> {
    let [workload] = workloads else {
        let got = format!("{} recordings", workloads.len());
        return Err(
            InputError::new("workload", got, "one recording, which --models replays under several models").into()
        );
    };
    let models = models.split(',').map(|name| name.trim().parse()).collect::<Result<Vec<WorkloadModel>, _>>()?;
    let runs = (models.len() * schedulers.len() + 1) as u64;
    let total = workload.requests().map(|requests| requests * runs);
    let comparison = with_progress_bar(context.quiet, total, |progress| {
        let run = (iopilot_dads::simulate as iopilot_compare::Runner, progress);
        iopilot_compare::compare_models(machine, workload, schedulers, &models, options, run)
    })?;
    if args.output.json { render::json(&comparison) } else { Ok(render::models(&comparison, context.terminal)) }
}
