//! Alibaba Cloud's block traces of 2020 (Li et al., IISWC 2020): `device,R|W,offset,length,timestamp`, offset and
//! length in bytes, times in microseconds; perhaps with a header.

use crate::TraceRecord;
use crate::fields::{Fields, byte_extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::reader::Records;
use crate::side::Side;
use crate::source::Source;
use iopilot_block::Op;
use std::io::{self, Write};

pub(crate) fn reader(source: Source) -> Box<dyn Records> {
    let mut first = true;
    LineRecords::boxed(source, move |line, side| {
        let header = std::mem::take(&mut first) && line.trim_ascii_start().starts_with(b"device_id");
        if header { Ok(None) } else { parse(line, side) }
    })
}

pub(crate) fn parse(line: &[u8], side: &mut Side) -> Parsed {
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
    let Some(mut record) = transfer(side, arrival, op, byte_extent(offset, length)?) else { return Ok(None) };
    record.device = device;
    Ok(Some(record))
}

/// Times are rounded to the nearest microsecond, all that the format holds.
pub(crate) fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let op = if record.op == Op::Read { 'R' } else { 'W' };
    let (offset, length) = (record.lba.0 * 512, record.sectors.bytes());
    writeln!(out, "{},{op},{offset},{length},{}", record.device, (record.arrival.0 + 500) / 1000)
}
