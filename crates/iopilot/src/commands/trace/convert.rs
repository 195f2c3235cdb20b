//! `iopilot trace convert`.

use super::{format, format_to_write};
use crate::args::Convert;
use crate::commands::{Context, session};
use crate::render::number::short_count;
use iopilot_trace::{ReadOptions, TraceReader, TraceWriter};

/// Writes a trace in another format, a record at a time.
pub(super) fn run(args: &Convert, context: &Context) -> anyhow::Result<String> {
    session::check_writable("output", Some(&args.output))?;
    let options = ReadOptions { format: format(args.format.as_ref())?, device: args.device, ..ReadOptions::default() };
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
    let (written, skipped) = (writer.written(), writer.skipped());
    writer.finish()?;
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
