//! [`Lines`]: the lines of a text trace, without a copy or an allocation a line.

use crate::TraceError;
use crate::source::ByteSource;
use iopilot_block::InputError;
use std::io::{self, Read};

/// The longest line. Longer ones occur in no trace and are taken for binary noise.
const LONGEST_LINE: usize = 64 << 10;
const BUFFER_BYTES: usize = 512 << 10;

/// The lines of a [`ByteSource`].
pub(crate) struct Lines {
    source: ByteSource,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    begin: usize,
    end: usize,
    at_end: bool,
    /// The number of the last line read, counted from 1.
    pub(crate) number: u64,
}

impl Lines {
    pub(crate) fn new(source: ByteSource) -> Self {
        Self { source, buffer: vec![0; BUFFER_BYTES], begin: 0, end: 0, at_end: false, number: 0 }
    }

    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    /// Where an error happened.
    pub(crate) fn locate(&self, e: InputError) -> TraceError {
        e.in_file(self.name()).at_line(self.number).into()
    }

    /// The next line without its end (`\n` or `\r\n`).
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        let mut searched = 0;
        let length = loop {
            let unread = &self.buffer[self.begin..self.end];
            if let Some(at) = memchr::memchr(b'\n', &unread[searched..]) {
                break searched + at;
            }
            if self.at_end {
                if unread.is_empty() {
                    return Ok(None);
                }
                break unread.len();
            }
            searched = unread.len();
            if searched > LONGEST_LINE {
                break searched;
            }
            self.refill()?;
        };
        self.number += 1;
        if length > LONGEST_LINE {
            let got = format!("{length} bytes or more");
            return Err(self.locate(InputError::new("line", got, "a line of text of at most 64 KiB")));
        }
        let from = self.begin;
        self.begin = (from + length + 1).min(self.end);
        let line = &self.buffer[from..from + length];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Reads more behind what is unread.
    fn refill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        loop {
            match self.source.bytes.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(TraceError::io(&self.source.name, e)),
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::ReadProgress;
    use std::io::Cursor;

    fn lines(bytes: &[u8]) -> Result<Vec<Vec<u8>>, TraceError> {
        let mut lines = Lines::new(ByteSource::new("t", Cursor::new(bytes.to_vec()), &ReadProgress::default())?);
        let mut all = Vec::new();
        while let Some(line) = lines.next()? {
            all.push(line.to_vec());
        }
        Ok(all)
    }

    #[test]
    fn the_last_line_needs_no_end() {
        assert_eq!(lines(b"a\r\n\nbc").unwrap(), [&b"a"[..], b"", b"bc"]);
        assert!(lines(b"").unwrap().is_empty());
    }

    #[test]
    fn lines_cross_the_buffers_end() {
        let text: Vec<u8> = (0..200_000).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        let all = lines(&text).unwrap();
        assert_eq!(all.len(), 200_000);
        assert_eq!(all[123_456], b"123456");
    }

    #[test]
    fn endless_lines_are_refused() {
        let e = lines(&vec![b'x'; 1 << 20]).unwrap_err().to_string();
        assert!(e.starts_with("t:1: line: got "), "{e}");
    }
}
