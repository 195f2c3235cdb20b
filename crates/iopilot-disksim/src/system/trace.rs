//! [`TraceInput`]: requests from a trace, in DiskSim's formats or another known one.
//!
//! DiskSim's own text formats are read here and their times are kept: the rotation of a disk starts at time 0, not at
//! the first request.

use iopilot_block::{Criticality, InputError, Nanos, Op};
use iopilot_trace::{Format, ReadOptions, TraceError, TraceReader, TraceRecord, ValidateReader};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::str::FromStr;

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// `time(ms) device block count flags(hex)`.
    Ascii,
    /// The same with a batch number.
    Batch,
    /// `time(ms) Read|Write director(hex) device(hex) block count`.
    EmcSymmetrix,
    /// `time(s) Read|Write director(hex) hyper(hex) block count bus disk device`.
    EmcBackend,
    /// Measured requests to one drive, each issued after the previous one has completed.
    Validate,
    /// One of the formats of `iopilot trace`; times count from the first request.
    Other(Format),
}

impl TraceFormat {
    /// DiskSim's names of the formats.
    pub const NAMES: [&'static str; 7] = ["ascii", "batch", "emcsymm", "emcbackend", "validate", "hpl", "hpl2"];
}

/// DiskSim's own formats are read differently from [`TraceReader`].
impl From<Format> for TraceFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Disksim => Self::Ascii,
            Format::DisksimValidate => Self::Validate,
            other => Self::Other(other),
        }
    }
}

impl FromStr for TraceFormat {
    type Err = InputError;

    fn from_str(name: &str) -> Result<Self, InputError> {
        Ok(match name {
            "ascii" => Self::Ascii,
            "batch" => Self::Batch,
            "emcsymm" => Self::EmcSymmetrix,
            "emcbackend" => Self::EmcBackend,
            "validate" => Self::Validate,
            "hpl" | "hpl2" => Self::Other(Format::HpSrt),
            _ => {
                let names = Self::NAMES.iter().copied().chain(Format::NAMES.iter().copied());
                let near = iopilot_block::suggest(name, names.clone());
                let all = names.collect::<Vec<_>>().join(", ");
                let expected = near.map_or_else(|| format!("one of {all}"), |n| format!("{n} (or another of {all})"));
                name.parse::<Format>().map(Self::from).map_err(|_| InputError::new("trace format", name, expected))?
            }
        })
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii => f.pad("ascii"),
            Self::Batch => f.pad("batch"),
            Self::EmcSymmetrix => f.pad("emcsymm"),
            Self::EmcBackend => f.pad("emcbackend"),
            Self::Validate => f.pad("validate"),
            Self::Other(format) => format.fmt(f),
        }
    }
}

/// A request of a trace, before mappings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Traced {
    pub(super) at: Nanos,
    pub(super) device: u64,
    pub(super) lba: u64,
    pub(super) sectors: u64,
    pub(super) op: Op,
    pub(super) criticality: Criticality,
    /// Times in the queue and at the device.
    pub(super) times: Option<(Nanos, Nanos)>,
    /// In a validation trace: the think time after this request.
    pub(super) think: Nanos,
}

/// A trace as a source of requests.
pub struct TraceInput {
    name: String,
    reader: Reader,
    last: Nanos,
}

enum Reader {
    Lines { format: TraceFormat, input: Box<dyn BufRead>, line: String, number: u64 },
    Validate(ValidateReader, u64),
    Records(Box<TraceReader>, u64),
}

impl TraceInput {
    /// Opens the trace at `path`; `-` is the standard input.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path, format: TraceFormat) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        let standard = name == "-";
        let reader = match format {
            TraceFormat::Validate => Reader::Validate(ValidateReader::open(path)?, 0),
            TraceFormat::Other(format) => {
                let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
                let reader = if standard {
                    TraceReader::from_reader("standard input", std::io::stdin(), &options)?
                } else {
                    TraceReader::open(path, &options)?
                };
                Reader::Records(Box::new(reader), 0)
            }
            _ => {
                let input: Box<dyn Read> = if standard {
                    Box::new(std::io::stdin())
                } else {
                    let file = std::fs::File::open(path);
                    Box::new(file.map_err(|e| InputError::new("trace", &name, format!("a readable file: {e}")))?)
                };
                Self::lines(input, format)
            }
        };
        Ok(Self { name, reader, last: Nanos::ZERO })
    }

    /// Reads one of the text formats from memory.
    pub fn from_text(name: &str, text: &str, format: TraceFormat) -> Self {
        let input = std::io::Cursor::new(text.to_owned().into_bytes());
        Self { name: name.to_owned(), reader: Self::lines(Box::new(input), format), last: Nanos::ZERO }
    }

    fn lines(input: Box<dyn Read>, format: TraceFormat) -> Reader {
        Reader::Lines { format, input: Box::new(BufReader::new(input)), line: String::new(), number: 0 }
    }

    /// Whether each request is issued only after the previous one has completed.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.reader, Reader::Validate(..))
    }

    /// Adds the line that was read last to an error.
    pub(super) fn locate(&self, error: InputError) -> InputError {
        let line = match &self.reader {
            Reader::Lines { number, .. } | Reader::Validate(_, number) | Reader::Records(_, number) => *number,
        };
        error.in_file(&self.name).at_line(line)
    }

    /// The next request; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Traced>, TraceError> {
        let traced = match &mut self.reader {
            Reader::Validate(reader, number) => {
                let Some(record) = reader.next().transpose()? else { return Ok(None) };
                *number += 1;
                let (lba, sectors) = (record.lba.0, record.sectors.0.into());
                return Ok(Some(Traced { think: record.think, ..Traced::new(record.op, lba, sectors) }));
            }
            Reader::Records(reader, number) => {
                let Some(record) = reader.next().transpose()? else { return Ok(None) };
                *number += 1;
                from_record(&record)
            }
            Reader::Lines { format, input, line, number } => loop {
                line.clear();
                let read = input.read_line(line);
                *number += 1;
                match read {
                    Ok(0) => return Ok(None),
                    Ok(_) if line.trim().is_empty() => {}
                    Ok(_) => match parse(*format, line) {
                        Ok(traced) => break traced,
                        Err(e) => return Err(e.in_file(&self.name).at_line(*number).into()),
                    },
                    Err(e) => {
                        let expected = format!("a line of text: {e}");
                        return Err(InputError::new("trace", "", expected).in_file(&self.name).at_line(*number).into());
                    }
                }
            },
        };
        if traced.at < self.last {
            let (got, expected) = (traced.at.as_millis_f64(), self.last.as_millis_f64());
            let error = InputError::new("time", format!("{got} ms"), format!("at least {expected} ms, as before it"));
            return Err(self.locate(error).into());
        }
        self.last = traced.at;
        Ok(Some(traced))
    }
}

impl Traced {
    fn new(op: Op, lba: u64, sectors: u64) -> Self {
        Self {
            at: Nanos::ZERO,
            device: 0,
            lba,
            sectors,
            op,
            criticality: Criticality::TimeNonCritical,
            times: None,
            think: Nanos::ZERO,
        }
    }
}

fn from_record(record: &TraceRecord) -> Traced {
    let times = record.issue.zip(record.completion);
    let criticality = match (record.blocks_process(), record.op) {
        (true, _) => Criticality::TimeCritical,
        (false, Op::Read) => Criticality::TimeLimited,
        (false, _) => Criticality::TimeNonCritical,
    };
    Traced {
        at: record.arrival,
        device: record.device.into(),
        criticality,
        times: times.map(|(issue, end)| (issue.since(record.arrival), end.since(issue))),
        ..Traced::new(record.op, record.lba.0, record.sectors.0.into())
    }
}

const READ: u64 = 0x1;
const TIME_CRITICAL: u64 = 0x2;
const TIME_LIMITED: u64 = 0x4;
const SYNCHRONOUS: u64 = 0x80;
const ASYNCHRONOUS: u64 = 0x100;

/// The words of a line.
struct Words<'a>(std::str::SplitAsciiWhitespace<'a>);

impl<'a> Words<'a> {
    fn word(&mut self, field: &str, expected: &str) -> Result<&'a str, InputError> {
        self.0.next().ok_or_else(|| InputError::new(field, "the end of the line", expected))
    }

    fn parsed<T>(
        &mut self,
        field: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, InputError> {
        let word = self.word(field, expected)?;
        parse(word).ok_or_else(|| InputError::new(field, word, expected))
    }

    fn number(&mut self, field: &str) -> Result<u64, InputError> {
        self.parsed(field, "a whole number", |word| word.parse().ok())
    }

    fn hexadecimal(&mut self, field: &str) -> Result<u64, InputError> {
        self.parsed(field, "a hexadecimal number", |word| {
            u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
        })
    }

    fn time(&mut self, ms: f64) -> Result<Nanos, InputError> {
        let fits = |t: &f64| (0.0..1e13).contains(t);
        self.parsed("time", "a number of at least 0", |word| {
            let time = word.parse::<f64>().ok().map(|t| t * ms).filter(fits)?;
            Some(Nanos::from_millis_f64(time))
        })
    }

    fn operation(&mut self) -> Result<Op, InputError> {
        self.parsed("operation", "Read or Write", |word| match word.to_ascii_lowercase().as_str() {
            "read" => Some(Op::Read),
            "write" => Some(Op::Write),
            _ => None,
        })
    }
}

fn parse(format: TraceFormat, line: &str) -> Result<Traced, InputError> {
    let mut words = Words(line.split_ascii_whitespace());
    let traced = match format {
        TraceFormat::EmcSymmetrix | TraceFormat::EmcBackend => {
            let backend = format == TraceFormat::EmcBackend;
            let at = words.time(if backend { 1e3 } else { 1.0 })?;
            let op = words.operation()?;
            words.hexadecimal("director")?;
            let mut device = words.hexadecimal("device")?;
            let (lba, sectors) = (words.number("block")?, words.number("count")?);
            if backend {
                words.word("bus", "a letter")?;
                words.number("disk")?;
                device = words.number("device")?;
            }
            Traced { at, device, ..Traced::new(op, lba, sectors) }
        }
        _ => {
            let at = words.time(1.0)?;
            let device = words.number("device")?;
            let (lba, sectors) = (words.number("block")?, words.number("count")?);
            let flags = words.hexadecimal("flags")?;
            if format == TraceFormat::Batch {
                words.number("batch")?;
            }
            let op = if flags & READ != 0 { Op::Read } else { Op::Write };
            let limited = flags & ASYNCHRONOUS != 0 && op == Op::Read;
            let critical = flags & ASYNCHRONOUS == 0 && flags & SYNCHRONOUS != 0;
            let criticality = if flags & TIME_CRITICAL != 0 || critical {
                Criticality::TimeCritical
            } else if flags & TIME_LIMITED != 0 || limited {
                Criticality::TimeLimited
            } else {
                Criticality::TimeNonCritical
            };
            Traced { at, device, criticality, ..Traced::new(op, lba, sectors) }
        }
    };
    match words.0.next() {
        None => Ok(traced),
        Some(more) => Err(InputError::new("record", more, "the end of the line")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(format: TraceFormat, line: &str) -> Result<Traced, TraceError> {
        TraceInput::from_text("t", line, format).next().map(Option::unwrap)
    }

    #[test]
    fn the_text_formats() {
        let r = one(TraceFormat::Ascii, "13.191135\t30\t8\t5\t1").unwrap();
        assert_eq!((r.at, r.device, r.lba, r.sectors, r.op), (Nanos(13_191_135), 30, 8, 5, Op::Read));
        let r = one(TraceFormat::Ascii, "1.5 3 8 5 80").unwrap();
        assert_eq!((r.op, r.criticality), (Op::Write, Criticality::TimeCritical));
        let r = one(TraceFormat::Ascii, "1.5 3 8 5 101").unwrap();
        assert_eq!((r.op, r.criticality), (Op::Read, Criticality::TimeLimited));
        let r = one(TraceFormat::Batch, "1.5 3 8 5 1 77").unwrap();
        assert_eq!(r.device, 3);
        let r = one(TraceFormat::EmcSymmetrix, "1.5 Read 1f a0 8 5").unwrap();
        assert_eq!((r.device, r.at), (160, Nanos(1_500_000)));
        let r = one(TraceFormat::EmcBackend, "1.5 write 1f a0 8 5 C 3 12").unwrap();
        assert_eq!((r.device, r.at, r.op), (12, Nanos(1_500_000_000), Op::Write));
    }

    #[test]
    fn errors_name_line_and_field() {
        let e = one(TraceFormat::Ascii, "\n1.0 x 8 5 1").unwrap_err().to_string();
        assert!(e.contains("t:2: device: got x, expected a whole number"), "{e}");
        let e = one(TraceFormat::Ascii, "1.0 2 8 5 1 9").unwrap_err().to_string();
        assert!(e.contains("record: got 9"), "{e}");
        let mut t = TraceInput::from_text("t", "2.0 0 0 1 1\n1.0 0 0 1 1\n", TraceFormat::Ascii);
        t.next().unwrap();
        assert!(t.next().unwrap_err().to_string().contains("t:2: time: got 1 ms, expected at least 2 ms"));
    }

    #[test]
    fn formats_have_disksims_names_and_ours() {
        assert_eq!("ascii".parse::<TraceFormat>().unwrap(), TraceFormat::Ascii);
        assert_eq!("hpl".parse::<TraceFormat>().unwrap(), TraceFormat::Other(Format::HpSrt));
        assert_eq!("msr".parse::<TraceFormat>().unwrap(), TraceFormat::Other(Format::Msr));
        let e = "ascci".parse::<TraceFormat>().unwrap_err().to_string();
        assert!(e.contains("ascii"), "{e}");
    }
}
