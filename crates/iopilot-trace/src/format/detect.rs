//! Recognising a trace's format by its beginning.

use super::Format;
use super::five_numbers::FiveNumbers;
use super::spec::Detect;
use crate::head::{TextHead, looks_binary};
use iopilot_block::InputError;

/// The format of a trace, and what the user should know where another is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recognised {
    pub(crate) format: Format,
    pub(crate) remark: Option<String>,
}

impl From<Format> for Recognised {
    fn from(format: Format) -> Self {
        Self { format, remark: None }
    }
}

/// The format of a trace that begins with `head`, after decompression.
///
/// # Errors
/// Where it is empty, like no format, or like several.
pub(crate) fn from_head(head: &[u8]) -> Result<Recognised, InputError> {
    let formats = candidates(head)?;
    if let [only] = formats.as_slice() {
        return Ok((*only).into());
    }
    if let Some(numbers) = TextHead::of(head).and_then(|text| FiveNumbers::of(&text)) {
        return numbers.decide(&formats).map(|(format, remark)| Recognised { format, remark });
    }
    let ways: Vec<String> = formats.iter().map(|f| format!("--format {f}")).collect();
    Err(InputError::new("trace format", "a trace that fits several formats", ways.join(" or ")))
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
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Err(unknown("text in UTF-16"));
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

/// The error for an empty input.
pub(crate) fn empty() -> InputError {
    InputError::new("trace", "an empty file", "a trace")
}

fn unknown(got: impl Into<String>) -> InputError {
    let expected = format!("a trace in one of the formats {}, or --columns LAYOUT", Format::NAMES.join(", "));
    InputError::new("trace format", got, expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::HEAD_BYTES;

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
            ("0.000 0 200626176 4096 0\n223.412 0 3159347200 36864 0\n1 0 512 65536 1\n2 0 0 512 1\n", Format::MsrMs),
            ("0,20941264,8192,W,0.551706,X\n", Format::Spc),
            ("version,time,op,size,lbn\n", Format::Cloudphysics),
            ("1,5633898368802,2a,512,42932745\n", Format::Cloudphysics),
            (
                "938513000 4 264719034 16 0\n938828000 3 197570570 16 0\n938944000 1 8 32 0\n939000000 1 8 8 1\n",
                Format::Mqsim,
            ),
            ("419,W,8792731648,16384,1577808144360767\n", Format::Alibaba),
            ("device_id,opcode,offset,length,timestamp\n419,W,0,16384,1577808144360767\n", Format::Alibaba),
        ];
        for (text, format) in cases {
            assert_eq!(from_head(text.as_bytes()), Ok(format.into()), "{text}");
        }
        assert_eq!(from_head(&0x6561_7407u32.to_be_bytes()), Ok(Format::Blktrace.into()));
        assert_eq!(from_head(b"$$TR_IOREC-1.3"), Ok(Format::HpSrt.into()));
        assert_eq!(from_head(b"PAR1"), Ok(Format::Parquet.into()));
    }

    /// Forty lines of five numbers, 10 units of time apart.
    fn forty(line: impl Fn(u64) -> String) -> String {
        (0..40).map(line).collect()
    }

    #[test]
    fn five_numbers_that_no_disk_could_do_are_not_of_that_format() {
        // As nanoseconds, 4 KiB each 10 ns; as bytes, no sectors.
        let milliseconds = forty(|i| format!("{} 0 {} 8 {}\n", i * 10, 1000 + i * 37, i % 2));
        assert_eq!(from_head(milliseconds.as_bytes()), Ok(Format::Disksim.into()));
        // As milliseconds, a request each five minutes.
        let nanoseconds = forty(|i| format!("{} 0 {} 8 {}\n", i * 300_000, i * 37, i % 2));
        assert_eq!(from_head(nanoseconds.as_bytes()), Ok(Format::Mqsim.into()));
    }

    #[test]
    fn five_numbers_that_fit_several_formats_are_asked_for() {
        let aligned = forty(|i| format!("{}.500000 0 {} 512 {}\n", i * 10, i * 512, i % 2));
        let e = from_head(aligned.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            e,
            "trace format: got lines of five numbers that fit several formats, expected --format disksim (requests up \
             to 256 KiB, 40 in 0.39 s) or --format msr-ms (requests up to 512 bytes, 40 in 0.39 s)"
        );
        let whole = forty(|i| format!("{} 0 {} 4096 {}\n", i * 10, 512_000 + i * 4096, i % 2));
        let e = from_head(whole.as_bytes()).unwrap_err().to_string();
        assert!(e.contains("--format disksim (requests up to 2 MiB") && e.contains("--format msr-ms"), "{e}");
        assert!(!e.contains("mqsim"), "2 MiB in 10 ns: {e}");
        // One line is too little to decide.
        assert!(from_head(b"0 0 8 8 1\n").is_err());
    }

    #[test]
    fn an_unusual_reading_is_told_of() {
        let cut = forty(|i| format!("{}.5 0 {} 16384 {}\n", i * 10, i * 16384, i % 2));
        let found = from_head(cut.as_bytes()).unwrap();
        assert_eq!(found.format, Format::MsrMs);
        assert!(found.remark.unwrap().contains("as disksim would have requests of 8 MiB (--format disksim"));
    }

    #[test]
    fn text_in_utf_16_is_told() {
        assert!(from_head(b"\xff\xfe1\x00,\x00").unwrap_err().to_string().contains("got text in UTF-16"));
    }

    /// The samples, each of which no other format may claim.
    #[test]
    fn every_sample_is_of_one_format_only() {
        for (name, bytes) in crate::format::samples() {
            let format: Format = name.split('.').next().unwrap_or_default().parse().expect("named for its format");
            let head = &bytes[..bytes.len().min(HEAD_BYTES)];
            assert_eq!(from_head(head), Ok(format.into()), "samples/{name}: `detect` of another format accepts it");
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
