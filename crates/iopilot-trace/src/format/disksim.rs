//! DiskSim's default ("ascii") input: `time(ms) device block blocks flags(hex)`, blocks of 512 bytes.
//!
//! Of the flags, bit 0 is a read (`READ`), 0x2 a request that a process waits for (`TIME_CRITICAL`), 0x4 one that a
//! process will wait for (`TIME_LIMITED`), 0x80 a synchronous one (DiskSim 4.0 reference manual, 6.1).

use super::Format;
use super::five_numbers::FiveNumbers;
use super::spec::{Detect, FormatSpec, KeptFields, Writing};
use crate::TraceRecord;
use crate::fields::{Fields, extent, hexadecimal, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::line_writer::LineWriter;
use crate::metadata::TraceMetadata;
use iopilot_block::{Flags, Nanos, Op};
use std::io::{self, Write};

const READ: u64 = 0x1;
const TIME_CRITICAL: u64 = 0x2;
const TIME_LIMITED: u64 = 0x4;
const SYNCHRONOUS: u64 = 0x80;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "disksim",
    summary: "DiskSim's default input",
    endings: &[],
    detect: &[Detect::Text(|head| FiveNumbers::of(head).is_some_and(|of| of.fits(Format::Disksim)))],
    open: |input| LineRecords::open(input, parse),
    file_set: None,
    sample: "\
        0.500000 0 8 16 01\n\
        1.250000 1 99 3 00\n",
    writing: Some(Writing {
        time_unit: Nanos(1),
        keeps: KeptFields::DEVICE_NUMBER.union(KeptFields::SYNC_AND_READ_AHEAD),
        create: |path, file| LineWriter::create(path, file, "", write),
    }),
};

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
    let mut f = Fields::blank_separated(line);
    let arrival = f.time("time", 6)?;
    let device = f.id("device")?;
    let lba = f.number("block")?;
    let sectors = f.number("blocks")?;
    let field = f.text("flags", "a hexadecimal number")?;
    let flags = hexadecimal(field).ok_or_else(|| invalid("flags", field, "a hexadecimal number"))?;
    f.end()?;
    let op = if flags & READ != 0 { Op::Read } else { Op::Write };
    let Some(mut record) = transfer(metadata, arrival, op, extent(lba, sectors)?) else { return Ok(None) };
    record.device = device;
    record.flags.set(Flags::SYNC, op == Op::Write && flags & (TIME_CRITICAL | SYNCHRONOUS) != 0);
    record.flags.set(Flags::READ_AHEAD, op == Op::Read && flags & TIME_LIMITED != 0);
    Ok(Some(record))
}

/// Flags are written with two digits, which distinguish this format from the others of five numbers.
fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let mut flags = 0;
    if record.op == Op::Read {
        flags |= READ;
    }
    if record.flags.contains(Flags::READ_AHEAD) {
        flags |= TIME_LIMITED;
    }
    if record.op == Op::Write && record.flags.contains(Flags::SYNC) {
        flags |= TIME_CRITICAL | SYNCHRONOUS;
    }
    let (ms, ns) = (record.arrival.0 / 1_000_000, record.arrival.0 % 1_000_000);
    writeln!(out, "{ms}.{ns:06} {} {} {} {flags:02x}", record.device, record.lba, record.sectors)
}
