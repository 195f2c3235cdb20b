//! `iopilot simulate`: everything about each run.

use super::{CommandContext, session};
use crate::args::SimulateArgs;
use crate::render;
use iopilot_block::InputError;
use iopilot_sim::RunOptions;
use iopilot_trace::{TraceRecord, TraceWriter};

/// Runs the command and returns the text to print.
pub(crate) fn run(args: &SimulateArgs, context: &CommandContext) -> anyhow::Result<String> {
    session::check_writable("--report", args.output.report.as_ref())?;
    session::check_writable("--requests-out", args.requests_out.as_ref())?;
    let schedulers = session::schedulers(&args.scheduler)?;
    if args.requests_out.is_some() && schedulers.len() != 1 {
        let got = format!("{} schedulers", schedulers.len());
        return Err(
            InputError::new("--requests-out", got, "one scheduler, as a trace holds the times of one run").into()
        );
    }
    let out = match &args.requests_out {
        Some(path) => Some((path, super::trace::format_to_write(path, None)?)),
        None => None,
    };
    let mut machine = session::machine(&args.machine, context)?;
    session::take_redcap(&mut machine, args.redcap.as_deref())?;
    let workload = session::workload(args.workload(), &args.replay, &machine)?;
    let settings = session::take_settings(&mut machine, std::slice::from_ref(&workload), &args.replay);
    let options = RunOptions { seed: args.replay.seed, log: false, warm_up: args.warm_up };
    let mut comparison = match out {
        Some((path, format)) => {
            let mut writer = TraceWriter::create(path, format)?;
            let mut write = |request: &TraceRecord| writer.write(request);
            let comparison = session::run_logged(&machine, &workload, &schedulers[0], &options, context, &mut write)?;
            writer.finish()?;
            context.note(format_args!("requests written to {}", path.display()));
            comparison
        }
        None => session::run(&machine, &workload, &schedulers, &options, context)?,
    };
    comparison.workload.notes.extend(settings);
    session::write_report(args.output.report.as_ref(), &comparison, context)?;
    if args.output.json {
        return render::json(&comparison);
    }
    let mut out: Vec<String> = comparison.runs.iter().map(|r| render::details(r, context.terminal)).collect();
    if comparison.runs.len() > 1 {
        out.push(render::comparison(&comparison, false, context.terminal));
    } else {
        out.extend(render::notes(&comparison, context.terminal));
    }
    Ok(out.join("\n"))
}
