//! HP Labs' SRT, versions 1 to 4: a text header up to a form feed (0x0C), then big-endian records of 32-bit words
//! `size, id, sec, usec, start, stop, bytes, block, device, driver, cylinder, flags, info[, queue length]`.
//!
//! `start` and `stop` are microseconds since the request was enqueued. Addresses are in the disk's own sectors, whose
//! size the header tells, and count from the beginning of the disk, whatever section (partition) the device number
//! names; so the device here is the disk, bits 8 to 15 of that number. Flags are those of HP-UX 8: bit 0 a read, 0x100
//! asynchronous, 0x0100_0000 a synchronous write, 0x0008_0000 from the file system.

use super::spec::{Detect, FormatSpec, Records};
use crate::fields::byte_extent;
use crate::line_records::transfer;
use crate::metadata::TraceMetadata;
use crate::source::{Binary, ByteSource};
use crate::{TraceError, TraceRecord};
use iopilot_block::{Flags, InputError, Nanos, Op};
use std::collections::BTreeMap;

/// How every header begins.
const MAGIC: &[u8] = b"$$TR_IOREC";

const LONGEST_HEADER: usize = 1 << 20;
/// Record types (the low half of `id`).
const SHORT_IO: u32 = 1;

const READ: u32 = 0x1;
const ASYNC: u32 = 0x100;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "hp-srt",
    summary: "HP Labs' SRT, versions 1 to 4",
    endings: &[],
    detect: &[Detect::Magic(|head| head.starts_with(MAGIC))],
    open: |input| Ok(Box::new(Reader::new(input.source)?)),
    file_set: None,
    sample: "",
    writing: None,
};

struct Reader {
    input: Binary,
    /// Bytes in a sector of each disk.
    sector_bytes: BTreeMap<u32, u64>,
    record: Vec<u8>,
}

impl Reader {
    fn new(source: ByteSource) -> Result<Self, TraceError> {
        let mut input = Binary::buffered(source);
        let mut header = Vec::new();
        loop {
            let mut byte = [0];
            let more = input.begin(&mut byte)?;
            input.record = 0;
            match byte[0] {
                0x0c if more => break,
                _ if !more || header.len() == LONGEST_HEADER => {
                    let e = InputError::new("header", "no end", "a form feed (0x0C) after the text header");
                    return Err(e.in_file(input.name()).into());
                }
                b => header.push(b),
            }
        }
        let sector_bytes = sector_bytes(&header).map_err(|e| e.in_file(input.name()))?;
        Ok(Self { input, sector_bytes, record: Vec::new() })
    }
}

/// The sector size of every disk in the header, which describes a disk as `NUMBER -> { disktype = ... sectorsize = N`.
fn sector_bytes(header: &[u8]) -> Result<BTreeMap<u32, u64>, InputError> {
    let text = String::from_utf8_lossy(header);
    if !text.as_bytes().starts_with(MAGIC) {
        return Err(InputError::new("header", text.get(..10).unwrap_or(""), "$$TR_IOREC"));
    }
    let spaced = text.replace(['{', '}', ',', ';', '='], " ");
    let mut words = spaced.split_ascii_whitespace().peekable();
    let (mut number, mut disk) = (None, None);
    let mut sizes = BTreeMap::new();
    while let Some(word) = words.next() {
        match word {
            "disktype" => disk = number,
            "sectorsize" => {
                let size = words.peek().and_then(|w| w.parse().ok()).filter(|n| (1..=1 << 20).contains(n));
                let (Some(size), Some(disk)) = (size, disk) else {
                    let got = words.peek().copied().unwrap_or("");
                    return Err(InputError::new("sectorsize", got, "the bytes in a sector of a disk"));
                };
                sizes.insert(disk, size);
            }
            _ if words.peek() == Some(&"->") => number = word.parse().ok(),
            _ => {}
        }
    }
    if sizes.is_empty() {
        return Err(InputError::new("header", "no sectorsize", "the sector size of each disk"));
    }
    Ok(sizes)
}

impl Reader {
    /// Reads the next record into `self.record`, without its size word.
    fn fill(&mut self) -> Result<bool, TraceError> {
        let mut word = [0; 4];
        if !self.input.begin(&mut word)? {
            return Ok(false);
        }
        let size = i32::from_be_bytes(word);
        if !(52..=4096).contains(&size) || size % 4 != 0 {
            let e = InputError::new("size", size.to_string(), "a record of 52 to 4096 bytes, a multiple of 4");
            return Err(self.input.locate(e));
        }
        self.record.resize(size as usize - 4, 0);
        self.input.more(&mut self.record)?;
        Ok(true)
    }

    fn word(&self, at: usize) -> i32 {
        let mut word = [0; 4];
        // Word 0, the size, is not kept.
        word.copy_from_slice(&self.record[at * 4 - 4..at * 4]);
        i32::from_be_bytes(word)
    }

    fn unsigned(&self, at: usize, name: &str) -> Result<u64, InputError> {
        let n = self.word(at);
        u64::try_from(n).map_err(|_| InputError::new(name, n.to_string(), "a number that is not negative"))
    }

    fn parse(&self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, InputError> {
        let id = self.word(1) as u32;
        if !(1..=4).contains(&(id >> 16)) {
            return Err(InputError::new("id", format!("{id:#x}"), "a record of version 1 to 4"));
        }
        if id & 0xffff != SHORT_IO {
            metadata.notes.other_commands += 1;
            return Ok(None);
        }
        let micros = |n: u64| Nanos(n * 1000);
        let (sec, usec) = (self.unsigned(2, "sec")?, self.unsigned(3, "usec")?);
        let arrival = Nanos(sec * 1_000_000_000 + usec * 1000);
        let (start, stop) = (self.unsigned(4, "start")?, self.unsigned(5, "stop")?);
        if stop < start {
            return Err(InputError::new("stop", stop.to_string(), format!("a time not before start ({start} us)")));
        }
        let (bytes, block) = (self.unsigned(6, "bytes")?, self.unsigned(7, "block")?);
        let device = (self.word(8) as u32 >> 8) & 0xff;
        let Some(&sector) = self.sector_bytes.get(&device) else {
            let known: Vec<_> = self.sector_bytes.keys().map(u32::to_string).collect();
            return Err(InputError::new(
                "device",
                device.to_string(),
                format!("a disk of the header: {}", known.join(", ")),
            ));
        };
        let flags = self.word(11) as u32;
        let op = if flags & READ != 0 { Op::Read } else { Op::Write };
        let Some(mut record) = transfer(metadata, arrival, op, byte_extent(block * sector, bytes)?) else {
            return Ok(None);
        };
        record.device = device;
        record.issue = Some(arrival + micros(start));
        record.completion = Some(arrival + micros(stop));
        match op {
            Op::Read => record.flags.set(Flags::READ_AHEAD, flags & ASYNC != 0),
            _ => record.flags.set(Flags::SYNC, flags & ASYNC == 0),
        }
        Ok(Some(record))
    }
}

impl Records for Reader {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            if !self.fill()? {
                return Ok(None);
            }
            match self.parse(metadata) {
                Ok(None) => {}
                Ok(some) => return Ok(some),
                Err(e) => return Err(self.input.locate(e)),
            }
        }
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.input.locate(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_the_sector_size_of_each_disk() {
        let header = b"$$TR_IOREC-1.3 (x)\0\nversion = 1.3;\ndisks = {\n 0 -> {\n disktype = hp335h,\n rpm = 4002,\n\
            adaptor = 1 -> { hp_ib , 1.2 , 250 },\n sectorsize  = 256,\n sections = { 8 -> { \"/\" } }\n },\n\
            1 -> {\n disktype = x, sectorsize = 512 } };";
        assert_eq!(sector_bytes(header).unwrap(), BTreeMap::from([(0, 256), (1, 512)]));
        assert!(sector_bytes(b"$$TR_IOREC-1.3").unwrap_err().to_string().contains("sector size"));
    }
}
