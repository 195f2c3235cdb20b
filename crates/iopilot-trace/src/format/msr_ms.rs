//! The cut of MSR Cambridge volumes with times in milliseconds: `time(ms) device offset size type`, offset and size in
//! bytes, type 1 for a read and 0 for a write.

use super::Format;
use super::five_numbers::FiveNumbers;
use super::spec::{Detect, FormatSpec, KeptFields, Writing};
use crate::TraceRecord;
use crate::fields::{Fields, byte_extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::line_writer::LineWriter;
use crate::metadata::TraceMetadata;
use iopilot_block::{Nanos, Op};
use std::io::{self, Write};

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "msr-ms",
    summary: "a cut of MSR Cambridge volumes",
    endings: &[],
    detect: &[Detect::Text(|head| FiveNumbers::of(head).is_some_and(|of| of.fits(Format::MsrMs)))],
    open: |input| LineRecords::open(input, parse),
    file_set: None,
    sample: "\
        00.000 0 4096 512 1\n\
        02.5 1 0 1024 0\n",
    writing: Some(Writing {
        time_unit: Nanos(1),
        keeps: KeptFields::DEVICE_NUMBER,
        create: |path, file| LineWriter::create(path, file, "", write),
    }),
};

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
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
    let Some(mut record) = transfer(metadata, arrival, op, byte_extent(offset, size)?) else { return Ok(None) };
    record.device = device;
    Ok(Some(record))
}

/// The zero before the time distinguishes this format from the others of five numbers.
fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let (ms, ns) = (record.arrival.0 / 1_000_000, record.arrival.0 % 1_000_000);
    let (offset, size) = (record.lba.0 * 512, record.sectors.bytes());
    writeln!(out, "0{ms}.{ns:06} {} {offset} {size} {}", record.device, u8::from(record.op == Op::Read))
}
