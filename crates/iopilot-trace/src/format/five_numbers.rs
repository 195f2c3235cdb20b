//! [`FiveNumbers`]: the three formats whose lines are five numbers, which only their values tell apart.
//!
//! What iopilot writes carries a mark that no other of the three can have: flags of two digits in DiskSim's input, and
//! a zero before the time in the other two. All programs that read these formats take both.

use super::Format;
use super::columns::columns;
use crate::fields::{decimal, hexadecimal, integer};
use crate::head::TextHead;
use iopilot_block::{InputError, SECTOR_BYTES};

/// The fewest lines from which rates are judged.
const ENOUGH: u64 = 4;

/// No disk moves more bytes a second.
const MOST_BYTES_PER_S: f64 = 1e11;

/// No disk serves more requests a second.
const MOST_REQUESTS_PER_S: f64 = 1e8;

/// The mean gap, in seconds, beyond which whole numbers are no milliseconds: so idle a disk is not worth a trace.
const LONGEST_GAP_S: f64 = 10.0;

/// The longest request that any driver of Linux takes: 32 MiB.
const MOST_SECTORS: u64 = 1 << 16;

/// Requests beyond 4 MiB are possible, but all systems that write such traces split them.
const UNUSUAL_SECTORS: u64 = 1 << 13;

/// What the values of the first lines say.
#[derive(Clone, Debug)]
pub(super) struct FiveNumbers {
    lines: u64,
    /// All times are whole numbers.
    whole: bool,
    /// All times begin with a zero that is not needed.
    padded: bool,
    /// All addresses and sizes are multiples of 512.
    bytes: bool,
    /// All fifth columns are 0 or 1.
    types: bool,
    /// From the lowest time to the highest, in the unit of the column.
    span: f64,
    /// The sum of the fourth column, and its largest.
    sizes: f64,
    largest: u64,
}

/// One of the formats for these lines.
struct Reading {
    format: Format,
    /// Nanoseconds a unit of time, and sectors a unit of size.
    unit_ns: f64,
    sectors: f64,
}

impl FiveNumbers {
    /// The values of `head`; `None` where its lines are not five numbers.
    pub(super) fn of(head: &TextHead<'_>) -> Option<Self> {
        let mut of =
            Self { lines: 0, whole: true, padded: true, bytes: true, types: true, span: 0.0, sizes: 0.0, largest: 0 };
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for line in head.lines() {
            // A damaged line does not change the format of those before it; the parser will name it.
            let Some((time, address, size, last)) = row(line) else { break };
            of.lines += 1;
            let value = time_of(time);
            (low, high) = (low.min(value), high.max(value));
            of.whole &= integer(time).is_some();
            of.padded &= time.len() > 1 && time[0] == b'0' && time[1].is_ascii_digit();
            of.bytes &= address % SECTOR_BYTES == 0 && size % SECTOR_BYTES == 0;
            of.types &= matches!(last, b"0" | b"1");
            of.sizes += size as f64;
            of.largest = of.largest.max(size);
        }
        of.span = high - low;
        (of.lines > 0).then_some(of)
    }

    /// Whether the lines can be in `format` at all.
    pub(super) fn fits(&self, format: Format) -> bool {
        let marked = self.padded && self.types;
        match format {
            Format::Mqsim => self.whole && self.types,
            Format::MsrMs => self.bytes && self.types && !(marked && self.whole),
            Format::Disksim => !(marked && (self.whole || self.bytes)),
            _ => false,
        }
    }

    fn reading(&self, format: Format) -> Reading {
        let (unit_ns, sectors) = match format {
            Format::Mqsim => (1.0, 1.0),
            Format::MsrMs => (1e6, 1.0 / SECTOR_BYTES as f64),
            _ => (1e6, 1.0),
        };
        Reading { format, unit_ns, sectors }
    }

    /// Whether a disk could have done this.
    fn is_possible(&self, reading: &Reading) -> bool {
        if self.largest as f64 * reading.sectors >= MOST_SECTORS as f64 {
            return false;
        }
        let seconds = self.span * reading.unit_ns / 1e9;
        if self.lines < ENOUGH || seconds <= 0.0 {
            return true;
        }
        let requests = (self.lines - 1) as f64;
        let bytes = self.sizes * reading.sectors * SECTOR_BYTES as f64;
        bytes / seconds <= MOST_BYTES_PER_S
            && requests / seconds <= MOST_REQUESTS_PER_S
            && !(self.whole && reading.unit_ns > 1.0 && seconds / requests > LONGEST_GAP_S)
    }

    /// Which of `fitting` it is, and what the user should know where that is not certain.
    ///
    /// # Errors
    /// Where the values do not decide.
    pub(super) fn decide(&self, fitting: &[Format]) -> Result<(Format, Option<String>), InputError> {
        let possible: Vec<Reading> = fitting.iter().map(|&f| self.reading(f)).filter(|r| self.is_possible(r)).collect();
        let usual: Vec<&Reading> =
            possible.iter().filter(|r| self.largest as f64 * r.sectors <= UNUSUAL_SECTORS as f64).collect();
        match (possible.as_slice(), usual.as_slice()) {
            ([only], _) => Ok((only.format, None)),
            (several, [only]) => {
                let other = several.iter().find(|r| r.format != only.format).unwrap_or(only);
                let remark = format!(
                    "five numbers a line: taken for {}, as {} would have requests of {} (--format {} reads that)",
                    only.format,
                    other.format,
                    self.largest_in(other),
                    other.format
                );
                Ok((only.format, Some(remark)))
            }
            (several, _) => {
                // If no reading is possible, all formats that fit are named.
                let all: Vec<Reading> = fitting.iter().map(|&f| self.reading(f)).collect();
                let named = if several.is_empty() { all.as_slice() } else { several };
                let ways: Vec<String> = named.iter().map(|r| self.described(r)).collect();
                let got = "lines of five numbers that fit several formats";
                Err(InputError::new("trace format", got, ways.join(" or ")))
            }
        }
    }

    fn largest_in(&self, reading: &Reading) -> String {
        let bytes = self.largest as f64 * reading.sectors * SECTOR_BYTES as f64;
        match bytes {
            b if b >= (1 << 20) as f64 => format!("{} MiB", b / (1 << 20) as f64),
            b if b >= 1024.0 => format!("{} KiB", b / 1024.0),
            b => format!("{b} bytes"),
        }
    }

    fn described(&self, reading: &Reading) -> String {
        let seconds = self.span * reading.unit_ns / 1e9;
        let largest = self.largest_in(reading);
        format!("--format {} (requests up to {largest}, {} in {seconds} s)", reading.format, self.lines)
    }
}

/// The time, the address, the size and the last column of a line of five numbers.
fn row(line: &[u8]) -> Option<(&[u8], u64, u64, &[u8])> {
    let c = columns(line, None);
    let [time, device, address, size, last] = c.as_slice() else { return None };
    decimal(time, 6)?;
    integer(device)?;
    hexadecimal(last)?;
    Some((time, integer(address)?, integer(size)?, last))
}

fn time_of(text: &[u8]) -> f64 {
    std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).unwrap_or(0.0)
}
