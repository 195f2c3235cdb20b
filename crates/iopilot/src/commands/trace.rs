//! `iopilot trace`: describe, convert and record traces.

mod convert;
mod record;
mod stat;

use super::CommandContext;
use crate::args::{ColumnsArgs, ReorderArgs, TraceCommand};
use crate::render::{Alignment, Table};
use iopilot_block::InputError;
use iopilot_trace::{Format, ReadOptions, TraceReader};
use std::path::Path;

/// Runs the command and returns the text to print.
pub(crate) fn run(command: &TraceCommand, context: &CommandContext) -> anyhow::Result<String> {
    match command {
        TraceCommand::Stat(args) => stat::run(args, context),
        TraceCommand::Convert(args) => convert::run(args, context),
        TraceCommand::Record(args) => record::run(args, context),
        TraceCommand::Formats => Ok(formats(context)),
    }
}

fn formats(context: &CommandContext) -> String {
    let left = |title| (title, Alignment::Left);
    let mut table = Table::new(&[left("format"), left("read"), left("written"), left("what it is")]);
    for format in Format::ALL {
        let written = if format.is_writable() { "yes" } else { "-" };
        let cells = [format.name(), "yes", written, format.spec().summary];
        table.row(cells.into_iter().map(str::to_owned).collect());
    }
    table.render(context.terminal)
}

/// The format that `--format` names, where it is given.
fn format(name: Option<&String>) -> Result<Option<Format>, InputError> {
    name.map(|n| n.parse()).transpose()
}

/// The reading options, as the command line sets them.
fn read_options(
    name: Option<&String>,
    columns: &ColumnsArgs,
    device: Option<u32>,
    order: ReorderArgs,
) -> Result<ReadOptions, InputError> {
    let (format, columns) = (format(name)?, columns.layout()?);
    Ok(ReadOptions { format, columns, device, reorder: order.window(), ..ReadOptions::default() })
}

/// Notes how a trace of `requests` was read: what was assumed, left out, and put in order.
fn tell_notes(reader: &TraceReader, requests: u64, context: &CommandContext) {
    for line in reader.notes().lines() {
        context.note(line);
    }
    if requests == 0 {
        context.note("the trace holds no requests");
    }
}

/// The output format: the one asked for, else the one that the ending of `path` names.
pub(super) fn format_to_write(path: &Path, asked: Option<&String>) -> Result<Format, InputError> {
    if let Some(format) = format(asked)? {
        return Ok(format);
    }
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let bare = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    let by_name = bare.rsplit_once('.').and_then(|(_, ending)| Format::by_ending(ending));
    by_name.filter(|format| format.is_writable()).ok_or_else(|| {
        let endings: Vec<String> = Format::WRITABLE.iter().map(|f| format!(".{f}")).collect();
        let expected = format!("a name that ends in one of {}, or --to FORMAT", endings.join(", "));
        InputError::new("output", path.display().to_string(), expected)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_format() {
        let of = |name: &str| format_to_write(Path::new(name), None);
        assert_eq!(of("a/b.parquet").unwrap(), Format::Parquet);
        assert_eq!(of("b.iolog.gz").unwrap(), Format::FioIolog);
        assert_eq!(of("b.disksim.zst").unwrap(), Format::Disksim);
        assert!(of("b.csv").unwrap_err().to_string().contains("--to FORMAT"));
        assert!(of("parquet").is_err());
        assert_eq!(format_to_write(Path::new("b.csv"), Some(&"msr".to_owned())).unwrap(), Format::Msr);
    }
}
