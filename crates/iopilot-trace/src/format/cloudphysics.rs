//! CloudPhysics CSV: a header `version,time,op,size,lbn`, then time in microseconds, the SCSI operation code in
//! hexadecimal, the size in bytes, the block of 512 bytes.

use super::scsi;
use crate::TraceRecord;
use crate::fields::{Fields, extent, hexadecimal, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::reader::Records;
use crate::side::Side;
use crate::source::Source;
use iopilot_block::{Op, SECTOR_BYTES};
use std::io::{self, Write};

/// The header.
pub(crate) const HEADER: &str = "version,time,op,size,lbn";

pub(crate) fn reader(source: Source) -> Box<dyn Records> {
    let mut first = true;
    LineRecords::boxed(source, move |line, side| {
        let header = std::mem::take(&mut first) && line.trim_ascii() == HEADER.as_bytes();
        if header { Ok(None) } else { parse(line, side) }
    })
}

pub(crate) fn parse(line: &[u8], side: &mut Side) -> Parsed {
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
        side.notes.other_commands += 1;
        return Ok(None);
    };
    let sectors = if op == Op::Flush { 0 } else { size.div_ceil(SECTOR_BYTES) };
    Ok(transfer(side, arrival, op, extent(block, sectors)?))
}

/// Times are rounded to the nearest microsecond, all that the format holds.
pub(crate) fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let opcode = match record.op {
        Op::Read => "28",
        Op::Write => "2a",
        Op::Flush => "35",
        Op::Discard => "42",
    };
    writeln!(out, "1,{},{opcode},{},{}", (record.arrival.0 + 500) / 1000, record.sectors.bytes(), record.lba)
}
