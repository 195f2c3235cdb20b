//! SPC-1 as the UMass repository distributes it: `ASU,LBA,size,opcode,timestamp[,...]`.
//!
//! Addresses are in 512-byte sectors, sizes in bytes, the opcode is `R` or `W` in either case, times in seconds. The
//! device is the ASU (application storage unit). Further columns are optional in SPC-1 and not read.

use super::columns::CsvRow;
use super::spec::{Detect, FormatSpec, KeptFields, Writing};
use crate::TraceRecord;
use crate::fields::{Fields, decimal, extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::line_writer::LineWriter;
use crate::metadata::TraceMetadata;
use iopilot_block::{Nanos, Op, SECTOR_BYTES};
use std::io::{self, Write};

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "spc",
    summary: "SPC-1 as in the UMass repository",
    endings: &[],
    detect: &[Detect::Text(|head| {
        CsvRow::first(head).is_some_and(|row| {
            row.numbers(&[0, 1, 2]) && row.letter(3, b"RWrw") && row.0.get(4).is_some_and(|f| decimal(f, 9).is_some())
        })
    })],
    open: |input| LineRecords::open(input, parse),
    file_set: None,
    sample: "\
        0,8,4096,R,0.5\n\
        1,16,512,w,1.25\n",
    writing: Some(Writing {
        time_unit: Nanos(1),
        keeps: KeptFields::DEVICE_NUMBER,
        create: |path, file| LineWriter::create(path, file, "", write),
    }),
};

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
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
    let Some(mut record) = transfer(metadata, arrival, op, extent) else { return Ok(None) };
    record.device = device;
    Ok(Some(record))
}

fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let op = if record.op == Op::Read { 'R' } else { 'W' };
    let (s, ns) = (record.arrival.0 / 1_000_000_000, record.arrival.0 % 1_000_000_000);
    writeln!(out, "{},{},{},{op},{s}.{ns:09}", record.device, record.lba, record.sectors.bytes())
}
