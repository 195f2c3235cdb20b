//! `iopilot trace convert`.

use super::{format_to_write, read_options, tell_notes};
use crate::args::ConvertArgs;
use crate::commands::{CommandContext, session};
use iopilot_render::number::short_count;
use iopilot_trace::{TraceReader, TraceWriter};

/// Writes a trace in another format, a record at a time.
pub(super) fn run(args: &ConvertArgs, context: &CommandContext) -> anyhow::Result<String> {
    session::check_writable("output", Some(&args.output))?;
    let options = read_options(args.format.as_ref(), &args.columns, args.device, args.order)?;
    let target = format_to_write(&args.output, args.to.as_ref())?;
    let mut reader = TraceReader::open(&args.input, &options)?;
    let mut writer = TraceWriter::create(&args.output, target)?;
    let names = reader.device_names().to_vec();
    writer.set_device_names(&names);
    for record in reader.by_ref() {
        writer.write(&record?)?;
    }
    if reader.device_names().len() > names.len() {
        writer.set_device_names(reader.device_names());
    }
    writer.set_process_names(reader.process_names());
    if let Some(system) = reader.recorded_system() {
        writer.set_recorded_system(system);
    }
    let (written, skipped) = (writer.written(), writer.skipped());
    writer.finish()?;
    tell_notes(&reader, written + skipped, context);
    context.note(format_args!(
        "{} requests written to {} ({target})",
        short_count(written as f64),
        args.output.display()
    ));
    if skipped > 0 {
        context.note(format_args!("{skipped} flushes and discards left out: {target} knows none"));
    }
    Ok(String::new())
}
