//! [`VdiskRequestLog`]: a line of CSV for every request, written by a thread of its own.

use super::model_queue::DiskRequest;
use crate::LiveError;
use iopilot_block::Nanos;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// A request that has been answered; times in ns of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoggedRequest {
    pub(super) request: DiskRequest,
    /// When it arrived.
    pub(super) arrived: u64,
    /// When the model completed it.
    pub(super) due: u64,
    /// When its answer left.
    pub(super) left: u64,
    /// When it arrived, on the model's clock.
    pub(super) model: Nanos,
}

/// Writes a line of CSV for every request, in order of departure, from a thread of its own.
pub(super) struct VdiskRequestLog {
    lines: Sender<LoggedRequest>,
}

impl VdiskRequestLog {
    /// Makes the file at `path`. The thread ends when the log is dropped and everything is written.
    pub(super) fn create(path: &Path) -> Result<(Self, JoinHandle<std::io::Result<()>>), LiveError> {
        let failed = |e| LiveError::io(path, e);
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        file.write_all(b"op,lba,sectors,arrived_ns,due_ns,left_ns,model_ns\n").map_err(failed)?;
        let (lines, receiver) = mpsc::channel::<LoggedRequest>();
        let thread = thread::Builder::new().name("vdisk-log".to_owned()).spawn(move || {
            for LoggedRequest { request, arrived, due, left, model } in receiver {
                let (op, lba, sectors) = (request.op, request.lba, request.sectors);
                writeln!(file, "{op},{lba},{sectors},{arrived},{due},{left},{}", model.0)?;
            }
            file.flush()
        });
        Ok((Self { lines }, thread.map_err(failed)?))
    }

    /// Writes a line, soon.
    pub(super) fn record(&self, request: LoggedRequest) {
        // A log that cannot be written does not stop the disk; its thread reports the error at the end.
        let _ = self.lines.send(request);
    }
}
