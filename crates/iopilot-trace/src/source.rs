//! Opening a trace: decompression by magic bytes, progress, and a look at its beginning.

use crate::TraceError;
use crate::head::{HEAD_BYTES, byte_order_mark};
use iopilot_block::InputError;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most memory that an xz stream may ask for, in KiB; `xz -9` asks for 64 MiB.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// Bytes read so far and in all, before decompression.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadProgress {
    read: Arc<AtomicU64>,
    total: u64,
}

impl ReadProgress {
    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn add_total(&mut self, bytes: u64) {
        self.total += bytes;
    }

    pub(crate) fn add_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A decompressed stream of bytes with a name.
pub(crate) struct ByteSource {
    pub(crate) name: String,
    pub(crate) bytes: Box<dyn Read + Send>,
}

impl ByteSource {
    /// Opens `path`; what is read from it counts as `progress`.
    pub(crate) fn open(path: &Path, progress: &mut ReadProgress) -> Result<Self, TraceError> {
        let file = File::open(path).map_err(|e| TraceError::io(path, e))?;
        let length = file.metadata().map_err(|e| TraceError::io(path, e))?.len();
        progress.add_total(length);
        Self::new(&path.display().to_string(), file, progress)
    }

    /// Takes `bytes`, and unpacks them where they begin with the magic bytes of gzip, zstd or xz.
    pub(crate) fn new(
        name: &str,
        bytes: impl Read + Send + 'static,
        progress: &ReadProgress,
    ) -> Result<Self, TraceError> {
        let mut bytes = Counted { inner: bytes, read: Arc::clone(&progress.read) };
        let magic = read_up_to(&mut bytes, 6).map_err(|e| TraceError::io(name, e))?;
        let packed = Cursor::new(magic.clone()).chain(bytes);
        let bytes: Box<dyn Read + Send> = if magic.starts_with(&[0x1f, 0x8b]) {
            Box::new(flate2::read::MultiGzDecoder::new(packed))
        } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Box::new(zstd::Decoder::new(packed).map_err(|e| TraceError::io(name, e))?)
        } else if magic.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, XZ_MEMORY_KIB))
        } else {
            Box::new(packed)
        };
        Ok(Self { name: name.to_owned(), bytes })
    }

    /// The first [`HEAD_BYTES`], which will be read again.
    pub(crate) fn peek(mut self) -> Result<(Vec<u8>, Self), TraceError> {
        let head = read_up_to(&mut self.bytes, HEAD_BYTES).map_err(|e| TraceError::io(&self.name, e))?;
        let bytes = Box::new(Cursor::new(head.clone()).chain(self.bytes));
        Ok((head, Self { name: self.name, bytes }))
    }

    /// The same, without the byte-order mark that a text may begin with.
    pub(crate) fn peek_text(self) -> Result<(Vec<u8>, Self), TraceError> {
        let (mut head, mut source) = self.peek()?;
        let mark = byte_order_mark(&head);
        if mark > 0 {
            head.drain(..mark);
            read_up_to(&mut source.bytes, mark).map_err(|e| TraceError::io(&source.name, e))?;
        }
        Ok((head, source))
    }
}

/// A stream that counts what is read from it.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// The next `limit` bytes, or fewer at the end.
fn read_up_to(from: &mut impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Binary records out of a [`ByteSource`]: whole ones, or an error that says which was cut short.
pub(crate) struct Binary {
    source: ByteSource,
    /// Records begun so far.
    pub(crate) record: u64,
}

impl Binary {
    pub(crate) fn new(source: ByteSource) -> Self {
        Self { source, record: 0 }
    }

    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    /// Where an error happened.
    pub(crate) fn locate(&self, e: InputError) -> TraceError {
        e.in_file(self.name()).at_line(self.record).into()
    }

    /// Fills `buf` with the beginning of the next record; `false` at the end of the trace.
    pub(crate) fn begin(&mut self, buf: &mut [u8]) -> Result<bool, TraceError> {
        let got = self.fill(buf)?;
        if got == 0 {
            return Ok(false);
        }
        self.record += 1;
        self.check(got, buf.len())?;
        Ok(true)
    }

    /// Fills `buf` with more of the same record.
    pub(crate) fn more(&mut self, buf: &mut [u8]) -> Result<(), TraceError> {
        let got = self.fill(buf)?;
        self.check(got, buf.len())
    }

    fn check(&self, got: usize, wanted: usize) -> Result<(), TraceError> {
        if got == wanted {
            return Ok(());
        }
        Err(self.locate(InputError::new("record", format!("{got} bytes and the end of the file"), format!("{wanted}"))))
    }

    fn fill(&mut self, buf: &mut [u8]) -> Result<usize, TraceError> {
        let mut got = 0;
        while got < buf.len() {
            match self.source.bytes.read(&mut buf[got..]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(TraceError::io(&self.source.name, e)),
            }
        }
        Ok(got)
    }
}

impl Binary {
    /// The same, reading in large pieces: for formats whose records are small.
    pub(crate) fn buffered(source: ByteSource) -> Self {
        let bytes = Box::new(io::BufReader::with_capacity(128 << 10, source.bytes));
        Self::new(ByteSource { name: source.name, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
        let mut source = ByteSource::new("x", Cursor::new(bytes), &ReadProgress::default()).unwrap();
        let mut out = Vec::new();
        source.bytes.read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn unpacks_by_content() {
        let text = b"0.0 0 8 8 1\n".repeat(1000);
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&text).unwrap();
        assert_eq!(unpacked(gz.finish().unwrap()), text);
        assert_eq!(unpacked(zstd::encode_all(&text[..], 1).unwrap()), text);
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
        xz.write_all(&text).unwrap();
        assert_eq!(unpacked(xz.finish().unwrap()), text);
        assert_eq!(unpacked(text.clone()), text);
        assert_eq!(unpacked(b"ab".to_vec()), b"ab");
    }

    #[test]
    fn the_head_is_read_again() {
        let text = b"line\n".repeat(HEAD_BYTES);
        let source = ByteSource::new("x", Cursor::new(text.clone()), &ReadProgress::default()).unwrap();
        let (head, mut source) = source.peek().unwrap();
        assert_eq!(head.len(), HEAD_BYTES);
        let mut all = Vec::new();
        source.bytes.read_to_end(&mut all).unwrap();
        assert_eq!(all, text);
    }
}
