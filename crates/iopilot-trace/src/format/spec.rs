//! [`FormatSpec`]: all that the rest of the program asks of a trace format.

use super::Format;
use super::named_columns::ColumnLayout;
use super::think_time::ThinkTime;
use crate::head::TextHead;
use crate::metadata::{StoredMetadata, TraceMetadata};
use crate::source::{ByteSource, ReadProgress};
use crate::{TraceError, TraceRecord};
use bitflags::bitflags;
use iopilot_block::{InputError, Nanos, Op};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// One trace format: its module fills this in, the table in `format.rs` lists it.
///
/// The rest is derived from these: `--format`, `trace formats`, detection, the fuzz targets, and the tests that every
/// format must pass.
#[derive(Debug)]
pub struct FormatSpec {
    /// Its name on the command line. A file whose name ends in it is written in this format.
    pub name: &'static str,
    /// What it is, in a line: the second column of the table on the page `docs/reference/trace-formats.md`.
    pub summary: &'static str,
    /// Endings of file names that stand for it besides its name, without the dot.
    pub endings: &'static [&'static str],
    /// How its content is recognised; any of these is enough.
    pub(crate) detect: &'static [Detect],
    /// Starts to read it.
    pub(crate) open: fn(FormatInput<'_>) -> Opened,
    /// How a recording that consists of several files is read; `None` where one file is a whole trace.
    pub(crate) file_set: Option<FileSet>,
    /// A small valid trace, for tests and fuzzing. Empty if the format is binary or has variants: then files named
    /// `FORMAT.VARIANT` are in the folder `samples`.
    pub sample: &'static str,
    /// How it is written; `None` where it is only read.
    pub writing: Option<Writing>,
}

/// How a format is recognised. The kinds are tried in this order, and within a kind the formats in that of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detect {
    /// By magic bytes at the beginning of the file.
    Magic(fn(&[u8]) -> bool),
    /// By its records: binary data without magic bytes.
    Binary(fn(&[u8]) -> bool),
    /// By the first line of a text.
    FirstLine(fn(&[u8]) -> bool),
    /// By the columns of a text.
    Text(fn(&TextHead<'_>) -> bool),
}

/// One format's parser: records with the times of the file.
pub(crate) trait Records: Send {
    /// The next record, with its times as in the file; `None` at the end.
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError>;

    /// `e` with the file and the line (or record) that was read last.
    fn locate(&self, e: InputError) -> TraceError;

    /// How many places late a record may stand where [`crate::ReadOptions::reorder`] is `None`.
    fn reorder_limit(&self) -> usize {
        0
    }

    /// Whether times count from the first request already, so that they stay as they are.
    fn relative(&self) -> bool {
        false
    }
}

/// One format's writer.
pub(crate) trait RecordWriter: Send {
    /// Writes `record`, whose operation the format knows ([`Writing::knows`]). `names` are those of the trace.
    fn write(&mut self, record: &TraceRecord, names: &StoredMetadata) -> io::Result<()>;

    /// Writes the rest, and returns the file.
    fn finish(self: Box<Self>, names: &StoredMetadata) -> io::Result<BufWriter<File>>;
}

/// A trace that can be read, or why it cannot.
pub(crate) type Opened = Result<Box<dyn Records>, TraceError>;

/// The files of a recording, where there is one.
pub(crate) type FoundFiles = Result<Option<Vec<PathBuf>>, TraceError>;

/// A trace that can be written, or why it cannot.
pub(crate) type Created = Result<Box<dyn RecordWriter>, TraceError>;

/// A trace that is about to be read.
pub(crate) struct FormatInput<'a> {
    /// Its bytes, decompressed.
    pub(crate) source: ByteSource,
    /// Where it is; `None` for a stream.
    pub(crate) path: Option<&'a Path>,
    /// Counts the bytes read.
    pub(crate) progress: &'a mut ReadProgress,
    /// Receives what the file says of the whole trace.
    pub(crate) metadata: &'a mut TraceMetadata,
    /// The columns that the user names.
    pub(crate) columns: Option<&'a ColumnLayout>,
    /// Which request the think times of a DiskSim validation trace belong to.
    pub(crate) think_time: ThinkTime,
    /// How many places late a record may stand, if the user says so.
    pub(crate) reorder: Option<usize>,
}

/// A recording that consists of several files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileSet {
    /// The files that a path stands for, given the format that the user named; `None` where it is no such recording.
    pub(crate) find: fn(&Path, Option<Format>) -> FoundFiles,
    /// Starts to read them; records may stand so many places late as the last argument says.
    pub(crate) open: fn(&[PathBuf], &mut ReadProgress, Option<usize>) -> Opened,
}

/// How a format is written, and what it keeps of a record.
#[derive(Clone, Copy, Debug)]
pub struct Writing {
    /// Times are rounded to the nearest multiple of this.
    pub time_unit: Nanos,
    /// What it keeps besides arrival, operation, address and length.
    pub keeps: KeptFields,
    /// Begins a file that will be at this path.
    pub(crate) create: fn(&Path, BufWriter<File>) -> Created,
}

bitflags! {
    /// What a written format keeps of a record besides arrival, operation, address and length.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct KeptFields: u8 {
        /// Flushes and discards. A format without a word for them leaves these requests out.
        const FLUSH_AND_DISCARD = 1 << 0;
        /// The device's number.
        const DEVICE_NUMBER = 1 << 1;
        /// The device's name instead of its number: read back, devices are numbered in order of appearance.
        const DEVICE_NAME = 1 << 2;
        /// The completion. A request without one reads back as completed at its arrival.
        const COMPLETION = 1 << 3;
        /// Which writes are synchronous and which reads are read-ahead.
        const SYNC_AND_READ_AHEAD = 1 << 4;
        /// Every field of [`crate::TraceRecord`], and the names of processes and devices.
        const EVERY_FIELD = 1 << 5;
    }
}

impl Writing {
    /// Whether the format can express `op`.
    pub fn knows(&self, op: Op) -> bool {
        op.transfers() || self.keeps.intersects(KeptFields::FLUSH_AND_DISCARD | KeptFields::EVERY_FIELD)
    }
}

/// `time` in whole units of `unit`, rounded to the nearest.
pub(crate) fn in_units(time: Nanos, unit: Nanos) -> u64 {
    (time.0 + unit.0 / 2) / unit.0
}
