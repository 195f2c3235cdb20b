//! The cut of MSR Cambridge volumes with times in milliseconds: `time(ms) device offset size type`, offset and size in
//! bytes, type 1 for a read and 0 for a write.

use crate::TraceRecord;
use crate::fields::{Fields, byte_extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::reader::Records;
use crate::side::Side;
use crate::source::Source;
use iopilot_block::Op;
use std::io::{self, Write};

pub(crate) fn reader(source: Source) -> Box<dyn Records> {
    LineRecords::boxed(source, parse)
}

pub(crate) fn parse(line: &[u8], side: &mut Side) -> Parsed {
    let mut f = Fields::blank_separated(line);
    let arrival = f.time("time", 6)?;
    let device = f.id("device")?;
    let offset = f.number("offset")?;
    let size = f.number("size")?;
    let op = match f.text("type", "0 (write) or 1 (read)")? {
        b"1" => Op::Read,
        b"0" => Op::Write,
        other => return Err(invalid("type", other, "0 (write) or 1 (read)")),
    };
    f.end()?;
    let Some(mut record) = transfer(side, arrival, op, byte_extent(offset, size)?) else { return Ok(None) };
    record.device = device;
    Ok(Some(record))
}

pub(crate) fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let (ms, ns) = (record.arrival.0 / 1_000_000, record.arrival.0 % 1_000_000);
    let (offset, size) = (record.lba.0 * 512, record.sectors.bytes());
    writeln!(out, "{ms}.{ns:06} {} {offset} {size} {}", record.device, u8::from(record.op == Op::Read))
}
