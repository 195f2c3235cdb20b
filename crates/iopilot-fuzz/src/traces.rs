//! Traces: read to their end or their first error, counted, inferred from and replayed.

use crate::answer::refused;
use crate::used::replayed;
use iopilot_trace::{Format, InferOptions, ReadOptions, TraceReader, TraceRecord, TraceStats, infer};
use std::io::Cursor;

/// The most records that are kept. More are read.
const KEPT: usize = 512;

/// A trace in `format`, or in whichever it looks like.
pub(crate) fn trace(bytes: &[u8], format: Option<Format>) -> String {
    read(bytes, &ReadOptions { format, ..ReadOptions::default() })
}

/// A trace whose records may be late.
pub(crate) fn reordered(bytes: &[u8]) -> String {
    read(bytes, &ReadOptions { reorder: Some(3), ..ReadOptions::default() })
}

fn read(bytes: &[u8], options: &ReadOptions) -> String {
    let mut reader = match TraceReader::from_reader("fuzz", Cursor::new(bytes.to_vec()), options) {
        Ok(reader) => reader,
        Err(e) => return refused(&e),
    };
    let (mut stats, mut kept, mut read) = (TraceStats::new(), Vec::<TraceRecord>::new(), 0u32);
    let mut last = None;
    let mut end = None;
    for record in reader.by_ref() {
        let record = match record {
            Ok(record) => record,
            Err(e) => {
                end = Some(refused(&e));
                break;
            }
        };
        assert!(last.is_none_or(|time| time <= record.arrival), "records come in arrival order");
        last = Some(record.arrival);
        assert!(record.lba.0 + u64::from(record.sectors.0) <= 1 << 54, "addresses end below 2^63 bytes: {record:?}");
        stats.add(&record);
        read += 1;
        if kept.len() < KEPT {
            kept.push(record);
        }
    }
    let _ = stats.summary(reader.process_names(), reader.device_names());
    if let Some(error) = end {
        return format!("{} {error}", read.ilog2_or_none());
    }
    let dependencies = infer(&kept, &InferOptions::default());
    replayed(&kept, dependencies.as_ref().ok());
    let inferred = dependencies.map_or_else(|e| refused(&e), |_| "dependencies".to_owned());
    format!("ok {} {inferred} {:?}", read.ilog2_or_none(), reader.notes())
}

/// Maps many counts to few kinds of answer.
trait Magnitude {
    fn ilog2_or_none(self) -> String;
}

impl Magnitude for u32 {
    fn ilog2_or_none(self) -> String {
        self.checked_ilog2().map_or_else(|| "none".to_owned(), |n| format!("2^{n}"))
    }
}
