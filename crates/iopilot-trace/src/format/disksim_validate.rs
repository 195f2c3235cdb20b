//! DiskSim's validation traces: requests to a real drive, one at a time, with the service time that was measured.
//!
//! `R|W  Hit|Miss|Doub|Trip  block  blocks  service(us)  think(us)`. DiskSim takes the think time for the one *after*
//! its request; in some of its own traces it is the one *before* ([`ThinkTime`]).

use super::spec::{Detect, FormatInput, FormatSpec, Records};
use super::think_time::ThinkTime;
use crate::fields::{Fields, extent, invalid};
use crate::line_records::LineRecords;
use crate::lines::Lines;
use crate::source::{ByteSource, ReadProgress};
use crate::{TraceError, TraceRecord};
use iopilot_block::{InputError, Lba, Nanos, Op, Sectors};
use std::path::Path;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "disksim-validate",
    summary: "DiskSim's validation traces",
    endings: &[],
    detect: &[Detect::Text(|head| parse(head.first()).is_ok())],
    open,
    file_set: None,
    sample: "\
        R Hit 8 16 500.0 20.5\n\
        W Doub 9 1 100.25 7\n\
        R Miss 8 16 1e1 0\n",
    writing: None,
};

/// What a validation trace says of the drive's cache. Not recorded in all traces: many say `Hit` throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheOutcome {
    /// `Hit`: served from the cache.
    Hit,
    /// `Miss`: served from the medium.
    Miss,
    /// `Doub`: the transfer had two parts.
    Double,
    /// `Trip`: the transfer had three parts.
    Triple,
}

/// One request of a validation trace, with what was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidateRecord {
    /// Read or write.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Length.
    pub sectors: Sectors,
    /// What the cache did, where that was recorded.
    pub cache: CacheOutcome,
    /// The measured time from issue to completion.
    pub service: Nanos,
    /// The time with no request outstanding, before or after this one ([`ThinkTime`]).
    pub think: Nanos,
}

/// Streams a DiskSim validation trace with its measurements.
pub struct ValidateReader {
    lines: Lines,
}

impl ValidateReader {
    /// Opens the trace at `path`, plain or packed.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let source = ByteSource::open(path, &mut ReadProgress::default())?;
        Ok(Self { lines: Lines::new(source) })
    }

    fn read(&mut self) -> Result<Option<ValidateRecord>, TraceError> {
        loop {
            let Some(line) = self.lines.next()? else { return Ok(None) };
            if line.trim_ascii().is_empty() {
                continue;
            }
            return match parse(line) {
                Ok(record) => Ok(Some(record)),
                Err(e) => Err(self.lines.locate(e)),
            };
        }
    }
}

impl Iterator for ValidateReader {
    type Item = Result<ValidateRecord, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// All requests of the validation trace at `path`, with their measurements.
pub fn read_validate(path: &Path) -> Result<Vec<ValidateRecord>, TraceError> {
    ValidateReader::open(path)?.collect()
}

fn open(input: FormatInput<'_>) -> Result<Box<dyn Records>, TraceError> {
    let think_time = input.think_time;
    let mut now = Nanos::ZERO;
    LineRecords::open(input, move |line, _| {
        let r = parse(line)?;
        let arrival = match think_time {
            ThinkTime::After => now,
            ThinkTime::Before => now.saturating_add(r.think),
        };
        let completion = arrival.saturating_add(r.service);
        now = match think_time {
            ThinkTime::After => completion.saturating_add(r.think),
            ThinkTime::Before => completion,
        };
        let mut record = TraceRecord::new(arrival, r.op, r.lba, r.sectors);
        (record.issue, record.completion) = (Some(arrival), Some(completion));
        Ok(Some(record))
    })
}

fn parse(line: &[u8]) -> Result<ValidateRecord, InputError> {
    let mut f = Fields::blank_separated(line);
    let op = match f.text("operation", "R or W")? {
        b"R" => Op::Read,
        b"W" => Op::Write,
        other => return Err(invalid("operation", other, "R or W")),
    };
    let cache = match f.text("cache", "Hit, Miss, Doub or Trip")? {
        b"Hit" => CacheOutcome::Hit,
        b"Miss" => CacheOutcome::Miss,
        b"Doub" => CacheOutcome::Double,
        b"Trip" => CacheOutcome::Triple,
        other => return Err(invalid("cache", other, "Hit, Miss, Doub or Trip")),
    };
    let lba = f.number("block")?;
    let blocks = f.number("blocks")?;
    let service = f.time("service time", 3)?;
    let think = f.time("think time", 3)?;
    f.end()?;
    if blocks == 0 {
        return Err(InputError::new("blocks", "0", "a length above 0"));
    }
    let (lba, sectors) = extent(lba, blocks)?;
    Ok(ValidateRecord { op, lba, sectors, cache, service, think })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_was_measured() {
        let r = parse(b"W Doub 1194877    15     17221.000     21894.3801").unwrap();
        assert_eq!((r.op, r.lba, r.sectors, r.cache), (Op::Write, Lba(1_194_877), Sectors(15), CacheOutcome::Double));
        assert_eq!((r.service, r.think), (Nanos(17_221_000), Nanos(21_894_380)));
        assert!(parse(b"W Maybe 1 1 1 1").unwrap_err().to_string().contains("cache: got Maybe, expected Hit"));
        assert!(parse(b"W Hit 1 0 1 1").is_err());
    }
}
