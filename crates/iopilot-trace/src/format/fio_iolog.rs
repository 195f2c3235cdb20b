//! fio's I/O log (`write_iolog`, `read_iolog`), versions 2 and 3.
//!
//! After a line `fio version N iolog` come file actions (`FILE add|open|close`) and I/O actions
//! (`FILE read|write|trim|sync|datasync OFFSET LENGTH`, in bytes). Version 3 puts a timestamp before both, in
//! microseconds since the beginning (as fio 3.33 writes and replays them; its manual does not say). Version 2 has
//! `FILE wait TIME` instead: microseconds since the wait before it, as the manual says. Files are devices here, numbered
//! as they appear; their offsets are taken for addresses.

use crate::TraceRecord;
use crate::fields::{Fields, byte_extent, invalid};
use crate::line_records::{LineRecords, Parsed, transfer};
use crate::reader::Records;
use crate::side::Side;
use crate::source::Source;
use iopilot_block::{Nanos, Op};
use std::io::{self, Write};

/// What the first line of each version says.
pub(crate) const VERSION_2: &[u8] = b"fio version 2 iolog";
/// See [`VERSION_2`].
pub(crate) const VERSION_3: &[u8] = b"fio version 3 iolog";

const ACTIONS: &str = "add, open, close, read, write, trim, sync, datasync or (version 2) wait";

pub(crate) fn reader(source: Source) -> Box<dyn Records> {
    let mut parser = Parser::default();
    LineRecords::boxed(source, move |line, side| parser.line(line, side))
}

#[derive(Default)]
pub(crate) struct Parser {
    version: Option<u32>,
    now: Nanos,
}

impl Parser {
    pub(crate) fn line(&mut self, line: &[u8], side: &mut Side) -> Parsed {
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
                side.device(file);
                f.end()?;
                return Ok(None);
            }
            b"wait" if version == 2 => {
                let pause = f.time("wait", 3)?;
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
        let Some(mut record) = transfer(side, self.now, op, extent) else { return Ok(None) };
        record.device = side.device(file);
        Ok(Some(record))
    }
}

/// Writes version 3.
#[derive(Default)]
pub(crate) struct Writer {
    /// The names of the devices seen, where any was.
    open: Vec<(u32, String)>,
    started: bool,
    now: u64,
}

impl Writer {
    /// Writes `record`; its device is called `name` where it appears first. Times are rounded to the microsecond.
    pub(crate) fn write(&mut self, record: &TraceRecord, name: Option<&String>, out: &mut dyn Write) -> io::Result<()> {
        self.start(out)?;
        self.now = (record.arrival.0 + 500) / 1000;
        let at = match self.open.iter().position(|(device, _)| *device == record.device) {
            Some(at) => at,
            None => {
                let name = match name {
                    Some(name) if !name.is_empty() && !name.contains(char::is_whitespace) => name.clone(),
                    _ => format!("device{}", record.device),
                };
                writeln!(out, "{now} {name} add\n{now} {name} open", now = self.now)?;
                self.open.push((record.device, name));
                self.open.len() - 1
            }
        };
        let action = match record.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "sync",
            Op::Discard => "trim",
        };
        let (offset, length) = (record.lba.0 * 512, record.sectors.bytes());
        writeln!(out, "{} {} {action} {offset} {length}", self.now, self.open[at].1)
    }

    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.start(out)?;
        self.open.iter().try_for_each(|(_, name)| writeln!(out, "{} {name} close", self.now))
    }

    fn start(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !std::mem::replace(&mut self.started, true) {
            out.write_all(VERSION_3)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Sectors};

    fn parse(text: &str) -> Result<Vec<TraceRecord>, String> {
        let (mut parser, mut side) = (Parser::default(), Side::default());
        let mut all = Vec::new();
        for line in text.lines() {
            all.extend(parser.line(line.as_bytes(), &mut side).map_err(|e| e.to_string())?);
        }
        Ok(all)
    }

    #[test]
    fn version_2_waits() {
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
