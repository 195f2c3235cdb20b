//! [`TraceReader`]: the records of a trace, whatever its format.

use crate::format::detect::Recognised;
use crate::format::named_columns::ColumnLayout;
use crate::format::spec::{FileSet, FormatInput, Records};
use crate::format::think_time::ThinkTime;
use crate::format::{self, Format};
use crate::metadata::{ReadNotes, TraceMetadata};
use crate::reorder::Reorder;
use crate::source::{ByteSource, ReadProgress};
use crate::{RecordedSystem, TraceError, TraceRecord};
use iopilot_block::{InputError, Nanos};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How to read a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; recognised by the content where it is `None`.
    pub format: Option<Format>,
    /// The columns of a text that no other format fits; where it is set, the format is [`Format::Columns`].
    pub columns: Option<ColumnLayout>,
    /// Only the requests of this device ([`TraceRecord::device`]). Times still count from the first request of all
    /// devices.
    pub device: Option<u32>,
    /// Which request the think times of a DiskSim validation trace belong to.
    pub think_time: ThinkTime,
    /// The size of the disk in sectors: requests past its end are an error. `None` takes any address.
    pub capacity: Option<u64>,
    /// How many places late a record may stand; it is then moved to its place. With `None` a late record is an error,
    /// except between the CPUs of a recording ([`TraceReader::CPU_REORDER`]).
    pub reorder: Option<usize>,
}

/// The last time that a record may have, since the first request.
const LAST_TIME: Nanos = Nanos(1 << 62);

/// The path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Streams the records of a trace in arrival order, in bounded memory.
///
/// Times count from the trace's first request. A time that goes back is an error, unless [`ReadOptions::reorder`] allows
/// it. In formats that are recorded per CPU (blkparse, blktrace) each CPU of a device must keep order. Between CPUs a
/// record may stand up to [`TraceReader::CPU_REORDER`] places late; it is moved to its place. The iterator ends after an
/// error.
pub struct TraceReader {
    format: Format,
    records: Box<dyn Records>,
    metadata: TraceMetadata,
    reorder: Reorder,
    progress: ReadProgress,
    device: Option<u32>,
    capacity: Option<u64>,
    base: Option<Nanos>,
    at_end: bool,
    failed: bool,
}

impl TraceReader {
    /// How many places late a record may stand where each CPU recorded on its own. More than any device keeps in flight;
    /// about 1 MB of records.
    pub const CPU_REORDER: usize = 8192;

    /// Opens the trace at `path`: a file, plain or packed with gzip, zstd or xz; for blktrace also any one of its
    /// per-CPU files `NAME.blktrace.N`, their stem `NAME`, or the directory that holds them. `-` is standard input.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        if path == Path::new(STANDARD_INPUT) {
            return Self::from_reader("standard input", std::io::stdin(), options);
        }
        let mut progress = ReadProgress::default();
        if let Some((format, file_set, files)) = file_set(path, options.format)? {
            if options.format.is_some_and(|asked| asked != format) {
                let expected = format!("a file in format {}", options.format.map_or("", Format::name));
                return Err(InputError::new("path", format!("per-CPU files of {format}"), expected)
                    .in_file(path.display())
                    .into());
            }
            let records = (file_set.open)(&files, &mut progress, options.reorder)?;
            return Ok(Self::with(format, records, progress, TraceMetadata::default(), options));
        }
        let source = ByteSource::open(path, &mut progress)?;
        Self::from_source(source, Some(path), progress, options)
    }

    /// Reads a trace from `input`, a stream such as standard input, which is called `name` in messages. Parquet needs
    /// random access and is read into memory first.
    pub fn from_reader(
        name: &str,
        input: impl Read + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let progress = ReadProgress::default();
        let source = ByteSource::new(name, input, &progress)?;
        Self::from_source(source, None, progress, options)
    }

    fn from_source(
        source: ByteSource,
        path: Option<&Path>,
        mut progress: ReadProgress,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let (head, source) = source.peek_text()?;
        let Recognised { format, remark } = choose(&source.name, &head, options)?;
        let mut metadata = TraceMetadata::default();
        metadata.notes.remarks.extend(remark);
        let input = FormatInput {
            source,
            path,
            progress: &mut progress,
            metadata: &mut metadata,
            columns: options.columns.as_ref(),
            think_time: options.think_time,
            reorder: options.reorder,
        };
        let records = (format.spec().open)(input)?;
        Ok(Self::with(format, records, progress, metadata, options))
    }

    fn with(
        format: Format,
        records: Box<dyn Records>,
        progress: ReadProgress,
        metadata: TraceMetadata,
        options: &ReadOptions,
    ) -> Self {
        Self {
            format,
            reorder: Reorder::new(options.reorder.unwrap_or(records.reorder_limit())),
            base: records.relative().then_some(Nanos::ZERO),
            records,
            metadata,
            progress,
            device: options.device,
            capacity: options.capacity,
            at_end: false,
            failed: false,
        }
    }

    /// The format: the one asked for, or the one recognised.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes of the file, or files, read so far; before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.progress.read()
    }

    /// Bytes of the file, or files; 0 where that is unknown (a pipe).
    pub fn total_bytes(&self) -> u64 {
        self.progress.total()
    }

    /// The command names of processes seen so far, by process id; empty where the format has none.
    pub fn process_names(&self) -> &BTreeMap<u32, String> {
        self.metadata.processes()
    }

    /// The names of the devices, by device number; empty where the format has only numbers.
    pub fn device_names(&self) -> &[String] {
        &self.metadata.devices
    }

    /// The machine and the settings under which it was recorded, where the trace carries them.
    pub fn recorded_system(&self) -> Option<&RecordedSystem> {
        self.metadata.system.as_ref()
    }

    /// What was left out or moved so far.
    pub fn notes(&self) -> ReadNotes {
        ReadNotes { reordered: self.reorder.moved, ..self.metadata.notes.clone() }
    }

    fn check_address(&self, record: &TraceRecord) -> Result<(), TraceError> {
        let Some(capacity) = self.capacity else { return Ok(()) };
        let end = record.lba.0.saturating_add(u64::from(record.sectors.0));
        if end <= capacity || self.device.is_some_and(|device| device != record.device) {
            return Ok(());
        }
        let expected = format!(
            "a request that ends at or below sector {capacity}, where the disk ends (--fit wrap folds addresses)"
        );
        Err(self.records.locate(InputError::new("lba + sectors", end.to_string(), expected)))
    }

    /// Times leave room for what happens after them.
    fn check_times(&self, record: &TraceRecord) -> Result<(), TraceError> {
        let times = [Some(record.arrival), record.inserted, record.issue, record.completion];
        match times.into_iter().flatten().find(|&time| time > LAST_TIME) {
            None => Ok(()),
            Some(time) => {
                let expected = "a time within 146 years of the first request";
                Err(self.records.locate(InputError::new("time", format!("{time} behind the first request"), expected)))
            }
        }
    }

    fn read(&mut self) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            let record = loop {
                if let Some(record) = self.reorder.pop(self.at_end) {
                    break record;
                }
                if self.at_end {
                    return Ok(None);
                }
                match self.records.next(&mut self.metadata)? {
                    None => self.at_end = true,
                    Some(record) => {
                        self.check_address(&record)?;
                        if let Err(late) = self.reorder.push(record) {
                            return Err(self.records.locate(late.error(self.reorder.limit())));
                        }
                    }
                }
            };
            let base = *self.base.get_or_insert(record.arrival);
            if self.device.is_none_or(|device| device == record.device) {
                let record = since(record, base);
                self.check_times(&record)?;
                return Ok(Some(record));
            }
        }
    }
}

/// `record` with times since `base`.
fn since(mut record: TraceRecord, base: Nanos) -> TraceRecord {
    record.arrival = record.arrival.since(base);
    record.inserted = record.inserted.map(|t| t.since(base));
    record.issue = record.issue.map(|t| t.since(base));
    record.completion = record.completion.map(|t| t.since(base));
    record.process_start = record.process_start.map(|t| t.since(base));
    record
}

fn choose(name: &str, head: &[u8], options: &ReadOptions) -> Result<Recognised, TraceError> {
    let columns = options.columns.as_ref().map(|_| Format::Columns);
    if let (Some(format), Some(columns)) = (options.format, columns) {
        if format != columns {
            let expected = format!("{columns}, or no --columns");
            return Err(InputError::new("--format", format.name(), expected).in_file(name).into());
        }
    }
    match options.format.or(columns) {
        Some(format) if !head.is_empty() => Ok(format.into()),
        _ => format::detect::from_head(head).map_err(|e| e.in_file(name).into()),
    }
}

/// The recording in several files that `path` stands for, its format, and how to read it.
#[allow(clippy::type_complexity)] // all three are needed at once, in one place
fn file_set(
    path: &Path,
    asked: Option<Format>,
) -> Result<Option<(Format, &'static FileSet, Vec<PathBuf>)>, TraceError> {
    for &format in Format::ALL {
        if let Some(file_set) = &format.spec().file_set {
            if let Some(files) = (file_set.find)(path, asked)? {
                return Ok(Some((format, file_set, files)));
            }
        }
    }
    Ok(None)
}

impl Iterator for TraceReader {
    type Item = Result<TraceRecord, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let result = self.read().transpose();
        self.failed = matches!(result, Some(Err(_)));
        result
    }
}

impl std::fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceReader").field("format", &self.format).finish_non_exhaustive()
    }
}

/// All records of the trace at `path`.
pub fn read_all(path: &Path, options: &ReadOptions) -> Result<Vec<TraceRecord>, TraceError> {
    TraceReader::open(path, options)?.collect()
}

/// The format of the trace at `path`, from its content.
pub fn detect(path: &Path) -> Result<Format, TraceError> {
    if let Some((format, ..)) = file_set(path, None)? {
        return Ok(format);
    }
    let (head, source) = ByteSource::open(path, &mut ReadProgress::default())?.peek_text()?;
    choose(&source.name, &head, &ReadOptions::default()).map(|found| found.format)
}
