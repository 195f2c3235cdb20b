//! The text that `biosnoop` prints, bcc's (`tools/biosnoop.py`) or libbpf-tools': a header
//! `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`, then a line for each completion.
//!
//! The time is that of the completion, since the first. `LAT` is the time from the issue to the completion, `QUE` the
//! time in the queue before it. A command may hold blanks, so a line is read from both ends. A line whose request was
//! not seen to begin (its command is `?`) has no address: it is left out and counted.

use super::spec::{Detect, FormatSpec, Records};
use crate::block_events::Rwbs;
use crate::fields::{byte_extent, decimal, extent, integer, invalid};
use crate::line_records::Parsed;
use crate::lines::Lines;
use crate::metadata::TraceMetadata;
use crate::reader::TraceReader;
use crate::{TraceError, TraceRecord};
use iopilot_block::{InputError, Nanos, Op, ProcessId};

/// Added to all times, as requests begin before the first completion, from which times count.
const BASE: Nanos = Nanos::from_secs(1_000_000);

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "biosnoop",
    summary: "text of biosnoop (bcc, libbpf-tools)",
    endings: &[],
    detect: &[Detect::FirstLine(|line| header(line).is_some())],
    open: |input| Ok(Box::new(Reader { lines: Lines::new(input.source), layout: None })),
    file_set: None,
    sample: "",
    writing: None,
};

/// What a column behind the command holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Pid,
    Disk,
    Kind,
    Sector,
    Bytes,
    Queued,
    Latency,
    /// One that is not read, such as the pattern of `biosnoop -P`.
    Other,
}

/// The names of those that are read.
const NAMES: &[(&[u8], Column)] = &[
    (b"PID", Column::Pid),
    (b"DISK", Column::Disk),
    (b"T", Column::Kind),
    (b"SECTOR", Column::Sector),
    (b"BYTES", Column::Bytes),
    (b"QUE(ms)", Column::Queued),
    (b"LAT(ms)", Column::Latency),
];

/// The columns behind the command, from left to right.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout(Vec<Column>);

/// The words of a line.
fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).collect()
}

/// What the header says; `None` where it is none, or one of another tool.
fn header(line: &[u8]) -> Option<Layout> {
    let words = words(line);
    let rest = words.strip_prefix(&[&b"TIME(s)"[..], b"COMM"])?;
    let of = |word: &[u8]| NAMES.iter().find(|(name, _)| *name == word).map_or(Column::Other, |&(_, column)| column);
    let columns: Vec<Column> = rest.iter().map(|word| of(word)).collect();
    let needed = [Column::Kind, Column::Sector, Column::Bytes, Column::Latency];
    needed.iter().all(|c| columns.contains(c)).then_some(Layout(columns))
}

struct Reader {
    lines: Lines,
    layout: Option<Layout>,
}

impl Records for Reader {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            let Some(line) = self.lines.next()? else { return Ok(None) };
            if line.trim_ascii().is_empty() || line.starts_with(b"#") {
                continue;
            }
            let parsed = match (header(line), &self.layout) {
                (Some(layout), _) => {
                    self.layout = Some(layout);
                    Ok(None)
                }
                (None, Some(layout)) => parse(line, layout, metadata),
                (None, None) => {
                    let expected = "the header TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms) of biosnoop";
                    Err(invalid("header", line, expected))
                }
            };
            match parsed {
                Ok(None) => {}
                Ok(some) => return Ok(some),
                Err(e) => return Err(self.lines.locate(e)),
            }
        }
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.lines.locate(e)
    }

    /// Lines stand in the order of completions.
    fn reorder_limit(&self) -> usize {
        TraceReader::CPU_REORDER
    }
}

fn parse(line: &[u8], layout: &Layout, metadata: &mut TraceMetadata) -> Parsed {
    let words = words(line);
    let time_of = |name: &str, field: &[u8], exponent: u32| {
        decimal(field, exponent).map(Nanos).ok_or_else(|| invalid(name, field, "a time, not negative"))
    };
    let completion = BASE.saturating_add(time_of("TIME(s)", words.first().copied().unwrap_or_default(), 9)?);
    if words.get(1) == Some(&&b"?"[..]) {
        metadata.notes.unmatched_completions += 1;
        return Ok(None);
    }
    let Some(end) = words.len().checked_sub(layout.0.len()).filter(|&end| end > 0) else {
        let expected = format!("{} or more, as the header has", layout.0.len() + 1);
        return Err(InputError::new("line", format!("{} columns", words.len()), expected));
    };
    let (command, columns) = (words[1..end].join(&b' '), &words[end..]);
    let column = |wanted: Column| layout.0.iter().position(|c| *c == wanted).map(|at| columns[at]);
    let field = |wanted: Column| column(wanted).unwrap_or_default();
    let latency = time_of("LAT(ms)", field(Column::Latency), 6)?;
    let waited = column(Column::Queued).map_or(Ok(Nanos::ZERO), |field| time_of("QUE(ms)", field, 6))?;
    let (bytes, sector, kind) = (field(Column::Bytes), field(Column::Sector), field(Column::Kind));
    let number = |name: &str, field: &[u8]| {
        integer(field).ok_or_else(|| invalid(name, field, "a whole number of at most 64 bits, not negative"))
    };
    let (bytes, sector) = (number("BYTES", bytes)?, number("SECTOR", sector)?);
    let pid = column(Column::Pid)
        .map(|pid| u32::try_from(number("PID", pid)?).map_err(|_| invalid("PID", pid, "a number below 2^32")));
    let pid = pid.transpose()?;
    let kind = Rwbs::parse(kind).ok_or_else(|| invalid("T", kind, "R, W, or letters such as WS"))?;
    let op = match kind.op {
        None => Op::Flush,
        Some(op) => op,
    };
    let (lba, sectors) =
        if op == Op::Flush { byte_extent(0, 0)? } else { extent(sector, bytes.div_ceil(iopilot_block::SECTOR_BYTES))? };
    if sectors.0 == 0 && op != Op::Flush {
        metadata.notes.empty += 1;
        return Ok(None);
    }
    let earlier = |time: Nanos, by: Nanos, name: &str| {
        time.0.checked_sub(by.0).map(Nanos).ok_or_else(|| InputError::new(name, by.to_string(), "at most 11 days"))
    };
    let issue = earlier(completion, latency, "LAT(ms)")?;
    let arrival = earlier(issue, waited, "QUE(ms)")?;
    let mut record = TraceRecord::new(arrival, op, lba, sectors);
    record.flags = kind.flags;
    (record.issue, record.completion) = (Some(issue), Some(completion));
    record.process = pid.map(ProcessId);
    if let Some(pid) = pid {
        metadata.name_process(pid, &command);
    }
    record.device = column(Column::Disk).map_or(0, |disk| metadata.device(disk));
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Sectors};

    #[test]
    fn a_request_begins_its_latency_before_the_line() {
        let layout = header(b"TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)").unwrap();
        assert_eq!(layout.0.len(), 7);
        let mut metadata = TraceMetadata::default();
        let line = b"0.000004    Web Content    1950   xvda1   WS 13092560   4096      0.10    0.74";
        let r = parse(line, &layout, &mut metadata).unwrap().unwrap();
        let since = |t: Option<Nanos>| t.unwrap() - r.arrival;
        assert_eq!((since(r.issue), since(r.completion)), (Nanos(100_000), Nanos(840_000)));
        assert_eq!(
            (r.lba, r.sectors, r.op, r.process),
            (Lba(13_092_560), Sectors(8), Op::Write, Some(ProcessId(1950)))
        );
        assert_eq!((metadata.processes()[&1950].as_str(), metadata.devices[0].as_str()), ("Web Content", "xvda1"));
        assert_eq!(parse(b"1.0 ? 0 R 0 4096 0.00 0.50", &layout, &mut metadata).unwrap(), None);
        assert_eq!(metadata.notes.unmatched_completions, 1);
        let layout_p = header(b"TIME(s) COMM PID DISK T P SECTOR BYTES LAT(ms)").unwrap();
        let r = parse(b"1.0 sh 7 sda R S 64 4096 0.5", &layout_p, &mut metadata).unwrap().unwrap();
        assert_eq!((r.lba, r.op), (Lba(64), Op::Read));
        let e = parse(b"1.0 sh 7 sda R x 4096 0.1 0.5", &layout, &mut metadata).unwrap_err();
        assert!(e.to_string().starts_with("SECTOR: got x, expected a whole number"), "{e}");
        let e = parse(b"1.0 7 0.1", &layout, &mut metadata).unwrap_err();
        assert_eq!(e.to_string(), "line: got 3 columns, expected 8 or more, as the header has");
    }

    #[test]
    fn other_headers_are_of_other_tools() {
        assert!(header(b"TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)").is_some());
        assert!(header(b"TIME(ms)     DISK    COMM             PID    LAT(ms)").is_none());
    }
}
