//! VMware's vscsi trace, version 2: 40-byte little-endian records
//! `u16 command, u16 version, u32 serial, u32 bytes, u32 scatter-gather entries, u64 block, u64 time, u64 response`
//! (`trace_v2_record_t` of libCacheSim's `traceReader/include/vscsi.h`, by CloudPhysics).
//!
//! Blocks are 512 bytes, time and response microseconds; the low byte of the command is the SCSI operation code, the high
//! byte of the version is 2.

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
const RECORD: usize = 40;

/// Records at the beginning that must look like some.
const PLAUSIBLE: usize = 32;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "vscsi-2",
    summary: "VMware vscsi trace, version 2",
    endings: &[],
    detect: &[Detect::Binary(|head| {
        let mut records = head.chunks_exact(RECORD).take(PLAUSIBLE).filter_map(|c| c.first_chunk()).peekable();
        records.peek().is_some() && records.all(|bytes| Fields::of(bytes).is_plausible())
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
        while self.input.begin(&mut bytes)? {
            match Fields::of(&bytes).record(metadata) {
                Ok(None) => {}
                Ok(some) => return Ok(some),
                Err(e) => return Err(self.input.locate(e)),
            }
        }
        Ok(None)
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.input.locate(e)
    }
}

/// The fields of a record that matter.
struct Fields {
    command: u16,
    version: u16,
    bytes: u32,
    block: u64,
    time: u64,
    response: u64,
}

impl Fields {
    fn of(record: &[u8; RECORD]) -> Self {
        let half = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
        let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Self { command: half(0), version: half(2), bytes: word(8), block: long(16), time: long(24), response: long(32) }
    }

    fn is_plausible(&self) -> bool {
        self.version >> 8 == 2
            && scsi::op(self.command as u8).is_some()
            && self.bytes <= 1 << 30
            && self.block < 1 << 54
            && self.response < 1 << 40
    }

    fn record(&self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, InputError> {
        if self.version >> 8 != 2 {
            return Err(InputError::new("version", (self.version >> 8).to_string(), "2"));
        }
        if self.bytes > i32::MAX as u32 {
            return Err(InputError::new("length", (self.bytes as i32).to_string(), "bytes, not negative"));
        }
        let Some(op) = scsi::op(self.command as u8) else {
            metadata.notes.other_commands += 1;
            return Ok(None);
        };
        let micros = |name: &str, value: u64| {
            let time = value.checked_mul(1000).map(Nanos);
            time.ok_or_else(|| InputError::new(name, value.to_string(), "microseconds, at most 584 years"))
        };
        let (arrival, response) = (micros("time", self.time)?, micros("response", self.response)?);
        let sectors = if op == Op::Flush { 0 } else { u64::from(self.bytes).div_ceil(SECTOR_BYTES) };
        let Some(mut record) = transfer(metadata, arrival, op, extent(self.block, sectors)?) else { return Ok(None) };
        record.completion = Some(arrival.saturating_add(response));
        Ok(Some(record))
    }
}
