//! Recognising a trace's format by its beginning.

use super::Format;
use crate::source::HEAD_BYTES;
use iopilot_block::InputError;

/// Lines that are looked at.
const LINES: usize = 32;

/// How a format is recognised. The kinds are tried in this order, and within a kind the formats in that of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detect {
    /// By magic bytes at the beginning of the file.
    Magic(fn(&[u8]) -> bool),
    /// By its records: binary data without magic bytes.
    Binary(fn(&[u8]) -> bool),
    /// By the first line of a text.
    FirstLine(fn(&[u8]) -> bool),
    /// By the columns of a text.
    Text(fn(&TextHead<'_>) -> bool),
}

/// The beginning of a text: its first lines, trimmed, without blank lines and comments.
#[derive(Clone, Debug)]
pub(crate) struct TextHead<'a> {
    first: &'a [u8],
    lines: Vec<&'a [u8]>,
}

impl<'a> TextHead<'a> {
    /// `None` where there is no line.
    fn of(head: &'a [u8]) -> Option<Self> {
        let complete = head.len() < HEAD_BYTES;
        let mut lines: Vec<&[u8]> = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).collect();
        if !complete {
            lines.pop(); // may be cut short
        }
        lines.retain(|line| !line.is_empty() && line[0] != b'#' && !line.starts_with(b"Input file"));
        lines.truncate(LINES);
        Some(Self { first: lines.first()?, lines })
    }

    /// The first line.
    pub(crate) fn first(&self) -> &'a [u8] {
        self.first
    }

    /// The lines, at most [`LINES`]; at least one.
    pub(crate) fn lines(&self) -> &[&'a [u8]] {
        &self.lines
    }

    /// The first line that is no header of comma-separated columns.
    pub(crate) fn first_row(&self) -> &'a [u8] {
        let named = self.first.first().is_some_and(u8::is_ascii_alphabetic) && self.first.contains(&b',');
        match self.lines.get(1) {
            Some(second) if named => second,
            _ => self.first,
        }
    }
}

/// The format of a trace that begins with `head`, after decompression.
///
/// # Errors
/// Where it is empty, or like no format.
pub(crate) fn from_head(head: &[u8]) -> Result<Format, InputError> {
    candidates(head).map(|formats| formats[0])
}

/// All formats that recognise `head` in the first way that any does; at least one.
fn candidates(head: &[u8]) -> Result<Vec<Format>, InputError> {
    if head.is_empty() {
        return Err(empty());
    }
    let magic = recognised(|way| matches!(way, Detect::Magic(is) if is(head)));
    if !magic.is_empty() {
        return Ok(magic);
    }
    if looks_binary(head) {
        let binary = recognised(|way| matches!(way, Detect::Binary(is) if is(head)));
        return if binary.is_empty() { Err(unknown("binary data")) } else { Ok(binary) };
    }
    let Some(text) = TextHead::of(head) else { return Err(unknown("no text")) };
    let by_line = recognised(|way| matches!(way, Detect::FirstLine(is) if is(text.first())));
    if !by_line.is_empty() {
        return Ok(by_line);
    }
    let by_columns = recognised(|way| matches!(way, Detect::Text(is) if is(&text)));
    if by_columns.is_empty() { Err(unknown(String::from_utf8_lossy(text.first()))) } else { Ok(by_columns) }
}

fn recognised(is: impl Fn(&Detect) -> bool) -> Vec<Format> {
    Format::ALL.iter().copied().filter(|f| f.spec().detect.iter().any(&is)).collect()
}

/// There is nothing: no trace in any format.
pub(crate) fn empty() -> InputError {
    InputError::new("trace", "an empty file", "a trace")
}

fn unknown(got: impl Into<String>) -> InputError {
    let expected = format!("a trace in one of the formats {}", Format::NAMES.join(", "));
    InputError::new("trace format", got, expected)
}

fn looks_binary(head: &[u8]) -> bool {
    head.iter().take(4096).any(|&b| b == 0 || (b < b' ' && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_lines() {
        let cases = [
            ("  8,16   5        1     0.000000000 18615  A   R 1 + 256 <- (8,17) 1\n", Format::Blkparse),
            ("8,0 0 1 0.0 1 P N [a]\n", Format::Blkparse),
            ("fio version 3 iolog\n", Format::FioIolog),
            ("13.191135\t30\t0\t5\t1\n17.8\t20\t576560\t6\t1\n", Format::Disksim),
            ("R Hit    3962268  12   6657.00000  64047.00000\n", Format::DisksimValidate),
            ("128166372003061629,usr,0,Read,7014609920,24576,41286\n", Format::Msr),
            ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n1,usr,0,Read,0,512,1\n", Format::Msr),
            ("0.000 0 200626176 4096 0\n", Format::MsrMs),
            ("0,20941264,8192,W,0.551706,X\n", Format::Spc),
            ("version,time,op,size,lbn\n", Format::Cloudphysics),
            ("1,5633898368802,2a,512,42932745\n", Format::Cloudphysics),
            ("938513000 4 264719034 16 0\n", Format::Mqsim),
            ("419,W,8792731648,16384,1577808144360767\n", Format::Alibaba),
            ("device_id,opcode,offset,length,timestamp\n419,W,0,16384,1577808144360767\n", Format::Alibaba),
        ];
        for (text, format) in cases {
            assert_eq!(candidates(text.as_bytes()), Ok(vec![format]), "{text}");
        }
        assert_eq!(from_head(&0x6561_7407u32.to_be_bytes()), Ok(Format::Blktrace));
        assert_eq!(from_head(b"$$TR_IOREC-1.3"), Ok(Format::HpSrt));
        assert_eq!(from_head(b"PAR1"), Ok(Format::Parquet));
    }

    /// The samples, each of which no other format may claim.
    #[test]
    fn every_sample_is_of_one_format_only() {
        for (name, bytes) in crate::format::samples() {
            let format: Format = name.split('.').next().unwrap_or_default().parse().expect("named for its format");
            let head = &bytes[..bytes.len().min(HEAD_BYTES)];
            assert_eq!(candidates(head), Ok(vec![format]), "samples/{name}: `detect` of these formats accepts it");
        }
    }

    #[test]
    fn an_unknown_format_gets_the_known_ones() {
        for bad in [&b""[..], b"\n\n", b"hello\n", b"\x00\x01\x02", b"1 2 3\n", b"a,b,c\n"] {
            let e = from_head(bad).unwrap_err().to_string();
            assert!(e.contains("expected a trace"), "{e}");
        }
    }
}
