//! [`TraceWriter`]: records into a file of any format that can be written.

use crate::format::Format;
use crate::format::spec::{RecordWriter, Writing};
use crate::metadata::StoredMetadata;
use crate::{Destination, RecordedSystem, TraceError, TraceRecord};
use iopilot_block::{InputError, Nanos};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a trace to a temporary file beside its destination, which it replaces when [`TraceWriter::finish`] succeeds.
/// Dropped before that, it leaves nothing behind.
pub struct TraceWriter {
    writing: &'static Writing,
    path: PathBuf,
    destination: Destination,
    records: Box<dyn RecordWriter>,
    names: StoredMetadata,
    last: Nanos,
    /// Records written.
    written: u64,
    skipped: u64,
}

impl TraceWriter {
    /// Begins a trace that will be at `path`. Text is packed where the name ends in `.gz` or `.zst`.
    pub fn create(path: &Path, format: Format) -> Result<Self, TraceError> {
        let Some(writing) = &format.spec().writing else {
            let expected = format!("one that can be written: {}", Format::WRITABLE.join(", "));
            return Err(InputError::new("trace format", format.name(), expected).in_file(path.display()).into());
        };
        let (destination, file) = Destination::create(path).map_err(|e| TraceError::io(path, e))?;
        let file = BufWriter::with_capacity(128 << 10, file);
        let records = (writing.create)(path, file)?;
        let (path, names) = (path.to_owned(), StoredMetadata::default());
        Ok(Self { writing, path, destination, records, names, last: Nanos::ZERO, written: 0, skipped: 0 })
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

    /// The machine and the settings to carry along ([`crate::TraceReader::recorded_system`]); only Parquet keeps them.
    pub fn set_recorded_system(&mut self, system: &RecordedSystem) {
        self.names.system = Some(system.clone());
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
        if !self.writing.knows(record.op) {
            self.skipped += 1;
            return Ok(());
        }
        self.written += 1;
        self.records.write(record, &self.names).map_err(|e| TraceError::io(&self.path, e))
    }

    /// How many records were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// How many flushes and discards were left out because the format knows none.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Writes the rest, makes the file durable, and puts it in place.
    pub fn finish(self) -> Result<(), TraceError> {
        let io = |e| TraceError::io(&self.path, e);
        let mut out = self.records.finish(&self.names).map_err(io)?;
        out.flush().map_err(io)?;
        self.destination.commit(out.get_ref()).map_err(io)
    }
}
