//! CloudPhysics CSV: a header `version,time,op,size,lbn`, then the time, the SCSI operation code in hexadecimal, the size
//! in bytes, the block of 512 bytes.
//!
//! The one public file with this header (`trace.csv` of PyMimircache and libCacheSim, whose FAQ says "the time unit is
//! in sec") counts whole seconds. Times from 10^10 on are microseconds, as in the vscsi trace that it was made from: as
//! seconds they would be centuries. Written files have seconds with six decimals.

use super::columns::CsvRow;
use super::scsi;
use super::spec::{Detect, FormatInput, FormatSpec, KeptFields, Records, Writing, in_units};
use crate::fields::{Fields, decimal, extent, hexadecimal, integer, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::line_writer::LineWriter;
use crate::metadata::TraceMetadata;
use crate::{TraceError, TraceRecord};
use iopilot_block::{Nanos, Op, SECTOR_BYTES};
use std::io::{self, Write};

/// The header.
const HEADER: &str = "version,time,op,size,lbn";

/// Times are written to the microsecond.
const UNIT: Nanos = Nanos(1000);

/// Whole times from here on are microseconds.
const MICROSECONDS: u64 = 10_000_000_000;

/// The note to the user on whole seconds.
const WHOLE_SECONDS: &str = "times are taken for whole seconds, so that requests of one second arrive together; where \
                             they are microseconds: --columns -,time_us,opcode,bytes,lba";

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "cloudphysics",
    summary: "CloudPhysics CSV",
    endings: &[],
    detect: &[
        Detect::FirstLine(|line| line == HEADER.as_bytes()),
        Detect::Text(|head| {
            CsvRow::first(head).is_some_and(|row| {
                let code = row.0.get(2).is_some_and(|f| f.len() <= 4 && hexadecimal(f).is_some());
                let time = row.0.get(1).is_some_and(|f| decimal(f, 0).is_some());
                row.0.len() == 5 && row.word(0, &[b"1"]) && code && time && row.numbers(&[3, 4])
            })
        }),
    ],
    open,
    file_set: None,
    sample: "",
    writing: Some(Writing {
        time_unit: UNIT,
        keeps: KeptFields::FLUSH_AND_DISCARD,
        create: |path, file| LineWriter::create(path, file, HEADER, write),
    }),
};

fn open(input: FormatInput<'_>) -> Result<Box<dyn Records>, TraceError> {
    let (mut first, mut exponent) = (true, None);
    LineRecords::open(input, move |line, metadata| {
        let header = std::mem::take(&mut first) && line.trim_ascii() == HEADER.as_bytes();
        if header { Ok(None) } else { parse(line, &mut exponent, metadata) }
    })
}

/// The unit of the times of a file whose first time is `time`, as a power of ten of nanoseconds.
fn unit(time: &[u8], metadata: &mut TraceMetadata) -> u32 {
    match integer(time) {
        Some(n) if n >= MICROSECONDS => 3,
        Some(_) => {
            metadata.notes.remarks.push(WHOLE_SECONDS.to_owned());
            9
        }
        None => 9,
    }
}

fn parse(line: &[u8], exponent: &mut Option<u32>, metadata: &mut TraceMetadata) -> Parsed {
    let mut f = Fields::separated(line, b',');
    match f.text("version", "1")? {
        b"1" => {}
        other => return Err(invalid("version", other, "1")),
    }
    let exponent = *exponent.get_or_insert_with(|| unit(f.clone().optional().unwrap_or_default(), metadata));
    let arrival = f.time("time", exponent)?;
    let field = f.text("op", "a SCSI operation code in hexadecimal")?;
    let opcode = hexadecimal(field).and_then(|code| u8::try_from(code).ok());
    let opcode = opcode.ok_or_else(|| invalid("op", field, "a SCSI operation code in hexadecimal"))?;
    let size = f.number("size")?;
    let block = f.number("lbn")?;
    f.end()?;
    let Some(op) = scsi::op(opcode) else {
        metadata.notes.other_commands += 1;
        return Ok(None);
    };
    let sectors = if op == Op::Flush { 0 } else { size.div_ceil(SECTOR_BYTES) };
    Ok(transfer(metadata, arrival, op, extent(block, sectors)?))
}

fn write(record: &TraceRecord, out: &mut dyn Write) -> io::Result<()> {
    let opcode = match record.op {
        Op::Read => "28",
        Op::Write => "2a",
        Op::Flush => "35",
        Op::Discard => "42",
    };
    let us = in_units(record.arrival, UNIT);
    let (s, us) = (us / 1_000_000, us % 1_000_000);
    writeln!(out, "1,{s}.{us:06},{opcode},{},{}", record.sectors.bytes(), record.lba)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rows: &[&str]) -> (Vec<u64>, Vec<String>) {
        let (mut metadata, mut exponent) = (TraceMetadata::default(), None);
        let times =
            rows.iter().map(|row| parse(row.as_bytes(), &mut exponent, &mut metadata).unwrap().unwrap().arrival.0);
        (times.collect(), metadata.notes.remarks)
    }

    #[test]
    fn whole_times_are_seconds_unless_they_would_be_centuries() {
        let (seconds, remarks) = times(&["1,5000000,2a,4096,1000", "1,5007200,28,4096,9000"]);
        assert_eq!(seconds[1] - seconds[0], 7200 * 1_000_000_000);
        assert!(remarks[0].contains("taken for whole seconds"), "{remarks:?}");
        let (micros, remarks) = times(&["1,5633898368802,2a,512,42932745", "1,5633898611441,2a,512,8"]);
        assert_eq!((micros[1] - micros[0], remarks.len()), (242_639_000, 0));
        let (decimals, remarks) = times(&["1,0.000000,2a,512,8", "1,0.000250,2a,512,8"]);
        assert_eq!((decimals, remarks.len()), (vec![0, 250_000], 0));
    }
}
