//! [`LineWriter`]: the writer of every format with one request a line, and [`PackedText`], which it writes to.

use crate::format::spec::RecordWriter;
use crate::metadata::StoredMetadata;
use crate::{TraceError, TraceRecord};
use iopilot_block::InputError;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes one record as a line.
pub(crate) type WriteLine = fn(&TraceRecord, &mut dyn Write) -> io::Result<()>;

/// A format with one request a line, given by the function that writes a line.
pub(crate) struct LineWriter {
    out: PackedText,
    line: WriteLine,
}

impl LineWriter {
    /// Begins a file with the line `header`, where that is not empty.
    pub(crate) fn create(
        path: &Path,
        file: BufWriter<File>,
        header: &str,
        line: WriteLine,
    ) -> Result<Box<dyn RecordWriter>, TraceError> {
        let mut out = PackedText::new(path, file)?;
        if !header.is_empty() {
            writeln!(out.as_write(), "{header}").map_err(|e| TraceError::io(path, e))?;
        }
        Ok(Box::new(Self { out, line }))
    }
}

impl RecordWriter for LineWriter {
    fn write(&mut self, record: &TraceRecord, _: &StoredMetadata) -> io::Result<()> {
        (self.line)(record, self.out.as_write())
    }

    fn finish(self: Box<Self>, _: &StoredMetadata) -> io::Result<BufWriter<File>> {
        self.out.finish()
    }
}

/// A text file, packed as the ending of its name says.
pub(crate) enum PackedText {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl PackedText {
    /// Begins `file`, which will be at `path`.
    ///
    /// # Errors
    /// Where the name asks for a packer that is not there.
    pub(crate) fn new(path: &Path, file: BufWriter<File>) -> Result<Self, TraceError> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Ok(Self::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))),
            Some("zst") => Ok(Self::Zstd(zstd::Encoder::new(file, 3).map_err(|e| TraceError::io(path, e))?)),
            Some("xz") => Err(InputError::new("name", "xz", "a name that ends in .gz, .zst or neither")
                .in_file(path.display())
                .into()),
            _ => Ok(Self::Plain(file)),
        }
    }

    pub(crate) fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(out) => out,
            Self::Gzip(out) => out,
            Self::Zstd(out) => out,
        }
    }

    /// Ends the compression, and returns the file.
    pub(crate) fn finish(self) -> io::Result<BufWriter<File>> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Gzip(out) => out.finish(),
            Self::Zstd(out) => out.finish(),
        }
    }
}
