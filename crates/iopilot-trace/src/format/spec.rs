//! [`FormatSpec`]: all that the rest of the program asks of a trace format.

use super::Format;
use super::detect::Detect;
use crate::TraceError;
use crate::metadata::TraceMetadata;
use crate::reader::{ReadOptions, Records};
use crate::source::{ByteSource, ReadProgress};
use crate::writer::RecordWriter;
use bitflags::bitflags;
use iopilot_block::{Nanos, Op};
use std::fs::File;
use std::io::BufWriter;
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
    /// How it is written; `None` where it is only read.
    pub writing: Option<Writing>,
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
    /// How the user wants it read.
    pub(crate) options: &'a ReadOptions,
}

/// A recording that consists of several files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileSet {
    /// The files that a path stands for, given the format that the user named; `None` where it is no such recording.
    pub(crate) find: fn(&Path, Option<Format>) -> FoundFiles,
    /// Starts to read them.
    pub(crate) open: fn(&[PathBuf], &mut ReadProgress, &ReadOptions) -> Opened,
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
