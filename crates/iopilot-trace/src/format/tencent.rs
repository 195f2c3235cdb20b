//! Tencent's cloud block storage (Zhang et al., "OSCA", USENIX ATC 2020), as SNIA's IOTTA repository distributes it:
//! `timestamp,offset,size,type,volume`, times in whole seconds, offset and size in sectors of 512 bytes, type 0 for a read
//! and 1 for a write.

use super::columns::CsvRow;
use super::spec::{Detect, FormatSpec};
use crate::fields::{Fields, extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::metadata::TraceMetadata;
use iopilot_block::Op;

/// The note to the user on the times.
const WHOLE_SECONDS: &str = "times are whole seconds: requests of one second arrive together";

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "tencent",
    summary: "Tencent cloud block storage 2018",
    endings: &[],
    detect: &[Detect::Text(|head| {
        CsvRow::first(head).is_some_and(|row| {
            // Seconds since 1970 have ten digits until 2286. The first column of similar formats never has.
            let time = row.0.first().is_some_and(|f| f.len() == 10);
            row.0.len() == 5 && time && row.numbers(&[0, 1, 2, 4]) && row.letter(3, b"01")
        })
    })],
    open: |input| {
        input.metadata.notes.remarks.push(WHOLE_SECONDS.to_owned());
        LineRecords::open(input, parse)
    },
    file_set: None,
    sample: "\
        1538323199,75784,8,1,1063\n\
        1538323199,0,24,0,1064\n\
        1538323200,75792,8,0,1063\n",
    writing: None,
};

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
    let mut f = Fields::separated(line, b',');
    let arrival = f.time("timestamp", 9)?;
    let offset = f.number("offset")?;
    let size = f.number("size")?;
    let op = match f.text("type", "0 (read) or 1 (write)")? {
        b"0" => Op::Read,
        b"1" => Op::Write,
        other => return Err(invalid("type", other, "0 (read) or 1 (write)")),
    };
    let volume = f.id("volume")?;
    f.end()?;
    let Some(mut record) = transfer(metadata, arrival, op, extent(offset, size)?) else { return Ok(None) };
    record.device = volume;
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Nanos, Sectors};

    #[test]
    fn addresses_are_sectors_and_a_one_is_a_write() {
        let read = |line: &str| parse(line.as_bytes(), &mut TraceMetadata::default()).unwrap().unwrap();
        let r = read("1538323199,75784,8,1,1063");
        assert_eq!((r.op, r.lba, r.sectors, r.device), (Op::Write, Lba(75_784), Sectors(8), 1063));
        assert_eq!(r.arrival, Nanos(1_538_323_199_000_000_000));
        assert_eq!(read("1538323199,0,8,0,1").op, Op::Read);
    }
}
