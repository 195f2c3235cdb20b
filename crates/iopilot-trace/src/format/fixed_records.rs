//! Binary traces whose records all have one length, little-endian.

use crate::format::spec::Records;
use crate::metadata::TraceMetadata;
use crate::source::{Binary, ByteSource};
use crate::{TraceError, TraceRecord};
use iopilot_block::InputError;
use std::marker::PhantomData;

/// A record of `N` bytes.
pub(super) trait FixedRecord<const N: usize>: Sized + Send + 'static {
    /// Its fields.
    fn of(bytes: &[u8; N]) -> Self;

    /// What it says; `None` where it is no request.
    ///
    /// # Errors
    /// The field that cannot be right.
    fn record(&self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, InputError>;
}

/// The complete records at the beginning of a trace, at most so many.
pub(super) fn first_records<R: FixedRecord<N>, const N: usize>(head: &[u8], most: usize) -> impl Iterator<Item = R> {
    head.chunks_exact(N).take(most).filter_map(|bytes| bytes.first_chunk()).map(R::of)
}

/// Reads records that are `R`.
pub(super) fn open<R: FixedRecord<N>, const N: usize>(source: ByteSource) -> Box<dyn Records> {
    Box::new(Reader { input: Binary::buffered(source), of: PhantomData::<R> })
}

struct Reader<R, const N: usize> {
    input: Binary,
    of: PhantomData<R>,
}

impl<R: FixedRecord<N>, const N: usize> Records for Reader<R, N> {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        let mut bytes = [0; N];
        while self.input.begin(&mut bytes)? {
            match R::of(&bytes).record(metadata) {
                Ok(None) => {}
                Ok(some) => return Ok(some),
                Err(e) => return Err(self.input.locate(e)),
            }
        }
        Ok(None)
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.input.locate(e)
    }
}

/// The bytes from `at` on as a number.
pub(super) fn u16_at<const N: usize>(bytes: &[u8; N], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The bytes from `at` on as a number.
pub(super) fn u32_at<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

/// The bytes from `at` on as a number.
pub(super) fn u64_at<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
