//! `iopilot trace record`.

use super::format_to_write;
use crate::args::RecordArgs;
use crate::commands::{CommandContext, session};
use crate::failure::CommandFailed;
use iopilot_live::{RecordOptions, record};
use iopilot_trace::{TraceError, TraceWriter};
use std::ops::ControlFlow;

/// Records a device to a file.
pub(super) fn run(args: &RecordArgs, context: &CommandContext) -> anyhow::Result<String> {
    session::check_writable("--output", Some(&args.output))?;
    let format = format_to_write(&args.output, args.to.as_ref())?;
    let mut options = RecordOptions::new(&args.device);
    options.command = (!args.command.is_empty()).then(|| args.command.clone());
    options.duration = args.duration;
    options.capture.backend = args.backend.parse()?;
    options.capture.buffer_kb = args.buffer_kb;
    let mut writer = TraceWriter::create(&args.output, format)?;
    let mut failure: Option<TraceError> = None;
    if options.command.is_none() && options.duration.is_none() {
        context.note("recording; ctrl-C ends it");
    }
    let summary = record(&options, &mut |request| match writer.write(&request) {
        Ok(()) => ControlFlow::Continue(()),
        Err(e) => {
            failure = Some(e);
            ControlFlow::Break(())
        }
    })?;
    if let Some(e) = failure {
        return Err(anyhow::Error::from(e).context("recording ended early"));
    }
    if let Some(note) = &summary.note {
        context.note(note);
    }
    writer.set_process_names(&summary.process_names);
    writer.set_recorded_system(&summary.system);
    writer.finish()?;
    let seconds = summary.elapsed.as_secs_f64();
    context.note(format_args!("{} requests in {seconds:.1} s written to {}", summary.requests, args.output.display()));
    if summary.requests == 0 {
        context.note("no request reached the device: reads may have been cached, and writes not synced");
    }
    if summary.incomplete > 0 {
        context.note(format_args!("the completion of {} of them was not seen", summary.incomplete));
    }
    if summary.lost_events > 0 {
        let lost = summary.lost_events;
        context.note(format_args!("{lost} trace events were lost: record again with a larger --buffer-kb"));
    }
    match summary.exit_status {
        // The end of the recording ended the command, as the user wanted.
        Some(status) if status.code().is_none() && (summary.signal.is_some() || args.duration.is_some()) => {}
        Some(status) if !status.success() => {
            context.note(format_args!("the command ended with {status}"));
            return Err(CommandFailed::with(status).into());
        }
        _ => {}
    }
    Ok(String::new())
}
