//! Reading Parquet through the column API, some thousand rows at a time. Columns are found by name; those that are
//! optional may be missing, others may be added, and integers may have 32 or 64 bits, so that files which another tool
//! has rewritten can be read.

use super::{DEVICES_KEY, PROCESSES_KEY, SYSTEM_KEY, VERSION, VERSION_KEY};
use crate::fields::extent;
use crate::format::spec::{FormatInput, Records};
use crate::metadata::{StoredMetadata, TraceMetadata};
use crate::source::{ByteSource, ReadProgress};
use crate::{TraceError, TraceRecord};
use bytes::Bytes;
use iopilot_block::{Flags, InputError, IoPriority, Nanos, Op, ProcessId};
use parquet::basic::ConvertedType;
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::path::Path;

/// Rows decoded at a time.
const BATCH: usize = 4096;

const COUNT: usize = 16;

/// Columns in the order they are decoded, and whether a file must have them.
const COLUMNS: [(&str, bool); COUNT] = [
    ("arrival_ns", true),
    ("issue_ns", false),
    ("completion_ns", false),
    ("op", true),
    ("flags", false),
    ("lba", true),
    ("sectors", true),
    ("device", false),
    ("process", false),
    ("parent", false),
    ("process_start_ns", false),
    ("priority", false),
    ("cpu", false),
    ("inserted_ns", false),
    ("thread_group", false),
    ("merged", false),
];
const OP: usize = 3;

/// Starts to read a file by random access, or a stream that is read into memory first.
pub(super) fn open(input: FormatInput<'_>) -> Result<Box<dyn Records>, TraceError> {
    let (reader, names) = match input.path {
        Some(path) => {
            // The bytes that were read to recognise the format are read again.
            *input.progress = ReadProgress::default();
            Reader::open(path, input.progress)?
        }
        None => Reader::from_stream(input.source, input.progress)?,
    };
    input.metadata.set_names(names);
    Ok(Box::new(reader))
}

struct Reader {
    name: String,
    file: Box<dyn FileReader + Send>,
    /// Where each of [`COLUMNS`] is in the file, and whether it holds unsigned 32-bit numbers.
    columns: [Option<(usize, bool)>; COUNT],
    /// The row group to open next.
    group: usize,
    open: [Option<ColumnReader>; COUNT],
    /// Rows of the open group that have not been decoded.
    left: usize,
    batch: Batch,
    /// The row that was read last, counted from 1.
    row: u64,
    progress: ReadProgress,
}

/// Decoded rows.
#[derive(Default)]
struct Batch {
    numbers: [Vec<Option<i64>>; COUNT],
    ops: Vec<Op>,
    at: usize,
    rows: usize,
}

fn corrupt(name: &str, e: &ParquetError) -> TraceError {
    let got = e.to_string();
    let got = got.split(": ").last().unwrap_or_default().to_owned();
    InputError::new("parquet", got, "a whole parquet file").in_file(name).into()
}

/// The result of `f`, or an error where it panics: the parquet crate checks some lengths of a damaged file by assertion
/// only. A reader that panicked is not used again, as the trace ends at its first error.
fn unpanicked<T>(f: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    std::panic::catch_unwind(AssertUnwindSafe(f))
        .unwrap_or_else(|_| Err(ParquetError::General("damaged data".to_owned())))
}

/// Whether every column lies within the `length` bytes of the file.
fn check(file: &dyn FileReader, length: u64) -> Result<(), InputError> {
    for group in file.metadata().row_groups() {
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end = start.checked_add(column.compressed_size()).and_then(|end| u64::try_from(end).ok());
            if start < 0 || column.compressed_size() < 0 || end.is_none_or(|end| end > length) {
                let got = format!("bytes from {start}, {} of them", column.compressed_size());
                let name = column.column_path().string();
                return Err(InputError::new(name, got, format!("a place within the file's {length} bytes")));
            }
        }
    }
    Ok(())
}

impl Reader {
    fn open(path: &Path, progress: &mut ReadProgress) -> Result<(Self, StoredMetadata), TraceError> {
        let file = File::open(path).map_err(|e| TraceError::io(path, e))?;
        progress.add_total(file.metadata().map_err(|e| TraceError::io(path, e))?.len());
        let name = path.display().to_string();
        let length = progress.total();
        let file = unpanicked(|| SerializedFileReader::new(file)).map_err(|e| corrupt(&name, &e))?;
        Self::new(name, Box::new(file), length, progress)
    }

    fn from_stream(mut source: ByteSource, progress: &ReadProgress) -> Result<(Self, StoredMetadata), TraceError> {
        let mut bytes = Vec::new();
        source.bytes.read_to_end(&mut bytes).map_err(|e| TraceError::io(&source.name, e))?;
        let length = bytes.len() as u64;
        let file =
            unpanicked(|| SerializedFileReader::new(Bytes::from(bytes))).map_err(|e| corrupt(&source.name, &e))?;
        Self::new(source.name, Box::new(file), length, progress)
    }

    fn new(
        name: String,
        file: Box<dyn FileReader + Send>,
        length: u64,
        progress: &ReadProgress,
    ) -> Result<(Self, StoredMetadata), TraceError> {
        check(file.as_ref(), length).map_err(|e| e.in_file(&name))?;
        let names = names(&name, file.as_ref())?;
        let mut columns = [None; COUNT];
        for (i, descr) in file.metadata().file_metadata().schema_descr().columns().iter().enumerate() {
            let Some(at) = COLUMNS.iter().position(|(column, _)| *column == descr.name()) else { continue };
            let flat = descr.path().parts().len() == 1 && descr.max_rep_level() == 0 && descr.max_def_level() <= 1;
            if !flat {
                let e = InputError::new(descr.name(), "a nested column", "a column of the table itself");
                return Err(e.in_file(&name).into());
            }
            columns[at] = Some((i, matches!(descr.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_16)));
        }
        if let Some((missing, _)) =
            COLUMNS.iter().zip(&columns).find(|((_, must), c)| *must && c.is_none()).map(|(c, _)| c)
        {
            let e = InputError::new("columns", format!("no {missing}"), "arrival_ns, op, lba and sectors at least");
            return Err(e.in_file(&name).into());
        }
        let open = std::array::from_fn(|_| None);
        let batch = Batch::default();
        let progress = progress.clone();
        Ok((Self { name, file, columns, group: 0, open, left: 0, batch, row: 0, progress }, names))
    }

    fn corrupt(&self, e: &ParquetError) -> TraceError {
        corrupt(&self.name, e)
    }

    /// Opens the next row group that has rows; `false` where there is none.
    fn next_group(&mut self) -> Result<bool, TraceError> {
        while self.left == 0 {
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = unpanicked(|| self.file.get_row_group(self.group)).map_err(|e| corrupt(&self.name, &e))?;
            let rows = group.metadata().num_rows();
            self.left = usize::try_from(rows).map_err(|_| {
                InputError::new("rows", rows.to_string(), "a number that is not negative").in_file(&self.name)
            })?;
            for (open, column) in self.open.iter_mut().zip(&self.columns) {
                *open = match column {
                    Some((i, _)) => {
                        Some(unpanicked(|| group.get_column_reader(*i)).map_err(|e| corrupt(&self.name, &e))?)
                    }
                    None => None,
                };
            }
            self.progress.add_read(u64::try_from(group.metadata().compressed_size()).unwrap_or(0));
            self.group += 1;
        }
        Ok(true)
    }

    /// Decodes the next rows; `false` at the end of the trace.
    fn decode(&mut self) -> Result<bool, TraceError> {
        if !self.next_group()? {
            return Ok(false);
        }
        let rows = self.left.min(BATCH);
        for (at, (column, _)) in COLUMNS.iter().enumerate() {
            let Some(reader) = &mut self.open[at] else {
                self.batch.numbers[at].clear();
                self.batch.numbers[at].resize(rows, None);
                continue;
            };
            let unsigned = self.columns[at].is_some_and(|(_, unsigned)| unsigned);
            let batch = &mut self.batch;
            let result = unpanicked(|| match at {
                OP => decode_ops(reader, rows, &mut batch.ops),
                _ => decode_numbers(reader, rows, unsigned, &mut batch.numbers[at]),
            });
            match result {
                Ok(Ok(())) => {}
                Ok(Err(e)) => {
                    return Err(InputError { field: (*column).to_owned(), ..e }.in_file(&self.name).into());
                }
                Err(e) => return Err(self.corrupt(&e)),
            }
        }
        self.left -= rows;
        self.batch.at = 0;
        self.batch.rows = rows;
        Ok(true)
    }

    /// The record in row `at` of the batch.
    fn record(&self, at: usize) -> Result<TraceRecord, InputError> {
        let b = &self.batch;
        let number = |column: usize, most: u64| match b.numbers[column][at] {
            None => Ok(None),
            Some(n) => match u64::try_from(n) {
                Ok(n) if n <= most => Ok(Some(n)),
                _ => Err(InputError::new(COLUMNS[column].0, n.to_string(), format!("a number from 0 to {most}"))),
            },
        };
        let needed = |column: usize, most: u64| {
            number(column, most)?.ok_or_else(|| InputError::new(COLUMNS[column].0, "null", "a number"))
        };
        let time = |column| number(column, i64::MAX as u64).map(|n| n.map(Nanos));
        let id = |column| number(column, u64::from(u32::MAX)).map(|n| n.map(|n| n as u32));
        let op = b.ops[at];
        let (lba, sectors) = extent(needed(5, i64::MAX as u64)?, needed(6, u64::from(u32::MAX))?)?;
        if sectors.0 == 0 && op != Op::Flush {
            return Err(InputError::new("sectors", "0", "a length above 0 of whatever is no flush"));
        }
        let mut record = TraceRecord::new(Nanos(needed(0, i64::MAX as u64)?), op, lba, sectors);
        record.issue = time(1)?;
        record.completion = time(2)?;
        record.flags = Flags::from_bits_truncate(number(4, u64::from(u16::MAX))?.unwrap_or(0) as u16);
        record.device = id(7)?.unwrap_or(0);
        record.process = id(8)?.map(ProcessId);
        record.parent = id(9)?.map(ProcessId);
        record.process_start = time(10)?;
        if let Some(raw) = number(11, u64::from(u16::MAX))? {
            record.priority = IoPriority::from_kernel(raw as u16).ok_or_else(|| {
                InputError::new("priority", raw.to_string(), "an I/O priority as the kernel encodes it")
            })?;
        }
        record.cpu = number(12, u64::from(u16::MAX))?.map(|n| n as u16);
        record.inserted = time(13)?;
        record.thread_group = id(14)?.map(ProcessId);
        record.merged = number(15, 1)?.map(|n| n == 1);
        Ok(record)
    }
}

impl Records for Reader {
    fn next(&mut self, _side: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        if self.batch.at == self.batch.rows && !self.decode()? {
            return Ok(None);
        }
        let at = self.batch.at;
        self.batch.at += 1;
        self.row += 1;
        self.record(at).map(Some).map_err(|e| self.locate(e))
    }

    fn locate(&self, e: InputError) -> TraceError {
        e.in_file(&self.name).at_line(self.row).into()
    }

    fn relative(&self) -> bool {
        true
    }
}

type Decoded = Result<Result<(), InputError>, ParquetError>;

fn short(got: usize, rows: usize) -> Result<(), InputError> {
    if got == rows { Ok(()) } else { Err(InputError::new("", format!("{got} rows"), format!("{rows}"))) }
}

fn decode_numbers(reader: &mut ColumnReader, rows: usize, unsigned: bool, out: &mut Vec<Option<i64>>) -> Decoded {
    let (mut levels, mut shorts, mut longs) = (Vec::new(), Vec::new(), Vec::new());
    let got = match reader {
        ColumnReader::Int32ColumnReader(r) => r.read_records(rows, Some(&mut levels), None, &mut shorts)?.0,
        ColumnReader::Int64ColumnReader(r) => r.read_records(rows, Some(&mut levels), None, &mut longs)?.0,
        _ => return Ok(Err(InputError::new("", "another type", "a column of integers"))),
    };
    let widen = |n: i32| if unsigned { i64::from(n as u32) } else { i64::from(n) };
    let mut values = shorts.into_iter().map(widen).chain(longs);
    out.clear();
    if levels.is_empty() {
        out.extend(values.map(Some));
    } else {
        out.extend(levels.iter().map(|&level| if level > 0 { values.next() } else { None }));
    }
    if let Err(e) = short(got, rows) {
        return Ok(Err(e));
    }
    Ok(short(out.len(), rows))
}

fn decode_ops(reader: &mut ColumnReader, rows: usize, out: &mut Vec<Op>) -> Decoded {
    let (mut levels, mut values): (Vec<i16>, Vec<ByteArray>) = (Vec::new(), Vec::new());
    match reader {
        ColumnReader::ByteArrayColumnReader(r) => r.read_records(rows, Some(&mut levels), None, &mut values)?,
        _ => return Ok(Err(InputError::new("", "another type", "a column of text"))),
    };
    out.clear();
    for value in &values {
        out.push(match value.data() {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"flush" => Op::Flush,
            b"discard" => Op::Discard,
            other => {
                let got = String::from_utf8_lossy(&other[..other.len().min(60)]);
                return Ok(Err(InputError::new("", got, "read, write, flush or discard")));
            }
        });
    }
    Ok(short(out.len(), rows))
}

/// The names in the file's metadata; a file of another tool has none.
fn names(name: &str, file: &dyn FileReader) -> Result<StoredMetadata, TraceError> {
    let mut names = StoredMetadata::default();
    let metadata = file.metadata().file_metadata().key_value_metadata();
    for entry in metadata.into_iter().flatten() {
        let value = entry.value.as_deref().unwrap_or_default();
        let bad = |expected: &str| InputError::new(&entry.key, value, expected).in_file(name);
        match entry.key.as_str() {
            VERSION_KEY if value != VERSION => return Err(bad(VERSION).into()),
            PROCESSES_KEY => {
                names.processes =
                    serde_json::from_str(value).map_err(|_| bad("a JSON object of names by process id"))?;
            }
            DEVICES_KEY => names.devices = serde_json::from_str(value).map_err(|_| bad("a JSON array of names"))?,
            SYSTEM_KEY => {
                let system = serde_json::from_str(value).map_err(|_| bad("a JSON object that describes a system"))?;
                names.system = Some(system);
            }
            _ => {}
        }
    }
    Ok(names)
}
