//! libCacheSim's "oracleGeneral": 24-byte little-endian records
//! `u32 time(s), u64 object, u32 bytes, i64 next access` (its `FAQ.md`).
//!
//! The object of a block trace is its address in blocks of 512 bytes, as in the vscsi traces that many were made from.
//! The format does not tell reads from writes. The next access counts requests, and is not read.

use super::fixed_records::{FixedRecord, first_records, open, u32_at, u64_at};
use super::spec::{Detect, FormatSpec};
use crate::TraceRecord;
use crate::fields::extent;
use crate::line_records::transfer;
use crate::metadata::TraceMetadata;
use iopilot_block::{InputError, Nanos, Op, SECTOR_BYTES};

/// Records at the beginning that must look like some.
const PLAUSIBLE: usize = 64;

/// The note to the user on what is assumed.
const ASSUMED: &str = "the format does not tell reads from writes: all are taken for reads, objects for blocks of 512 \
                       bytes, and requests of one second arrive together";

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "oracle-general",
    summary: "libCacheSim's oracleGeneral",
    endings: &[],
    detect: &[Detect::Binary(are_records)],
    open: |input| {
        input.metadata.notes.remarks.push(ASSUMED.to_owned());
        Ok(open::<Fields, 24>(input.source))
    },
    file_set: None,
    sample: "",
    writing: None,
};

/// Whether `head` looks like some records: times do not go back, and the next access lies ahead or never comes.
fn are_records(head: &[u8]) -> bool {
    let (mut last, mut count) = (0, 0);
    for f in first_records::<Fields, 24>(head, PLAUSIBLE) {
        count += 1;
        let ahead = f.next_access == -1 || f.next_access == i64::MAX || (count..1 << 40).contains(&f.next_access);
        if f.seconds < last || !ahead || f.bytes == 0 || f.bytes > 1 << 30 || f.object >= 1 << 54 {
            return false;
        }
        last = f.seconds;
    }
    count > 0
}

struct Fields {
    seconds: u32,
    object: u64,
    bytes: u32,
    next_access: i64,
}

impl FixedRecord<24> for Fields {
    fn of(bytes: &[u8; 24]) -> Self {
        Self {
            seconds: u32_at(bytes, 0),
            object: u64_at(bytes, 4),
            bytes: u32_at(bytes, 12),
            next_access: u64_at(bytes, 16) as i64,
        }
    }

    fn record(&self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, InputError> {
        let sectors = u64::from(self.bytes).div_ceil(SECTOR_BYTES);
        let extent = extent(self.object, sectors).map_err(|_| {
            InputError::new("object", self.object.to_string(), "the address of a block, below 2^54, not a hash")
        })?;
        Ok(transfer(metadata, Nanos(u64::from(self.seconds) * 1_000_000_000), Op::Read, extent))
    }
}
