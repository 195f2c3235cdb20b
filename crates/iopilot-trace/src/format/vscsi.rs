//! VMware's vscsi trace, version 1: 32-byte little-endian records
//! `u32 serial, u32 bytes, u32 scatter-gather entries, u16 command, u16 version, u64 block, u64 time`; and what version 2
//! has in common with it.
//!
//! Blocks are 512 bytes, times microseconds; the low byte of the command is the SCSI operation code, the high byte of
//! the version is its number.

use super::fixed_records::{FixedRecord, first_records, open, u16_at, u32_at, u64_at};
use super::scsi;
use super::spec::{Detect, FormatSpec};
use crate::TraceRecord;
use crate::fields::extent;
use crate::line_records::transfer;
use crate::metadata::TraceMetadata;
use iopilot_block::{InputError, Nanos, Op, SECTOR_BYTES};

/// Records at the beginning that must look like some.
pub(super) const PLAUSIBLE: usize = 32;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "vscsi",
    summary: "VMware vscsi trace, version 1",
    endings: &[],
    detect: &[Detect::Binary(|head| {
        let mut records = first_records::<Version1, 32>(head, PLAUSIBLE).peekable();
        records.peek().is_some() && records.all(|Version1(command)| command.is_plausible(1))
    })],
    open: |input| Ok(open::<Version1, 32>(input.source)),
    file_set: None,
    sample: "",
    writing: None,
};

/// What both versions say of a command.
pub(super) struct VscsiCommand {
    pub(super) command: u16,
    pub(super) version: u16,
    pub(super) bytes: u32,
    pub(super) block: u64,
    pub(super) time: u64,
}

impl VscsiCommand {
    /// Whether it looks like one of this version.
    pub(super) fn is_plausible(&self, version: u16) -> bool {
        self.version >> 8 == version
            && scsi::op(self.command as u8).is_some()
            && self.bytes <= 1 << 30
            && self.block < 1 << 54
    }

    /// The request, if the command is one.
    pub(super) fn record(&self, version: u16, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, InputError> {
        if self.version >> 8 != version {
            return Err(InputError::new("version", (self.version >> 8).to_string(), version.to_string()));
        }
        if self.bytes > i32::MAX as u32 {
            return Err(InputError::new("length", (self.bytes as i32).to_string(), "bytes, not negative"));
        }
        let Some(op) = scsi::op(self.command as u8) else {
            metadata.notes.other_commands += 1;
            return Ok(None);
        };
        let arrival = micros("time", self.time)?;
        let sectors = if op == Op::Flush { 0 } else { u64::from(self.bytes).div_ceil(SECTOR_BYTES) };
        Ok(transfer(metadata, arrival, op, extent(self.block, sectors)?))
    }
}

/// A time of so many microseconds.
pub(super) fn micros(field: &str, value: u64) -> Result<Nanos, InputError> {
    let time = value.checked_mul(1000).map(Nanos);
    time.ok_or_else(|| InputError::new(field, value.to_string(), "microseconds, at most 584 years"))
}

struct Version1(VscsiCommand);

impl FixedRecord<32> for Version1 {
    fn of(bytes: &[u8; 32]) -> Self {
        Self(VscsiCommand {
            command: u16_at(bytes, 12),
            version: u16_at(bytes, 14),
            bytes: u32_at(bytes, 4),
            block: u64_at(bytes, 16),
            time: u64_at(bytes, 24),
        })
    }

    fn record(&self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, InputError> {
        self.0.record(1, metadata)
    }
}
