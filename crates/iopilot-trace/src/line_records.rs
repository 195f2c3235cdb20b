//! [`LineRecords`]: the reader of every format with one request a line.

use crate::lines::Lines;
use crate::reader::Records;
use crate::side::Side;
use crate::source::Source;
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
    P: FnMut(&[u8], &mut Side) -> Parsed + Send + 'static,
{
    /// A reader of `source`.
    pub(crate) fn boxed(source: Source, parse: P) -> Box<dyn Records> {
        Box::new(Self { lines: Lines::new(source), parse })
    }
}

impl<P> Records for LineRecords<P>
where
    P: FnMut(&[u8], &mut Side) -> Parsed + Send,
{
    fn next(&mut self, side: &mut Side) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            let Some(line) = self.lines.next()? else { return Ok(None) };
            if matches!(line.trim_ascii_start().first(), None | Some(b'#')) {
                continue;
            }
            match (self.parse)(line, side) {
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
pub(crate) fn transfer(side: &mut Side, arrival: Nanos, op: Op, (lba, sectors): (Lba, Sectors)) -> Option<TraceRecord> {
    if sectors.0 == 0 && op != Op::Flush {
        side.notes.empty += 1;
        return None;
    }
    Some(TraceRecord::new(arrival, op, lba, sectors))
}
