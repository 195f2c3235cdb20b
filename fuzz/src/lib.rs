//! What all fuzz targets do: read a trace to its end or its first error.

use iopilot_trace::{ReadOptions, TraceReader};
use std::io::Cursor;

/// Reads `bytes` as a trace of the format called `format`, or of whichever they look like.
///
/// # Panics
/// Where a parser does, or hands out records that are not in order: what fuzzing looks for.
pub fn parse(bytes: &[u8], format: Option<&str>) {
    let format = format.map(|name| name.parse().expect("the name of a format"));
    let options = ReadOptions { format, ..ReadOptions::default() };
    let Ok(reader) = TraceReader::from_reader("fuzz", Cursor::new(bytes.to_vec()), &options) else { return };
    let mut last = None;
    for record in reader.map_while(Result::ok) {
        assert!(last.is_none_or(|time| time <= record.arrival), "records come in arrival order");
        last = Some(record.arrival);
    }
}
