//! Alibaba Cloud's block traces of 2020 (Li et al., IISWC 2020): `device,R|W,offset,length,timestamp`, offset and
//! length in bytes, times in microseconds; perhaps with a header.

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
    name: "alibaba",
    summary: "Alibaba Cloud 2020",
    endings: &[],
    detect: &[Detect::Text(|head| {
        CsvRow::first(head).is_some_and(|row| row.0.len() == 5 && row.numbers(&[0, 2, 3, 4]) && row.letter(1, b"RW"))
    })],
    open,
    file_set: None,
    sample: "",
    writing: Some(Writing {
        time_unit: UNIT,
        keeps: KeptFields::DEVICE_NUMBER,
        create: |path, file| LineWriter::create(path, file, "", write),
    }),
};

/// Times are microseconds.
const UNIT: Nanos = Nanos(1000);

fn open(input: FormatInput<'_>) -> Result<Box<dyn Records>, TraceError> {
    let mut first = true;
    LineRecords::open(input, move |line, metadata| {
        let header = std::mem::take(&mut first) && line.trim_ascii_start().starts_with(b"device_id");
        if header { Ok(None) } else { parse(line, metadata) }
    })
}

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
    let mut f = Fields::separated(line, b',');
    let device = f.id("device")?;
    let op = match f.text("opcode", "R or W")? {
        b"R" => Op::Read,
        b"W" => Op::Write,
        other => return Err(invalid("opcode", other, "R or W")),
    };
    let offset = f.number("offset")?;
    let length = f.number("length")?;
    let arrival = f.time("timestamp", 3)?;
    f.end()?;
    let Some(mut record) = transfer(metadata, arrival, op, byte_extent(offset, length)?) else { return Ok(None) };
    record.device = device;
    Ok(Some(record))
}

fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let op = if record.op == Op::Read { 'R' } else { 'W' };
    let (offset, length) = (record.lba.0 * 512, record.sectors.bytes());
    writeln!(out, "{},{op},{offset},{length},{}", record.device, in_units(record.arrival, UNIT))
}
