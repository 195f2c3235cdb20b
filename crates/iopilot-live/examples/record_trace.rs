//! Records a trace of a block device while a command runs: `record_trace /dev/X -o FILE.parquet -- COMMAND...`, as
//! `iopilot trace record` does, for a build of this crate alone.

use iopilot_live::{RecordOptions, RecordSummary, record};
use iopilot_trace::{Format, TraceWriter};
use std::ops::ControlFlow;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [device, option, file, separator, command @ ..] = arguments.as_slice() else {
        return Err("usage: record_trace /dev/X -o FILE.parquet -- COMMAND...".into());
    };
    if option != "-o" || separator != "--" || command.is_empty() {
        return Err("usage: record_trace /dev/X -o FILE.parquet -- COMMAND...".into());
    }
    let mut writer = TraceWriter::create(file.as_ref(), Format::Parquet)?;
    writer.set_device_names(&[device.to_string_lossy().into_owned()]);
    let mut options = RecordOptions::new(device);
    options.command = Some(command.to_vec());
    let mut failure = None;
    let summary = record(&options, &mut |r| match writer.write(&r) {
        Ok(()) => ControlFlow::Continue(()),
        Err(e) => {
            failure = Some(e);
            ControlFlow::Break(())
        }
    })?;
    if let Some(error) = failure {
        return Err(error.into());
    }
    writer.set_process_names(&summary.process_names);
    writer.finish()?;
    let RecordSummary { requests, incomplete, lost_events, elapsed, .. } = summary;
    println!("{requests} requests, {incomplete} incomplete, {lost_events} events lost, {:.2} s", elapsed.as_secs_f64());
    match summary.exit_status {
        Some(status) if !status.success() => Err(format!("the command ended with {status}").into()),
        _ => Ok(()),
    }
}
