//! libCacheSim's "oracleGeneral": 24-byte little-endian records
//! `u32 time(s), u64 object, u32 bytes, i64 next access` (its `FAQ.md`).
//!
//! The object of a block trace is its address in blocks of 512 bytes, as in the vscsi traces that many were made from.
//! The format does not tell reads from writes. The next access counts requests, and is not read.

use super::detect::Detect;
use super::spec::FormatSpec;
use crate::fields::extent;
use crate::line_records::transfer;
use crate::metadata::TraceMetadata;
use crate::reader::Records;
use crate::source::Binary;
use crate::{TraceError, TraceRecord};
use iopilot_block::{InputError, Nanos, Op, SECTOR_BYTES};

/// Bytes in a record.
const RECORD: usize = 24;

/// Records at the beginning that must look like some.
const PLAUSIBLE: usize = 64;

/// What a user should know.
const ASSUMED: &str = "the format does not tell reads from writes: all are taken for reads, objects for blocks of 512 \
                       bytes, and requests of one second arrive together";

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "oracle-general",
    summary: "libCacheSim's oracleGeneral",
    endings: &[],
    detect: &[Detect::Binary(are_records)],
    open: |input| {
        input.metadata.notes.remarks.push(ASSUMED.to_owned());
        Ok(Box::new(Reader { input: Binary::buffered(input.source) }))
    },
    file_set: None,
    writing: None,
};

/// Whether `head` looks like some records: times do not go back, and the next access lies ahead or never comes.
fn are_records(head: &[u8]) -> bool {
    let records = head.chunks_exact(RECORD).take(PLAUSIBLE).filter_map(|c| c.first_chunk()).map(Fields::of);
    let (mut last, mut count) = (0, 0);
    for f in records {
        count += 1;
        let ahead = f.next_access == -1 || f.next_access == i64::MAX || (count..1 << 40).contains(&f.next_access);
        if f.seconds < last || !ahead || f.bytes == 0 || f.bytes > 1 << 30 || f.object >= 1 << 54 {
            return false;
        }
        last = f.seconds;
    }
    count > 0
}

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

struct Fields {
    seconds: u32,
    object: u64,
    bytes: u32,
    next_access: i64,
}

impl Fields {
    fn of(record: &[u8; RECORD]) -> Self {
        let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Self { seconds: word(0), object: long(4), bytes: word(12), next_access: long(16) as i64 }
    }

    fn record(&self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, InputError> {
        let sectors = u64::from(self.bytes).div_ceil(SECTOR_BYTES);
        let extent = extent(self.object, sectors).map_err(|_| {
            InputError::new("object", self.object.to_string(), "the address of a block, below 2^54, not a hash")
        })?;
        Ok(transfer(metadata, Nanos(u64::from(self.seconds) * 1_000_000_000), Op::Read, extent))
    }
}
