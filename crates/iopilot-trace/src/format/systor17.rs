//! The virtual desktops of SYSTOR '17 (Lee et al.), as SNIA's IOTTA repository distributes them:
//! `Timestamp,Response,IOType,LUN,Offset,Size`, both times in seconds, offset and size in bytes, the type `R` or `W`.
//!
//! A request without an answer has a blank type. As its operation is unknown, it is left out and counted.

use super::columns::CsvRow;
use super::spec::{Detect, FormatSpec};
use crate::fields::{Fields, byte_extent, decimal, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::metadata::TraceMetadata;
use iopilot_block::Op;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "systor17",
    summary: "SYSTOR '17 virtual desktops",
    endings: &[],
    detect: &[
        Detect::FirstLine(is_header),
        Detect::Text(|head| {
            CsvRow::first(head).is_some_and(|row| {
                let time = row.0.first().is_some_and(|f| f.contains(&b'.') && decimal(f, 9).is_some());
                let kind = row.letter(2, b"RW") || row.0.get(2).is_some_and(|f| f.is_empty());
                row.0.len() == 6 && time && kind && row.numbers(&[3, 4, 5])
            })
        }),
    ],
    open: |input| {
        let mut first = true;
        LineRecords::open(input, move |line, metadata| {
            if std::mem::take(&mut first) && is_header(line) { Ok(None) } else { parse(line, metadata) }
        })
    },
    file_set: None,
    sample: "",
    writing: None,
};

fn is_header(line: &[u8]) -> bool {
    line.trim_ascii().to_ascii_lowercase().starts_with(b"timestamp,response,iotype,lun,")
}

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
    let mut f = Fields::separated(line, b',');
    let arrival = f.time("timestamp", 9)?;
    let response = f.text("response", "seconds, or nothing")?;
    let op = match f.text("type", "R or W, or nothing")? {
        b"R" => Some(Op::Read),
        b"W" => Some(Op::Write),
        b"" => None,
        other => return Err(invalid("type", other, "R or W, or nothing")),
    };
    let device = f.id("LUN")?;
    let offset = f.number("offset")?;
    let size = f.number("size")?;
    f.end()?;
    let extent = byte_extent(offset, size)?;
    let Some(op) = op else {
        metadata.notes.other_commands += 1;
        return Ok(None);
    };
    let completion = match response {
        b"" => None,
        text => {
            let length = decimal(text, 9).ok_or_else(|| invalid("response", text, "seconds, not negative"))?;
            Some(arrival.saturating_add(iopilot_block::Nanos(length)))
        }
    };
    let Some(mut record) = transfer(metadata, arrival, op, extent) else { return Ok(None) };
    record.completion = completion;
    record.device = device;
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Nanos;

    #[test]
    fn a_blank_type_is_left_out_and_a_blank_response_is_unknown() {
        let mut metadata = TraceMetadata::default();
        let mut read = |line: &str| parse(line.as_bytes(), &mut metadata).unwrap();
        let r = read("1456135200.013118000,0.000250000,W,4,4096,8192").unwrap();
        assert_eq!((r.completion.unwrap() - r.arrival, r.device, r.lba.0, r.sectors.0), (Nanos(250_000), 4, 8, 16));
        assert_eq!(read("1456135200.013118000,,R,4,4096,8192").unwrap().completion, None);
        assert!(read("1456135200.013118000,,,4,4096,8192").is_none());
        assert_eq!(metadata.notes.other_commands, 1);
    }
}
