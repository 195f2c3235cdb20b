//! [`TraceReader`]: the records of a trace, whatever its format.

use crate::format::{self, Format, disksim_validate::ThinkTime};
use crate::reorder::Reorder;
use crate::side::{ReadNotes, Side};
use crate::source::{Progress, Source};
use crate::{TraceError, TraceRecord};
use iopilot_block::{InputError, Nanos};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// How to read a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; found out from the content where it is `None`.
    pub format: Option<Format>,
    /// Only the requests of this device ([`TraceRecord::device`]). Times still count from the first request of all.
    pub device: Option<u32>,
    /// Which think time a DiskSim validation trace tells.
    pub think_time: ThinkTime,
    /// The size of the disk in sectors: requests past its end are an error. `None` takes any address.
    pub capacity: Option<u64>,
    /// How many records late a record may stand and still be put in its place. `None` takes no late record, but for
    /// events of different CPUs ([`TraceReader`]).
    pub reorder: Option<usize>,
}

/// One format's parser: records with the times of the file.
pub(crate) trait Records: Send {
    /// The next record as it stands in the file; `None` at the end.
    fn next(&mut self, side: &mut Side) -> Result<Option<TraceRecord>, TraceError>;

    /// Names the file and line (or record) that was read last.
    fn locate(&self, e: InputError) -> TraceError;

    /// How many records may be out of order where the user does not say.
    fn window(&self) -> usize {
        0
    }

    /// Whether times count from the first request already, and stay as they are.
    fn relative(&self) -> bool {
        false
    }
}

/// Streams the records of a trace in arrival order, in bounded memory.
///
/// Times count from the trace's first request. A time that goes back is an error, unless [`ReadOptions::reorder`] allows
/// it. Formats that are recorded per CPU (blkparse, blktrace) must keep order on each CPU of a device; between CPUs a
/// request may stand up to [`TraceReader::WINDOW`] records late and is put in its place. After an error the iterator
/// ends.
pub struct TraceReader {
    format: Format,
    records: Box<dyn Records>,
    side: Side,
    reorder: Reorder,
    progress: Progress,
    device: Option<u32>,
    capacity: Option<u64>,
    base: Option<Nanos>,
    at_end: bool,
    failed: bool,
}

impl TraceReader {
    /// How many records late a record may stand where CPUs recorded on their own: more than any device keeps in flight,
    /// some 1 MB of records.
    pub const WINDOW: usize = 8192;

    /// Opens the trace at `path`: a file, plain or packed with gzip, zstd or xz; for blktrace also any one of its
    /// per-CPU files `NAME.blktrace.N`, their stem `NAME`, or the directory that holds them.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        let mut progress = Progress::default();
        if let Some(files) = format::blktrace::per_cpu_files(path, options.format)? {
            if options.format.is_some_and(|f| f != Format::Blktrace) {
                let expected = format!("a file in format {}", options.format.map_or("", Format::name));
                return Err(InputError::new("path", "per-CPU files of blktrace", expected)
                    .in_file(path.display())
                    .into());
            }
            let records = format::blktrace::Reader::open(&files, &mut progress, options.reorder)?;
            return Ok(Self::with(Format::Blktrace, Box::new(records), progress, options));
        }
        let (head, source) = Source::open(path, &mut progress)?.peek()?;
        let format = choose(&source.name, &head, options)?;
        if format == Format::Parquet {
            let mut progress = Progress::default();
            let (records, names) = format::parquet::Reader::open(path, &mut progress)?;
            return Ok(Self::with(format, Box::new(records), progress, options).named(names));
        }
        let records = text_or_binary(format, source, options)?;
        Ok(Self::with(format, records, progress, options))
    }

    /// Reads a trace from `input`, a stream such as standard input, which is called `name` in messages. Parquet needs
    /// random access and is read into memory first.
    pub fn from_reader(
        name: &str,
        input: impl Read + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let progress = Progress::default();
        let (head, source) = Source::new(name, input, &progress)?.peek()?;
        let format = choose(name, &head, options)?;
        if format == Format::Parquet {
            let (records, names) = format::parquet::Reader::from_stream(source, &progress)?;
            return Ok(Self::with(format, Box::new(records), progress, options).named(names));
        }
        let records = text_or_binary(format, source, options)?;
        Ok(Self::with(format, records, progress, options))
    }

    fn with(format: Format, records: Box<dyn Records>, progress: Progress, options: &ReadOptions) -> Self {
        Self {
            format,
            reorder: Reorder::new(options.reorder.unwrap_or(records.window())),
            base: records.relative().then_some(Nanos::ZERO),
            records,
            side: Side::default(),
            progress,
            device: options.device,
            capacity: options.capacity,
            at_end: false,
            failed: false,
        }
    }

    fn named(mut self, names: format::parquet::Names) -> Self {
        self.side.name_processes(names.processes);
        self.side.devices = names.devices;
        self
    }

    /// The format, as given or found out.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes of the file, or files, read so far; before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.progress.read()
    }

    /// Bytes of the file, or files; 0 where that is not known (a pipe).
    pub fn total_bytes(&self) -> u64 {
        self.progress.total()
    }

    /// The command names of processes seen so far, by process id; empty where the format has none.
    pub fn process_names(&self) -> &BTreeMap<u32, String> {
        self.side.processes()
    }

    /// What the trace calls its devices, by device number; empty where the format has only numbers.
    pub fn device_names(&self) -> &[String] {
        &self.side.devices
    }

    /// What has been left out or put in order so far.
    pub fn notes(&self) -> ReadNotes {
        ReadNotes { reordered: self.reorder.moved, ..self.side.notes.clone() }
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

    fn read(&mut self) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            let record = loop {
                if let Some(record) = self.reorder.pop(self.at_end) {
                    break record;
                }
                if self.at_end {
                    return Ok(None);
                }
                match self.records.next(&mut self.side)? {
                    None => self.at_end = true,
                    Some(record) => {
                        self.check_address(&record)?;
                        if let Err(late) = self.reorder.push(record) {
                            return Err(self.records.locate(late.error(self.reorder.window())));
                        }
                    }
                }
            };
            let base = *self.base.get_or_insert(record.arrival);
            if self.device.is_none_or(|device| device == record.device) {
                return Ok(Some(since(record, base)));
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

fn choose(name: &str, head: &[u8], options: &ReadOptions) -> Result<Format, TraceError> {
    match options.format {
        Some(format) if !head.is_empty() => Ok(format),
        _ => format::detect::from_head(head).map_err(|e| e.in_file(name).into()),
    }
}

fn text_or_binary(format: Format, source: Source, options: &ReadOptions) -> Result<Box<dyn Records>, TraceError> {
    Ok(match format {
        Format::Blkparse => Box::new(format::blkparse::Reader::new(source, options.reorder)),
        Format::Blktrace => Box::new(format::blktrace::Reader::merged(source, options.reorder)?),
        Format::FioIolog => format::fio_iolog::reader(source),
        Format::Disksim => format::disksim::reader(source),
        Format::DisksimValidate => format::disksim_validate::reader(source, options.think_time),
        Format::HpSrt => Box::new(format::hp_srt::Reader::new(source)?),
        Format::Msr => format::msr::reader(source),
        Format::MsrMs => format::msr_ms::reader(source),
        Format::Spc => format::spc::reader(source),
        Format::Vscsi => Box::new(format::vscsi::Reader::new(source)),
        Format::Cloudphysics => format::cloudphysics::reader(source),
        Format::Mqsim => format::mqsim::reader(source),
        Format::Alibaba => format::alibaba::reader(source),
        Format::Parquet => {
            let e = InputError::new("trace format", "parquet inside a stream", "a parquet file that is not packed");
            return Err(e.in_file(&source.name).into());
        }
    })
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
    if format::blktrace::per_cpu_files(path, None)?.is_some() {
        return Ok(Format::Blktrace);
    }
    let (head, source) = Source::open(path, &mut Progress::default())?.peek()?;
    choose(&source.name, &head, &ReadOptions::default())
}
