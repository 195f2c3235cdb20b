//! VMware's vscsi trace, version 1: 32-byte little-endian records
//! `u32 serial, u32 bytes, u32 scatter-gather entries, u16 command, u16 version, u64 block, u64 time`.
//!
//! Blocks are 512 bytes, times microseconds; the low byte of the command is the SCSI operation code, the high byte of
//! the version is 1.

use super::detect::Detect;
use super::scsi;
use super::spec::FormatSpec;
use crate::fields::extent;
use crate::line_records::transfer;
use crate::metadata::TraceMetadata;
use crate::reader::Records;
use crate::source::Binary;
use crate::{TraceError, TraceRecord};
use iopilot_block::{InputError, Nanos, Op, SECTOR_BYTES};

/// Bytes in a record.
const RECORD: usize = 32;

/// Records at the beginning that must look like some.
const PLAUSIBLE: usize = 32;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "vscsi",
    summary: "VMware vscsi trace, version 1",
    endings: &[],
    detect: &[Detect::Binary(|head| {
        let mut records = head.chunks_exact(RECORD).take(PLAUSIBLE).filter_map(|c| c.first_chunk()).peekable();
        records.peek().is_some() && records.all(plausible)
    })],
    open: |input| Ok(Box::new(Reader { input: Binary::buffered(input.source) })),
    file_set: None,
    writing: None,
};

struct Reader {
    input: Binary,
}

impl Records for Reader {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        let mut bytes = [0; RECORD];
        loop {
            if !self.input.begin(&mut bytes)? {
                return Ok(None);
            }
            match parse(&bytes, metadata) {
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

fn u16_at(bytes: &[u8; RECORD], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u64_at(bytes: &[u8; RECORD], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Whether `bytes` look like a record.
fn plausible(bytes: &[u8; RECORD]) -> bool {
    let version = u16_at(bytes, 14);
    let length = u64_at(bytes, 0) >> 32;
    version >> 8 == 1 && scsi::op(bytes[12]).is_some() && length <= 1 << 30 && u64_at(bytes, 16) < 1 << 54
}

fn parse(bytes: &[u8; RECORD], metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, InputError> {
    let length = u64_at(bytes, 0) >> 32;
    let (command, version) = (u16_at(bytes, 12), u16_at(bytes, 14));
    let (block, time) = (u64_at(bytes, 16), u64_at(bytes, 24));
    if version >> 8 != 1 {
        return Err(InputError::new("version", (version >> 8).to_string(), "1"));
    }
    if length > i32::MAX as u64 {
        return Err(InputError::new("length", (length as u32 as i32).to_string(), "bytes, not negative"));
    }
    let Some(op) = scsi::op(command as u8) else {
        metadata.notes.other_commands += 1;
        return Ok(None);
    };
    let Some(time) = time.checked_mul(1000) else {
        return Err(InputError::new("time", time.to_string(), "microseconds, at most 584 years"));
    };
    let sectors = if op == Op::Flush { 0 } else { length.div_ceil(SECTOR_BYTES) };
    Ok(transfer(metadata, Nanos(time), op, extent(block, sectors)?))
}
