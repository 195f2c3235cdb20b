//! [`Reader`]: the raw ring buffer of one CPU.

use super::instance::TracefsInstance;
use super::page::each_event;
use crate::LiveError;
use iopilot_block::Nanos;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// The ring buffer of one CPU.
#[derive(Debug)]
pub(super) struct Reader {
    cpu: u16,
    file: File,
    path: PathBuf,
    page: Vec<u8>,
    data_offset: usize,
}

/// All ring buffers of `instance`.
pub(super) fn open_readers(instance: &TracefsInstance) -> Result<Vec<Reader>, LiveError> {
    // Older kernels describe their pages only outside of instances.
    let header = instance.read("events/header_page").or_else(|_| instance.read("../../events/header_page"))?;
    let (data_offset, size) = page_size(&header).ok_or_else(|| LiveError::Event {
        event: "header_page".to_owned(),
        reason: "expected a field named data".to_owned(),
    })?;
    let mut readers = Vec::new();
    for cpu in instance.cpus()? {
        let path = instance.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = File::options().read(true).custom_flags(nonblocking).open(&path);
        let file = file.map_err(|e| LiveError::io(&path, e))?;
        readers.push(Reader { cpu, file, path, page: vec![0; data_offset + size], data_offset });
    }
    Ok(readers)
}

/// Where on a page the data begin, and how many bytes there are.
fn page_size(header: &str) -> Option<(usize, usize)> {
    let line = header.lines().find(|l| l.contains(" data;"))?;
    let value = |key: &str| line.split(';').find_map(|part| part.trim().strip_prefix(key)?.parse().ok());
    Some((value("offset:")?, value("size:")?))
}

impl Reader {
    /// Its CPU.
    pub(super) fn cpu(&self) -> u16 {
        self.cpu
    }

    /// Calls `f` with time and bytes of each event that can be read without waiting.
    pub(super) fn drain(&mut self, mut f: impl FnMut(Nanos, &[u8])) -> Result<(), LiveError> {
        loop {
            match self.file.read(&mut self.page) {
                Ok(0) => return Ok(()),
                Ok(n) => each_event(&self.page[..n], self.data_offset, &mut f)
                    .map_err(|reason| LiveError::Page { cpu: self.cpu, reason })?,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(LiveError::io(&self.path, e)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_page_header_description() {
        let header = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
            \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
            \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        assert_eq!(page_size(header), Some((16, 4080)));
        assert_eq!(page_size("nothing"), None);
    }
}
