//! [`TraceWriter`]: records into a file of any format that can be written.

use crate::format::{self, Format, parquet::Names};
use crate::{Destination, TraceError, TraceRecord};
use iopilot_block::{InputError, Nanos, Op};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a trace to a temporary file beside its destination, which it replaces when [`TraceWriter::finish`] succeeds.
/// Dropped before that, it leaves nothing behind.
pub struct TraceWriter {
    format: Format,
    path: PathBuf,
    destination: Destination,
    sink: Sink,
    names: Names,
    last: Nanos,
    /// Records written.
    written: u64,
    skipped: u64,
}

/// Where records go.
enum Sink {
    Text { out: Output, fio: format::fio_iolog::Writer },
    Parquet(Box<format::parquet::Writer<BufWriter<File>>>),
    Finished,
}

/// A text file, packed as its name says.
enum Output {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl Output {
    fn new(path: &Path, file: BufWriter<File>) -> Result<Self, TraceError> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Ok(Self::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))),
            Some("zst") => Ok(Self::Zstd(zstd::Encoder::new(file, 3).map_err(|e| TraceError::io(path, e))?)),
            Some("xz") => Err(InputError::new("name", "xz", "a name that ends in .gz, .zst or neither")
                .in_file(path.display())
                .into()),
            _ => Ok(Self::Plain(file)),
        }
    }

    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(out) => out,
            Self::Gzip(out) => out,
            Self::Zstd(out) => out,
        }
    }

    fn finish(self) -> io::Result<BufWriter<File>> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Gzip(out) => out.finish(),
            Self::Zstd(out) => out.finish(),
        }
    }
}

impl TraceWriter {
    /// Begins a trace that will be at `path`. Text is packed where the name ends in `.gz` or `.zst`.
    pub fn create(path: &Path, format: Format) -> Result<Self, TraceError> {
        if !Format::WRITABLE.contains(&format.name()) {
            let expected = format!("one that can be written: {}", Format::WRITABLE.join(", "));
            return Err(InputError::new("trace format", format.name(), expected).in_file(path.display()).into());
        }
        let (destination, file) = Destination::create(path).map_err(|e| TraceError::io(path, e))?;
        let file = BufWriter::with_capacity(128 << 10, file);
        let sink = if format == Format::Parquet {
            Sink::Parquet(Box::new(format::parquet::Writer::new(file).map_err(|e| failed(path, e))?))
        } else {
            let mut out = Output::new(path, file)?;
            if format == Format::Cloudphysics {
                writeln!(out.as_write(), "{}", format::cloudphysics::HEADER).map_err(|e| TraceError::io(path, e))?;
            }
            Sink::Text { out, fio: format::fio_iolog::Writer::default() }
        };
        let (path, names) = (path.to_owned(), Names::default());
        Ok(Self { format, path, destination, sink, names, last: Nanos::ZERO, written: 0, skipped: 0 })
    }

    /// Names to carry along ([`crate::TraceReader::process_names`]); only Parquet keeps them.
    pub fn set_process_names(&mut self, names: &BTreeMap<u32, String>) {
        self.names.processes.clone_from(names);
    }

    /// Names of devices to carry along ([`crate::TraceReader::device_names`]), for Parquet and fio. Set them before
    /// the first record: fio's log names a file where it first appears.
    pub fn set_device_names(&mut self, names: &[String]) {
        self.names.devices = names.to_vec();
    }

    /// Appends `record`, which must not arrive before the one ahead of it.
    ///
    /// Fields that the format does not have are lost, times are rounded to its unit, and flushes and discards are left
    /// out where it knows none (see [`TraceWriter::skipped`]).
    pub fn write(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        if record.arrival < self.last {
            let by = self.last - record.arrival;
            let e = InputError::new("arrival", format!("{by} before the record ahead"), "records in arrival order");
            return Err(e.in_file(self.path.display()).at_line(self.written + self.skipped + 1).into());
        }
        self.last = record.arrival;
        if !knows(self.format, record.op) {
            self.skipped += 1;
            return Ok(());
        }
        self.written += 1;
        let result = match &mut self.sink {
            Sink::Parquet(parquet) => return parquet.write(record).map_err(|e| failed(&self.path, e)),
            Sink::Finished => Ok(()),
            Sink::Text { out, fio } => {
                let out = out.as_write();
                match self.format {
                    Format::FioIolog => fio.write(record, self.names.devices.get(record.device as usize), out),
                    Format::Disksim => format::disksim::write(record, out),
                    Format::Msr => format::msr::write(record, out),
                    Format::MsrMs => format::msr_ms::write(record, out),
                    Format::Spc => format::spc::write(record, out),
                    Format::Cloudphysics => format::cloudphysics::write(record, out),
                    Format::Mqsim => format::mqsim::write(record, out),
                    _ => format::alibaba::write(record, out),
                }
            }
        };
        result.map_err(|e| TraceError::io(&self.path, e))
    }

    /// How many records were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// How many flushes and discards were left out because the format knows none.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Writes what is left, makes it durable, and puts it in place.
    pub fn finish(mut self) -> Result<(), TraceError> {
        let path = self.path.clone();
        let io = |e| TraceError::io(&path, e);
        let mut out = match std::mem::replace(&mut self.sink, Sink::Finished) {
            Sink::Parquet(parquet) => parquet.finish(&self.names).map_err(|e| failed(&path, e))?,
            Sink::Text { mut out, mut fio } => {
                if self.format == Format::FioIolog {
                    fio.finish(out.as_write()).map_err(io)?;
                }
                out.finish().map_err(io)?
            }
            Sink::Finished => return Ok(()),
        };
        out.flush().map_err(io)?;
        self.destination.commit(out.get_ref()).map_err(io)
    }
}

/// Whether `format` has a word for `op`.
fn knows(format: Format, op: Op) -> bool {
    op.transfers() || matches!(format, Format::Parquet | Format::FioIolog | Format::Cloudphysics)
}

fn failed(path: &Path, e: parquet::errors::ParquetError) -> TraceError {
    match e {
        parquet::errors::ParquetError::External(e) => match e.downcast::<io::Error>() {
            Ok(e) => TraceError::io(path, *e),
            Err(e) => TraceError::io(path, io::Error::other(e)),
        },
        e => TraceError::io(path, io::Error::other(e)),
    }
}
