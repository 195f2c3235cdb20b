//! [`LineRecords`]: the reader of every format with one request a line.

use crate::format::spec::{FormatInput, Records};
use crate::lines::Lines;
use crate::metadata::TraceMetadata;
use crate::{TraceError, TraceRecord};
use iopilot_block::{InputError, Lba, Nanos, Op, Sectors};

/// What a line says; `None` where it holds no request.
pub(crate) type Parsed = Result<Option<TraceRecord>, InputError>;

/// A format with one request a line, given by the function that parses a line. Blank lines and those that begin with
/// `#` are left out.
pub(crate) struct LineRecords<P> {
    lines: Lines,
    parse: P,
}

impl<P> LineRecords<P>
where
    P: FnMut(&[u8], &mut TraceMetadata) -> Parsed + Send + 'static,
{
    /// Starts to read `input`.
    pub(crate) fn open(input: FormatInput<'_>, parse: P) -> Result<Box<dyn Records>, TraceError> {
        Ok(Box::new(Self { lines: Lines::new(input.source), parse }))
    }
}

impl<P> Records for LineRecords<P>
where
    P: FnMut(&[u8], &mut TraceMetadata) -> Parsed + Send,
{
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            let Some(line) = self.lines.next()? else { return Ok(None) };
            if matches!(line.trim_ascii_start().first(), None | Some(b'#')) {
                continue;
            }
            match (self.parse)(line, metadata) {
                Ok(None) => {}
                Ok(some) => return Ok(some),
                Err(e) => return Err(self.lines.locate(e)),
            }
        }
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.lines.locate(e)
    }
}

/// A record, or `None` and a note where it transfers nothing.
pub(crate) fn transfer(
    metadata: &mut TraceMetadata,
    arrival: Nanos,
    op: Op,
    (lba, sectors): (Lba, Sectors),
) -> Option<TraceRecord> {
    if sectors.0 == 0 && op != Op::Flush {
        metadata.notes.empty += 1;
        return None;
    }
    Some(TraceRecord::new(arrival, op, lba, sectors))
}
