//! MSR Cambridge CSV (Narayanan et al., FAST 2008): `timestamp,host,disk,Read|Write,offset,size,response`.
//!
//! The timestamp is a Windows file time of the arrival and the response a length, both in units of 100 ns; offset and
//! size are bytes. Devices are numbered in order of appearance, by host and disk.

use super::columns::CsvRow;
use super::spec::{Detect, FormatInput, FormatSpec, KeptFields, Records, Writing, in_units};
use crate::fields::{Fields, byte_extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::line_writer::LineWriter;
use crate::metadata::TraceMetadata;
use crate::{TraceError, TraceRecord};
use iopilot_block::{Nanos, Op};
use std::io::{self, Write};

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "msr",
    summary: "MSR Cambridge CSV",
    endings: &[],
    detect: &[Detect::Text(|head| {
        CsvRow::first(head)
            .is_some_and(|row| row.0.len() == 7 && row.numbers(&[0, 4, 5]) && row.word(3, &[b"read", b"write"]))
    })],
    open,
    file_set: None,
    sample: "",
    writing: Some(Writing {
        time_unit: UNIT,
        keeps: KeptFields::DEVICE_NAME.union(KeptFields::COMPLETION),
        create: |path, file| LineWriter::create(path, file, "", write),
    }),
};

/// Times are multiples of 100 ns.
const UNIT: Nanos = Nanos(100);

fn open(input: FormatInput<'_>) -> Result<Box<dyn Records>, TraceError> {
    let mut first = true;
    LineRecords::open(input, move |line, metadata| {
        let header =
            std::mem::take(&mut first) && line.trim_ascii_start().to_ascii_lowercase().starts_with(b"timestamp");
        if header { Ok(None) } else { parse(line, metadata) }
    })
}

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
    let mut f = Fields::separated(line, b',');
    let arrival = f.time("timestamp", 2)?;
    let host = f.text("host", "a host name")?;
    let disk = f.id("disk")?;
    let op = match f.text("type", "Read or Write")? {
        word if word.eq_ignore_ascii_case(b"read") => Op::Read,
        word if word.eq_ignore_ascii_case(b"write") => Op::Write,
        other => return Err(invalid("type", other, "Read or Write")),
    };
    let offset = f.number("offset")?;
    let size = f.number("size")?;
    let response = f.time("response", 2)?;
    f.end()?;
    let Some(mut record) = transfer(metadata, arrival, op, byte_extent(offset, size)?) else { return Ok(None) };
    record.completion = Some(arrival.saturating_add(response));
    let mut name = host.to_vec();
    name.extend_from_slice(format!(".{disk}").as_bytes());
    record.device = metadata.device(&name);
    Ok(Some(record))
}

/// The response of a request without a completion is written as 0.
fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let op = if record.op == Op::Read { "Read" } else { "Write" };
    let arrival = in_units(record.arrival, UNIT);
    let response = record.completion.map_or(0, |c| in_units(c, UNIT).saturating_sub(arrival));
    let (offset, size) = (record.lba.0 * 512, record.sectors.bytes());
    writeln!(out, "{arrival},iopilot,{},{op},{offset},{size},{response}", record.device)
}
