//! Telling a trace's format from its beginning.

use super::disksim_validate::parse as validate_line;
use super::{Format, blktrace, cloudphysics, fio_iolog, hp_srt, vscsi};
use crate::fields::{Fields, decimal, hexadecimal, integer};
use crate::source::HEAD_BYTES;
use iopilot_block::{InputError, SECTOR_BYTES};

/// Lines that are looked at.
const LINES: usize = 32;

/// The format of a trace that begins with `head`, after decompression.
///
/// DiskSim, MQSim and the millisecond cut of MSR Cambridge all have five numbers a line: whole ones are MQSim's; of the
/// others those whose third and fourth are multiples of 512 throughout are the cut's, in bytes.
pub(crate) fn from_head(head: &[u8]) -> Result<Format, InputError> {
    if head.is_empty() {
        return Err(empty());
    }
    if head.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    if head.starts_with(hp_srt::MAGIC) {
        return Ok(Format::HpSrt);
    }
    if let Some(magic) = head.first_chunk::<4>() {
        let (little, big) = (u32::from_le_bytes(*magic), u32::from_be_bytes(*magic));
        if [little, big].iter().any(|m| m & !0xff == blktrace::MAGIC) {
            return Ok(Format::Blktrace);
        }
    }
    if looks_binary(head) {
        let mut records = head.chunks_exact(vscsi::RECORD).take(LINES).filter_map(|c| c.first_chunk()).peekable();
        if records.peek().is_some() && records.all(vscsi::plausible) {
            return Ok(Format::Vscsi);
        }
        return Err(unknown("binary data"));
    }
    from_text(head)
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

fn from_text(head: &[u8]) -> Result<Format, InputError> {
    let complete = head.len() < HEAD_BYTES;
    let mut lines: Vec<&[u8]> = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).collect();
    if !complete {
        lines.pop(); // may be cut short
    }
    lines.retain(|line| !line.is_empty() && line[0] != b'#' && !line.starts_with(b"Input file"));
    lines.truncate(LINES);
    let Some(&first) = lines.first() else { return Err(unknown("no text")) };
    if first.starts_with(fio_iolog::VERSION_2) || first.starts_with(fio_iolog::VERSION_3) {
        return Ok(Format::FioIolog);
    }
    if first.contains(&b',') && is_blkparse(first) {
        return Ok(Format::Blkparse);
    }
    if first == cloudphysics::HEADER.as_bytes() {
        return Ok(Format::Cloudphysics);
    }
    // A header counts as no line of the trace.
    let line = if first.first().is_some_and(u8::is_ascii_alphabetic) && lines.len() > 1 && first.contains(&b',') {
        lines[1]
    } else {
        first
    };
    if line.contains(&b',') {
        return from_csv(line).ok_or_else(|| unknown(String::from_utf8_lossy(first)));
    }
    if validate_line(first).is_ok() {
        return Ok(Format::DisksimValidate);
    }
    from_numbers(&lines).ok_or_else(|| unknown(String::from_utf8_lossy(first)))
}

fn columns(line: &[u8], separator: Option<u8>) -> Vec<&[u8]> {
    let mut fields = match separator {
        Some(separator) => Fields::separated(line, separator),
        None => Fields::blank_separated(line),
    };
    std::iter::from_fn(|| fields.optional()).take(16).collect()
}

fn is_blkparse(line: &[u8]) -> bool {
    let c = columns(line, None);
    c.len() >= 7
        && c[0].split(|&b| b == b',').filter(|n| integer(n).is_some()).count() == 2
        && integer(c[1]).is_some()
        && c[3].contains(&b'.')
        && decimal(c[3], 9).is_some()
}

fn from_csv(line: &[u8]) -> Option<Format> {
    let c = columns(line, Some(b','));
    let number = |at: usize| c.get(at).is_some_and(|f| integer(f).is_some());
    let letter = |at: usize, of: &[u8]| c.get(at).is_some_and(|f| f.len() == 1 && of.contains(&f[0]));
    let word =
        |at: usize| c.get(at).is_some_and(|f| f.eq_ignore_ascii_case(b"read") || f.eq_ignore_ascii_case(b"write"));
    if c.len() == 7 && number(0) && word(3) && number(4) && number(5) {
        return Some(Format::Msr);
    }
    if c.len() == 5 && number(0) && letter(1, b"RW") && number(2) && number(3) && number(4) {
        return Some(Format::Alibaba);
    }
    if c.len() >= 5 && number(0) && number(1) && number(2) && letter(3, b"RWrw") && decimal(c[4], 9).is_some() {
        return Some(Format::Spc);
    }
    let hex = c.get(2).is_some_and(|f| f.len() <= 4 && hexadecimal(f).is_some());
    (c.len() == 5 && c[0] == b"1" && number(1) && hex && number(3) && number(4)).then_some(Format::Cloudphysics)
}

fn from_numbers(lines: &[&[u8]]) -> Option<Format> {
    let (mut whole, mut bytes) = (true, true);
    for line in lines {
        let c = columns(line, None);
        // A damaged line does not change the format of those before it; the parser will name it.
        if c.len() != 5 || decimal(c[0], 6).is_none() {
            break;
        }
        let numbers = (integer(c[2]), integer(c[3]));
        let (Some(address), Some(size)) = numbers else { break };
        whole &= integer(c[0]).is_some();
        bytes &= address % SECTOR_BYTES == 0 && size % SECTOR_BYTES == 0;
    }
    let first = columns(lines[0], None);
    let numbers = first.len() == 5 && first[..4].iter().all(|f| decimal(f, 0).is_some());
    if !numbers || hexadecimal(first[4]).is_none() {
        return None;
    }
    Some(match (whole, bytes) {
        (true, _) => Format::Mqsim,
        (false, true) => Format::MsrMs,
        (false, false) => Format::Disksim,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_formats_from_their_first_lines() {
        let cases: [(&str, Format); 14] = [
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
            assert_eq!(from_head(text.as_bytes()), Ok(format), "{text}");
        }
        assert_eq!(from_head(&0x6561_7407u32.to_be_bytes()), Ok(Format::Blktrace));
        assert_eq!(from_head(b"$$TR_IOREC-1.3"), Ok(Format::HpSrt));
        assert_eq!(from_head(b"PAR1"), Ok(Format::Parquet));
    }

    #[test]
    fn says_what_it_knows_where_it_does_not_know() {
        for bad in [&b""[..], b"\n\n", b"hello\n", b"\x00\x01\x02", b"1 2 3\n", b"a,b,c\n"] {
            let e = from_head(bad).unwrap_err().to_string();
            assert!(e.contains("expected a trace"), "{e}");
        }
    }
}
