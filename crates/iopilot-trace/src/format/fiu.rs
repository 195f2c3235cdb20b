//! The traces of Florida International University (I/O Deduplication, FAST 2010; SRCMap, FAST 2010), as SNIA's IOTTA
//! repository distributes them: `time(ns) pid process lba blocks W|R major minor digest...`, blocks of 512 bytes.
//!
//! One digest covers 4 KiB, or 512 bytes in the "homes" traces; they are not read. A process' name may hold blanks.
//! Devices are numbered in order of appearance, by major and minor.

use super::spec::{Detect, FormatSpec};
use crate::fields::{decimal, extent, integer, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::metadata::TraceMetadata;
use iopilot_block::{InputError, Nanos, Op, ProcessId};

/// Letters in the shortest digest.
const DIGEST: usize = 32;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "fiu",
    summary: "FIU (I/O Deduplication, SRCMap)",
    endings: &[],
    detect: &[Detect::Text(|head| {
        let line = Line::of(head.first());
        line.is_ok_and(|l| matches!(l.op, b"R" | b"W") && l.numbers().all(|n| integer(n).is_some()))
    })],
    open: |input| LineRecords::open(input, parse),
    file_set: None,
    sample: "\
        89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n\
        89968195793000 7 Web Content 8 16 W 6 1 56f11b711d91a065a2b6458eca924523 00f11b711d91a065a2b6458eca924523\n\
        89968195793100 20782 gzip 283193192 8 W 6 0\n",
    writing: None,
};

/// The columns of a line.
struct Line<'a> {
    time: &'a [u8],
    pid: &'a [u8],
    process: Vec<u8>,
    lba: &'a [u8],
    blocks: &'a [u8],
    op: &'a [u8],
    major: &'a [u8],
    minor: &'a [u8],
}

impl<'a> Line<'a> {
    /// Splits a line from both ends, as a process' name may hold blanks.
    fn of(line: &'a [u8]) -> Result<Self, InputError> {
        let mut words = words(line);
        while words.last().is_some_and(|w| w.len() >= DIGEST && w.iter().all(u8::is_ascii_hexdigit)) {
            words.pop();
        }
        match words.as_slice() {
            [time, pid, process @ .., lba, blocks, op, major, minor] => {
                Ok(Self { time, pid, process: process.join(&b' '), lba, blocks, op, major, minor })
            }
            other => {
                let expected = "time pid process lba blocks W|R major minor, and perhaps digests";
                Err(InputError::new("line", format!("{} columns", other.len()), expected))
            }
        }
    }

    fn numbers(&self) -> impl Iterator<Item = &'a [u8]> {
        [self.time, self.pid, self.lba, self.blocks, self.major, self.minor].into_iter()
    }
}

/// All words of a line, however many digests it has.
fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).collect()
}

fn parse(line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
    let l = Line::of(line)?;
    let number = |name: &str, field: &[u8]| {
        integer(field).ok_or_else(|| invalid(name, field, "a whole number of at most 64 bits, not negative"))
    };
    let arrival = decimal(l.time, 0).map(Nanos).ok_or_else(|| invalid("time", l.time, "nanoseconds, not negative"))?;
    let pid = u32::try_from(number("pid", l.pid)?).map_err(|_| invalid("pid", l.pid, "a number below 2^32"))?;
    let (lba, blocks) = (number("lba", l.lba)?, number("blocks", l.blocks)?);
    let op = match l.op {
        b"R" | b"r" => Op::Read,
        b"W" | b"w" => Op::Write,
        other => return Err(invalid("type", other, "R or W")),
    };
    let (major, minor) = (number("major", l.major)?, number("minor", l.minor)?);
    let Some(mut record) = transfer(metadata, arrival, op, extent(lba, blocks)?) else { return Ok(None) };
    metadata.name_process(pid, &l.process);
    record.process = Some(ProcessId(pid));
    record.device = metadata.device(format!("{major},{minor}").as_bytes());
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Sectors};

    #[test]
    fn names_may_hold_blanks_and_digests_may_be_many_or_none() {
        let mut metadata = TraceMetadata::default();
        let digest = "56f11b711d91a065a2b6458eca924523";
        let mut read = |line: &str| parse(line.as_bytes(), &mut metadata).unwrap().unwrap();
        let r = read(&format!("89968195792462 20782 gzip 283193184 8 R 6 0 {digest}"));
        assert_eq!(
            (r.arrival, r.op, r.lba, r.sectors),
            (Nanos(89_968_195_792_462), Op::Read, Lba(283_193_184), Sectors(8))
        );
        let r = read(&format!("89968195792463 7 Web Content 8 16 W 6 1 {digest} {digest}"));
        assert_eq!((r.process, r.device, r.op), (Some(ProcessId(7)), 1, Op::Write));
        assert_eq!(read("89968195792464 7 sh 8 16 W 6 0").device, 0);
        assert_eq!(metadata.processes()[&7], "sh");
        let e = parse(b"1 2 sh 8 16 X 6 0", &mut TraceMetadata::default()).unwrap_err();
        assert_eq!(e.to_string(), "type: got X, expected R or W");
    }
}
