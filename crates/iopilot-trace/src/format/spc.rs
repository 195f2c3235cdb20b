//! SPC-1 as the UMass repository distributes it: `ASU,LBA,size,opcode,timestamp[,...]`.
//!
//! Addresses are in 512-byte sectors, sizes in bytes, the opcode is `R` or `W` in either case, times in seconds. The
//! device is the ASU (application storage unit). Further columns are optional in SPC-1 and not read.

use crate::TraceRecord;
use crate::fields::{Fields, extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::reader::Records;
use crate::side::Side;
use crate::source::Source;
use iopilot_block::{Op, SECTOR_BYTES};
use std::io::{self, Write};

pub(crate) fn reader(source: Source) -> Box<dyn Records> {
    LineRecords::boxed(source, parse)
}

pub(crate) fn parse(line: &[u8], side: &mut Side) -> Parsed {
    let mut f = Fields::separated(line, b',');
    let device = f.id("ASU")?;
    let lba = f.number("LBA")?;
    let bytes = f.number("size")?;
    let op = match f.text("opcode", "R or W")? {
        b"R" | b"r" => Op::Read,
        b"W" | b"w" => Op::Write,
        other => return Err(invalid("opcode", other, "R or W")),
    };
    let arrival = f.time("timestamp", 9)?;
    let extent = extent(lba, bytes.div_ceil(SECTOR_BYTES))?;
    let Some(mut record) = transfer(side, arrival, op, extent) else { return Ok(None) };
    record.device = device;
    Ok(Some(record))
}

pub(crate) fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let op = if record.op == Op::Read { 'R' } else { 'W' };
    let (s, ns) = (record.arrival.0 / 1_000_000_000, record.arrival.0 % 1_000_000_000);
    writeln!(out, "{},{},{},{op},{s}.{ns:09}", record.device, record.lba, record.sectors.bytes())
}
