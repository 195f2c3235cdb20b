//! CloudPhysics CSV: a header `version,time,op,size,lbn`, then time in microseconds, the SCSI operation code in
//! hexadecimal, the size in bytes, the block of 512 bytes.

use super::columns::CsvRow;
use super::detect::Detect;
use super::scsi;
use super::spec::{Columns, FormatSpec, Input, Writing, in_units};
use crate::fields::{Fields, extent, hexadecimal, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::line_writer::LineWriter;
use crate::metadata::TraceMetadata;
use crate::reader::Records;
use crate::{TraceError, TraceRecord};
use iopilot_block::{Nanos, Op, SECTOR_BYTES};
use std::io::{self, Write};

/// The header.
const HEADER: &str = "version,time,op,size,lbn";

/// Times are microseconds.
const UNIT: Nanos = Nanos(1000);

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "cloudphysics",
    summary: "CloudPhysics CSV",
    endings: &[],
    detect: &[
        Detect::FirstLine(|line| line == HEADER.as_bytes()),
        Detect::Text(|head| {
            CsvRow::first(head).is_some_and(|row| {
                let code = row.0.get(2).is_some_and(|f| f.len() <= 4 && hexadecimal(f).is_some());
                row.0.len() == 5 && row.word(0, &[b"1"]) && code && row.numbers(&[1, 3, 4])
            })
        }),
    ],
    open,
    file_set: None,
    writing: Some(Writing {
        time_unit: UNIT,
        keeps: Columns::FLUSH_AND_DISCARD,
        create: |path, file| LineWriter::create(path, file, HEADER, write),
    }),
};

fn open(input: Input<'_>) -> Result<Box<dyn Records>, TraceError> {
    let mut first = true;
    LineRecords::open(input, move |line, metadata| {
        let header = std::mem::take(&mut first) && line.trim_ascii() == HEADER.as_bytes();
        if header { Ok(None) } else { parse(line, metadata) }
    })
}

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
    let mut f = Fields::separated(line, b',');
    match f.text("version", "1")? {
        b"1" => {}
        other => return Err(invalid("version", other, "1")),
    }
    let arrival = f.time("time", 3)?;
    let field = f.text("op", "a SCSI operation code in hexadecimal")?;
    let opcode = hexadecimal(field).and_then(|code| u8::try_from(code).ok());
    let opcode = opcode.ok_or_else(|| invalid("op", field, "a SCSI operation code in hexadecimal"))?;
    let size = f.number("size")?;
    let block = f.number("lbn")?;
    f.end()?;
    let Some(op) = scsi::op(opcode) else {
        metadata.notes.other_commands += 1;
        return Ok(None);
    };
    let sectors = if op == Op::Flush { 0 } else { size.div_ceil(SECTOR_BYTES) };
    Ok(transfer(metadata, arrival, op, extent(block, sectors)?))
}

fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let opcode = match record.op {
        Op::Read => "28",
        Op::Write => "2a",
        Op::Flush => "35",
        Op::Discard => "42",
    };
    writeln!(out, "1,{},{opcode},{},{}", in_units(record.arrival, UNIT), record.sectors.bytes(), record.lba)
}
