//! MQSim's ASCII input: `time(ns) device block blocks type`, blocks of 512 bytes, type 0 for a write and 1 for a read.

use crate::TraceRecord;
use crate::fields::{Fields, extent, invalid};
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
    let arrival = f.time("time", 0)?;
    let device = f.id("device")?;
    let lba = f.number("block")?;
    let sectors = f.number("blocks")?;
    let op = match f.text("type", "0 (write) or 1 (read)")? {
        b"1" => Op::Read,
        b"0" => Op::Write,
        other => return Err(invalid("type", other, "0 (write) or 1 (read)")),
    };
    f.end()?;
    let Some(mut record) = transfer(side, arrival, op, extent(lba, sectors)?) else { return Ok(None) };
    record.device = device;
    Ok(Some(record))
}

pub(crate) fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let (arrival, read) = (record.arrival.0, u8::from(record.op == Op::Read));
    writeln!(out, "{arrival} {} {} {} {read}", record.device, record.lba, record.sectors)
}
