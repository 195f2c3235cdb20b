//! MQSim's ASCII input: `time(ns) device block blocks type`, blocks of 512 bytes, type 0 for a write and 1 for a read.

use super::Format;
use super::five_numbers::FiveNumbers;
use super::spec::{Detect, FormatSpec, KeptFields, Writing};
use crate::TraceRecord;
use crate::fields::{Fields, extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::line_writer::LineWriter;
use crate::metadata::TraceMetadata;
use iopilot_block::{Nanos, Op};
use std::io::{self, Write};

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "mqsim",
    summary: "MQSim's ASCII input",
    endings: &[],
    detect: &[Detect::Text(|head| FiveNumbers::of(head).is_some_and(|of| of.fits(Format::Mqsim)))],
    open: |input| LineRecords::open(input, parse),
    file_set: None,
    sample: "\
        0100 0 8 16 0\n\
        0200 1 16 8 1\n",
    writing: Some(Writing {
        time_unit: Nanos(1),
        keeps: KeptFields::DEVICE_NUMBER,
        create: |path, file| LineWriter::create(path, file, "", write),
    }),
};

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
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
    let Some(mut record) = transfer(metadata, arrival, op, extent(lba, sectors)?) else { return Ok(None) };
    record.device = device;
    Ok(Some(record))
}

/// The zero before the time distinguishes this format from the others of five numbers.
fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let (arrival, read) = (record.arrival.0, u8::from(record.op == Op::Read));
    writeln!(out, "0{arrival} {} {} {} {read}", record.device, record.lba, record.sectors)
}
