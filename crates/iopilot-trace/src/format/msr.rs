//! MSR Cambridge CSV (Narayanan et al., FAST 2008): `timestamp,host,disk,Read|Write,offset,size,response`.
//!
//! The timestamp is a Windows file time of the arrival and the response a length, both in units of 100 ns; offset and
//! size are bytes. Devices are numbered in order of appearance, by host and disk.

use crate::TraceRecord;
use crate::fields::{Fields, byte_extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::reader::Records;
use crate::side::Side;
use crate::source::Source;
use iopilot_block::{Nanos, Op};
use std::io::{self, Write};

pub(crate) fn reader(source: Source) -> Box<dyn Records> {
    let mut first = true;
    LineRecords::boxed(source, move |line, side| {
        let header =
            std::mem::take(&mut first) && line.trim_ascii_start().to_ascii_lowercase().starts_with(b"timestamp");
        if header { Ok(None) } else { parse(line, side) }
    })
}

pub(crate) fn parse(line: &[u8], side: &mut Side) -> Parsed {
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
    let Some(mut record) = transfer(side, arrival, op, byte_extent(offset, size)?) else { return Ok(None) };
    record.completion = Some(arrival.saturating_add(response));
    let mut name = host.to_vec();
    name.extend_from_slice(format!(".{disk}").as_bytes());
    record.device = side.device(&name);
    Ok(Some(record))
}

/// The response of a request without a completion is written as 0.
pub(crate) fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let op = if record.op == Op::Read { "Read" } else { "Write" };
    let ticks = |time: Nanos| (time.0 + 50) / 100;
    let arrival = ticks(record.arrival);
    let response = record.completion.map_or(0, |c| ticks(c).saturating_sub(arrival));
    let (offset, size) = (record.lba.0 * 512, record.sectors.bytes());
    writeln!(out, "{arrival},iopilot,{},{op},{offset},{size},{response}", record.device)
}
