//! Writing Parquet through the column API, one row group at a time.

use super::{DEVICES_KEY, PROCESSES_KEY, SYSTEM_KEY, VERSION, VERSION_KEY};
use crate::format::spec::RecordWriter;
use crate::metadata::StoredMetadata;
use crate::{TraceError, TraceRecord};
use iopilot_block::{IoPriority, Nanos, ProcessId};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

/// Requests in a row group.
const ROWS: usize = 1 << 16;

const SCHEMA: &str = "message iopilot_trace {
    REQUIRED INT64 arrival_ns;
    OPTIONAL INT64 issue_ns;
    OPTIONAL INT64 completion_ns;
    REQUIRED BYTE_ARRAY op (UTF8);
    REQUIRED INT32 flags (INTEGER(16,false));
    REQUIRED INT64 lba;
    REQUIRED INT32 sectors (INTEGER(32,false));
    REQUIRED INT32 device (INTEGER(32,false));
    OPTIONAL INT32 process (INTEGER(32,false));
    OPTIONAL INT32 parent (INTEGER(32,false));
    OPTIONAL INT64 process_start_ns;
    REQUIRED INT32 priority (INTEGER(16,false));
    OPTIONAL INT32 cpu (INTEGER(16,false));
    OPTIONAL INT64 inserted_ns;
    OPTIONAL INT32 thread_group (INTEGER(32,false));
    OPTIONAL INT32 merged (INTEGER(8,false));
}";

/// Begins a file. The columns are compressed, not the file.
pub(super) fn create(path: &Path, file: BufWriter<File>) -> std::result::Result<Box<dyn RecordWriter>, TraceError> {
    match Writer::new(file) {
        Ok(writer) => Ok(Box::new(writer)),
        Err(e) => Err(TraceError::io(path, io_error(e))),
    }
}

/// Streams records into a Parquet file.
struct Writer {
    file: SerializedFileWriter<BufWriter<File>>,
    rows: Vec<TraceRecord>,
}

impl Writer {
    fn new(out: BufWriter<File>) -> Result<Self> {
        let mut properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?));
        for column in ["arrival_ns", "inserted_ns", "issue_ns", "completion_ns", "lba"] {
            let path = ColumnPath::from(column);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?;
        Ok(Self { file, rows: Vec::with_capacity(ROWS) })
    }

    /// Writes the rest and the names, and returns the file.
    fn close(mut self, names: &StoredMetadata) -> Result<BufWriter<File>> {
        self.flush()?;
        let json = |value: serde_json::Result<String>| value.map_err(|e| ParquetError::General(e.to_string()));
        let mut entries = vec![
            (VERSION_KEY, VERSION.to_owned()),
            (PROCESSES_KEY, json(serde_json::to_string(&names.processes))?),
            (DEVICES_KEY, json(serde_json::to_string(&names.devices))?),
        ];
        if let Some(system) = &names.system {
            entries.push((SYSTEM_KEY, json(serde_json::to_string(system))?));
        }
        for (key, value) in entries {
            self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        self.file.into_inner()
    }

    fn flush(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = &self.rows;
        let mut group = self.file.next_row_group()?;
        let mut column = 0;
        while let Some(writer) = group.next_column()? {
            match column {
                0 => longs(writer, rows, |r| r.arrival.0)?,
                1 => optional_longs(writer, rows, |r| r.issue)?,
                2 => optional_longs(writer, rows, |r| r.completion)?,
                3 => ops(writer, rows)?,
                4 => ints(writer, rows, |r| u32::from(r.flags.bits()))?,
                5 => longs(writer, rows, |r| r.lba.0)?,
                6 => ints(writer, rows, |r| r.sectors.0)?,
                7 => ints(writer, rows, |r| r.device)?,
                8 => optional_ints(writer, rows, |r| r.process.map(|ProcessId(p)| p))?,
                9 => optional_ints(writer, rows, |r| r.parent.map(|ProcessId(p)| p))?,
                10 => optional_longs(writer, rows, |r| r.process_start)?,
                11 => ints(writer, rows, |r| u32::from(kernel_priority(r.priority)))?,
                12 => optional_ints(writer, rows, |r| r.cpu.map(u32::from))?,
                13 => optional_longs(writer, rows, |r| r.inserted)?,
                14 => optional_ints(writer, rows, |r| r.thread_group.map(|ProcessId(p)| p))?,
                _ => optional_ints(writer, rows, |r| r.merged.map(u32::from))?,
            }
            column += 1;
        }
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

impl RecordWriter for Writer {
    fn write(&mut self, record: &TraceRecord, _: &StoredMetadata) -> io::Result<()> {
        self.rows.push(record.clone());
        if self.rows.len() == ROWS { self.flush().map_err(io_error) } else { Ok(()) }
    }

    fn finish(self: Box<Self>, names: &StoredMetadata) -> io::Result<BufWriter<File>> {
        self.close(names).map_err(io_error)
    }
}

/// The operating system's error, if that is the cause.
fn io_error(e: ParquetError) -> io::Error {
    match e {
        ParquetError::External(e) => e.downcast::<io::Error>().map_or_else(io::Error::other, |e| *e),
        e => io::Error::other(e),
    }
}

/// The kernel's 16-bit encoding, what [`IoPriority::from_kernel`] reads.
fn kernel_priority(priority: IoPriority) -> u16 {
    (priority.class as u16) << 13 | u16::from(priority.level & 7)
}

fn longs(mut w: SerializedColumnWriter<'_>, rows: &[TraceRecord], of: impl Fn(&TraceRecord) -> u64) -> Result<()> {
    let values: Vec<i64> = rows.iter().map(|r| of(r) as i64).collect();
    w.typed::<Int64Type>().write_batch(&values, None, None)?;
    w.close()
}

fn optional_longs(
    mut w: SerializedColumnWriter<'_>,
    rows: &[TraceRecord],
    of: impl Fn(&TraceRecord) -> Option<Nanos>,
) -> Result<()> {
    let values: Vec<i64> = rows.iter().filter_map(|r| of(r).map(|t| t.0 as i64)).collect();
    let present: Vec<i16> = rows.iter().map(|r| i16::from(of(r).is_some())).collect();
    w.typed::<Int64Type>().write_batch(&values, Some(&present), None)?;
    w.close()
}

fn ints(mut w: SerializedColumnWriter<'_>, rows: &[TraceRecord], of: impl Fn(&TraceRecord) -> u32) -> Result<()> {
    let values: Vec<i32> = rows.iter().map(|r| of(r) as i32).collect();
    w.typed::<Int32Type>().write_batch(&values, None, None)?;
    w.close()
}

fn optional_ints(
    mut w: SerializedColumnWriter<'_>,
    rows: &[TraceRecord],
    of: impl Fn(&TraceRecord) -> Option<u32>,
) -> Result<()> {
    let values: Vec<i32> = rows.iter().filter_map(|r| of(r).map(|n| n as i32)).collect();
    let present: Vec<i16> = rows.iter().map(|r| i16::from(of(r).is_some())).collect();
    w.typed::<Int32Type>().write_batch(&values, Some(&present), None)?;
    w.close()
}

fn ops(mut w: SerializedColumnWriter<'_>, rows: &[TraceRecord]) -> Result<()> {
    let name = |r: &TraceRecord| match r.op {
        iopilot_block::Op::Read => "read",
        iopilot_block::Op::Write => "write",
        iopilot_block::Op::Flush => "flush",
        iopilot_block::Op::Discard => "discard",
    };
    let values: Vec<ByteArray> = rows.iter().map(|r| ByteArray::from(name(r))).collect();
    w.typed::<ByteArrayType>().write_batch(&values, None, None)?;
    w.close()
}
