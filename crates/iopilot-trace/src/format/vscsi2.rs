//! VMware's vscsi trace, version 2: 40-byte little-endian records
//! `u16 command, u16 version, u32 serial, u32 bytes, u32 scatter-gather entries, u64 block, u64 time, u64 response`
//! (`trace_v2_record_t` of libCacheSim's `traceReader/include/vscsi.h`, by CloudPhysics). Units are those of version 1;
//! the response is in microseconds.

use super::fixed_records::{FixedRecord, first_records, open, u16_at, u32_at, u64_at};
use super::spec::{Detect, FormatSpec};
use super::vscsi::{PLAUSIBLE, VscsiCommand, micros};
use crate::TraceRecord;
use crate::metadata::TraceMetadata;
use iopilot_block::InputError;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "vscsi-2",
    summary: "VMware vscsi trace, version 2",
    endings: &[],
    detect: &[Detect::Binary(|head| {
        let mut records = first_records::<Version2, 40>(head, PLAUSIBLE).peekable();
        records.peek().is_some() && records.all(|r| r.command.is_plausible(2) && r.response < 1 << 40)
    })],
    open: |input| Ok(open::<Version2, 40>(input.source)),
    file_set: None,
    sample: "",
    writing: None,
};

struct Version2 {
    command: VscsiCommand,
    response: u64,
}

impl FixedRecord<40> for Version2 {
    fn of(bytes: &[u8; 40]) -> Self {
        let command = VscsiCommand {
            command: u16_at(bytes, 0),
            version: u16_at(bytes, 2),
            bytes: u32_at(bytes, 8),
            block: u64_at(bytes, 16),
            time: u64_at(bytes, 24),
        };
        Self { command, response: u64_at(bytes, 32) }
    }

    fn record(&self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, InputError> {
        let Some(record) = self.command.record(2, metadata)? else { return Ok(None) };
        let response = micros("response", self.response)?;
        Ok(Some(TraceRecord { completion: Some(record.arrival.saturating_add(response)), ..record }))
    }
}
