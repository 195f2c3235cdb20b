//! fio's I/O log (`write_iolog`, `read_iolog`), versions 2 and 3.
//!
//! After a line `fio version N iolog` come file actions (`FILE add|open|close`) and I/O actions
//! (`FILE read|write|trim|sync|datasync OFFSET LENGTH`, in bytes). Version 3 puts a timestamp before both, in
//! microseconds since the beginning (as fio 3.33 writes and replays them; its manual does not say). Version 2 has
//! `FILE wait TIME` instead: microseconds since the wait before it, as the manual says; a note tells of them, as fio 3.33
//! itself replays milliseconds since its start. Files are devices here, numbered as they appear; their offsets are taken
//! for addresses.

use super::spec::{Detect, FormatSpec, KeptFields, RecordWriter, Writing, in_units};
use crate::fields::{Fields, byte_extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::line_writer::PackedText;
use crate::metadata::{StoredMetadata, TraceMetadata};
use crate::{TraceError, TraceRecord};
use iopilot_block::{Nanos, Op};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// What the first line of each version says.
const VERSION_2: &[u8] = b"fio version 2 iolog";
/// See [`VERSION_2`].
const VERSION_3: &[u8] = b"fio version 3 iolog";

const ACTIONS: &str = "add, open, close, read, write, trim, sync, datasync or (version 2) wait";

/// The note to the user on a log with waits.
const WAITS: &str = "the waits of this log (version 2) are taken for microseconds since the wait before, as fio's manual \
                     says; fio 3.33 itself replays them as milliseconds since its start";

/// Times are microseconds.
const UNIT: Nanos = Nanos(1000);

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "fio-iolog",
    summary: "fio's I/O log, versions 2 and 3",
    endings: &["iolog"],
    detect: &[Detect::FirstLine(|line| line.starts_with(VERSION_2) || line.starts_with(VERSION_3))],
    open: |input| {
        let mut parser = Parser::default();
        LineRecords::open(input, move |line, metadata| parser.line(line, metadata))
    },
    file_set: None,
    sample: "",
    writing: Some(Writing {
        time_unit: UNIT,
        keeps: KeptFields::FLUSH_AND_DISCARD.union(KeptFields::DEVICE_NAME),
        create: Writer::create,
    }),
};

#[derive(Default)]
struct Parser {
    version: Option<u32>,
    now: Nanos,
    /// Whether there was a wait.
    waits: bool,
}

impl Parser {
    fn line(&mut self, line: &[u8], metadata: &mut TraceMetadata) -> Parsed {
        let Some(version) = self.version else {
            self.version = match line.trim_ascii() {
                VERSION_2 => Some(2),
                VERSION_3 => Some(3),
                other => return Err(invalid("header", other, "fio version 2 iolog, or 3")),
            };
            return Ok(None);
        };
        let mut f = Fields::blank_separated(line);
        if version == 3 {
            self.now = f.time("timestamp", 3)?;
        }
        let file = f.text("filename", "a file name")?;
        let action = f.text("action", ACTIONS)?;
        let op = match action {
            b"add" | b"open" | b"close" => {
                metadata.device(file);
                f.end()?;
                return Ok(None);
            }
            b"wait" if version == 2 => {
                let pause = f.time("wait", 3)?;
                if !std::mem::replace(&mut self.waits, true) {
                    metadata.notes.remarks.push(WAITS.to_owned());
                }
                self.now = self.now.saturating_add(pause);
                return Ok(None);
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Discard,
            b"sync" | b"datasync" => Op::Flush,
            other => return Err(invalid("action", other, ACTIONS)),
        };
        let offset = f.number("offset")?;
        let length = f.number("length")?;
        f.end()?;
        let extent = if op == Op::Flush { byte_extent(0, 0)? } else { byte_extent(offset, length)? };
        let Some(mut record) = transfer(metadata, self.now, op, extent) else { return Ok(None) };
        record.device = metadata.device(file);
        Ok(Some(record))
    }
}

/// Writes version 3.
struct Writer {
    out: PackedText,
    /// The names of the devices seen.
    open: Vec<(u32, String)>,
    started: bool,
    /// The time of the last action, in microseconds.
    now: u64,
}

impl Writer {
    fn create(path: &Path, file: BufWriter<File>) -> Result<Box<dyn RecordWriter>, TraceError> {
        Ok(Box::new(Self { out: PackedText::new(path, file)?, open: Vec::new(), started: false, now: 0 }))
    }

    /// Where the file of `device` is in `self.open`; opens it where the device appears first.
    fn file(&mut self, device: u32, names: &StoredMetadata) -> io::Result<usize> {
        if let Some(at) = self.open.iter().position(|(known, _)| *known == device) {
            return Ok(at);
        }
        let name = match names.devices.get(device as usize) {
            Some(name) if !name.is_empty() && !name.contains(char::is_whitespace) => name.clone(),
            _ => format!("device{device}"),
        };
        writeln!(self.out.as_write(), "{now} {name} add\n{now} {name} open", now = self.now)?;
        self.open.push((device, name));
        Ok(self.open.len() - 1)
    }

    fn start(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.started, true) {
            let out = self.out.as_write();
            out.write_all(VERSION_3)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

impl RecordWriter for Writer {
    fn write(&mut self, record: &TraceRecord, names: &StoredMetadata) -> io::Result<()> {
        self.start()?;
        self.now = in_units(record.arrival, UNIT);
        let at = self.file(record.device, names)?;
        let action = match record.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "sync",
            Op::Discard => "trim",
        };
        let (offset, length) = (record.lba.0 * 512, record.sectors.bytes());
        writeln!(self.out.as_write(), "{} {} {action} {offset} {length}", self.now, self.open[at].1)
    }

    fn finish(mut self: Box<Self>, _: &StoredMetadata) -> io::Result<BufWriter<File>> {
        self.start()?;
        let (out, now) = (self.out.as_write(), self.now);
        self.open.iter().try_for_each(|(_, name)| writeln!(out, "{now} {name} close"))?;
        self.out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Sectors};

    fn parse(text: &str) -> Result<Vec<TraceRecord>, String> {
        let (mut parser, mut metadata) = (Parser::default(), TraceMetadata::default());
        let mut all = Vec::new();
        for line in text.lines() {
            all.extend(parser.line(line.as_bytes(), &mut metadata).map_err(|e| e.to_string())?);
        }
        Ok(all)
    }

    #[test]
    fn version_2_waits() {
        let (mut parser, mut metadata) = (Parser::default(), TraceMetadata::default());
        for line in ["fio version 2 iolog", "x wait 1000 0", "x wait 3000 0"] {
            parser.line(line.as_bytes(), &mut metadata).unwrap();
        }
        assert_eq!(metadata.notes.remarks, [WAITS]);
        let text = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 4096 8192\n/dev/sda wait 1500\n\
                    /dev/sdb write 0 512\n/dev/sda wait 500 0\n/dev/sda sync 0 0\n/dev/sda close\n";
        let all = parse(text).unwrap();
        let seen: Vec<_> = all.iter().map(|r| (r.arrival.0, r.op, r.lba, r.sectors, r.device)).collect();
        assert_eq!(
            seen,
            [
                (0, Op::Read, Lba(8), Sectors(16), 0),
                (1_500_000, Op::Write, Lba(0), Sectors(1), 1),
                (2_000_000, Op::Flush, Lba(0), Sectors(0), 0),
            ]
        );
    }

    #[test]
    fn version_3_has_microseconds() {
        let all =
            parse("fio version 3 iolog\n20 x add\n118 x open\n122 x read 61440 4096\n20360 x trim 0 4096\n").unwrap();
        assert_eq!(
            all.iter().map(|r| (r.arrival.0, r.op)).collect::<Vec<_>>(),
            [(122_000, Op::Read), (20_360_000, Op::Discard)]
        );
        assert!(parse("fio version 3 iolog\n1 x wait 5\n").unwrap_err().starts_with("action: got wait, expected add"));
        assert!(parse("fio version 1\n").unwrap_err().starts_with("header: got fio version 1"));
    }
}
