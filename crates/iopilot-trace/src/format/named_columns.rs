//! Any text with one request or one event a line, whose columns the user names ([`ColumnLayout`]): with `--columns`, or
//! in a first line `# columns: LAYOUT` of the file.

mod layout;
mod row;

pub use layout::ColumnLayout;

use super::blkparse::Summary;
use super::spec::{Detect, FormatInput, FormatSpec, Records};
use crate::block_events::BlockEvents;
use crate::lines::Lines;
use crate::metadata::TraceMetadata;
use crate::reader::TraceReader;
use crate::{TraceError, TraceRecord};
use iopilot_block::InputError;
use layout::Separator;
use row::{Row, Said};

/// How a file begins that names its own columns.
const HEADER: &[u8] = b"# columns:";

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "columns",
    summary: "text whose columns are named (--columns, blkparse -f)",
    endings: &[],
    detect: &[Detect::Magic(|head| head.starts_with(HEADER))],
    open: |input: FormatInput<'_>| {
        let layout = input.columns.cloned();
        let events = BlockEvents::new(input.reorder);
        Ok(Box::new(Reader { lines: Lines::new(input.source), layout, events, summary: None, rows: 0, at_end: false }))
    },
    file_set: None,
    sample: "",
    writing: None,
};

struct Reader {
    lines: Lines,
    layout: Option<ColumnLayout>,
    events: BlockEvents,
    /// The summary of blkparse, if the last line belonged to one.
    summary: Option<Summary>,
    /// Rows read, headers not counted.
    rows: u64,
    at_end: bool,
}

impl Records for Reader {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            if let Some(record) = self.events.pop(self.at_end, metadata) {
                return Ok(Some(record));
            }
            if self.at_end {
                return Ok(None);
            }
            let Some(line) = self.lines.next()? else {
                self.at_end = true;
                continue;
            };
            let first = self.rows == 0;
            let mut state = State { layout: &mut self.layout, summary: &mut self.summary, first };
            match state.line(line, &mut self.events, metadata) {
                Ok(Taken::Nothing) => {}
                Ok(Taken::Row) => self.rows += 1,
                Ok(Taken::Record(record)) => {
                    self.rows += 1;
                    return Ok(Some(*record));
                }
                Err(e) => return Err(self.lines.locate(e)),
            }
        }
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.lines.locate(e)
    }

    fn reorder_limit(&self) -> usize {
        let events = self.layout.as_ref().is_some_and(ColumnLayout::has_actions);
        if events { TraceReader::CPU_REORDER } else { 0 }
    }
}

/// What a line was.
enum Taken {
    /// A comment, a header, a line of a summary.
    Nothing,
    /// An event, or a row without a request.
    Row,
    /// A request.
    Record(Box<TraceRecord>),
}

/// What reading a line needs and changes.
struct State<'a> {
    layout: &'a mut Option<ColumnLayout>,
    summary: &'a mut Option<Summary>,
    first: bool,
}

impl State<'_> {
    fn line(
        &mut self,
        line: &[u8],
        events: &mut BlockEvents,
        metadata: &mut TraceMetadata,
    ) -> Result<Taken, InputError> {
        let text = line.trim_ascii();
        if let (true, None, Some(names)) = (self.first, &self.layout, text.strip_prefix(HEADER)) {
            *self.layout = Some(String::from_utf8_lossy(names).trim().parse()?);
            return Ok(Taken::Nothing);
        }
        if text.is_empty() || text.starts_with(b"#") || text.starts_with(b"Input file ") {
            return Ok(Taken::Nothing);
        }
        let Some(layout) = &self.layout else {
            let expected = "--columns LAYOUT, or a first line `# columns: LAYOUT`";
            return Err(InputError::new("columns", "a text without names of its columns", expected));
        };
        if layout.separator() == Separator::Literal && Summary::is_line(*self.summary, line) {
            *self.summary = Some(Summary);
            return Ok(Taken::Nothing);
        }
        *self.summary = None;
        let row = Row::of(line, layout)?;
        if self.first && row.is_header() {
            return Ok(Taken::Nothing);
        }
        match row.said(layout, metadata)? {
            Said::Nothing => Ok(Taken::Row),
            Said::Request(record) => Ok(Taken::Record(record)),
            Said::Event(event) => {
                event.take(events, metadata)?;
                Ok(Taken::Row)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Nanos, Op, ProcessId, Sectors};

    fn read(layout: &str, text: &str) -> Result<Vec<TraceRecord>, InputError> {
        let mut layout = Some(layout.parse()?);
        let (mut events, mut metadata, mut summary) = (BlockEvents::new(None), TraceMetadata::default(), None);
        let (mut out, mut first) = (Vec::new(), true);
        for line in text.lines() {
            let mut state = State { layout: &mut layout, summary: &mut summary, first };
            match state.line(line.as_bytes(), &mut events, &mut metadata)? {
                Taken::Nothing => {}
                Taken::Row => first = false,
                Taken::Record(record) => {
                    first = false;
                    out.push(*record);
                }
            }
        }
        out.extend(std::iter::from_fn(|| events.pop(true, &mut metadata)));
        Ok(out)
    }

    #[test]
    fn names_stand_for_columns_between_commas_or_blanks() {
        let all = read(
            "time_us,device,op,offset,bytes,latency_ms",
            "when,disk,what,at,size,took\n5,sda,Read,4096,512,0.25\n",
        )
        .unwrap();
        assert_eq!(
            (all[0].arrival, all[0].op, all[0].lba, all[0].sectors),
            (Nanos(5000), Op::Read, Lba(8), Sectors(1))
        );
        assert_eq!(all[0].completion, Some(Nanos(255_000)));
        let all = read("time_s - lba sectors write pid", "0.5 x 8 16 1 77\n0.75 y 24 8 0 77\n").unwrap();
        assert_eq!(all.iter().map(|r| r.op).collect::<Vec<_>>(), [Op::Write, Op::Read]);
        assert_eq!((all[1].arrival, all[1].process), (Nanos(750_000_000), Some(ProcessId(77))));
    }

    #[test]
    fn a_layout_of_blkparse_gives_events() {
        let text = "8,0 Q 0.000000100 700 R 1000 8 my app\n8,0 D 0.000000200 700 R 1000 8 my app\n8,0 C 0.000000900 0 R 1000 8 0\n\
                    CPU0 (sda):\n Reads Queued:           1,        4KiB\n";
        let all = read("%D %a %T.%t %p %d %S %n %C\\n", text).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].arrival, all[0].issue, all[0].completion), (Nanos(100), Some(Nanos(200)), Some(Nanos(900))));
        assert_eq!(all[0].process, Some(ProcessId(700)));
        let all = read("%5T.%9t,%M,%m,%2a,%3d,%N,%S", "    1.000000005,8,0, Q, WS,4096,64\n").unwrap();
        assert_eq!((all[0].arrival, all[0].sectors, all[0].lba), (Nanos(1_000_000_005), Sectors(8), Lba(64)));
    }

    #[test]
    fn errors_name_the_column() {
        let e = |layout: &str, text: &str| read(layout, text).unwrap_err().to_string();
        assert_eq!(
            e("time_us,op,lba,sectors", "5,R,8,8\n6,X,8,8"),
            "op: got X, expected R, W, or letters such as WS, Read, Write or Flush"
        );
        assert_eq!(e("time_us,op,lba,sectors", "5,R,8"), "sectors: got the end of the line, expected a column");
        assert!(e("time_us,op,lba,sectors", "5,R,8,-8").starts_with("sectors: got -8, expected a whole number"));
        assert!(e("%T.%t %d %S %n", "1.5 R 8").starts_with("sectors: got the end of the line"));
        assert_eq!(
            e("time_us,op,lba,sectors", "5,R,8,8,9"),
            "line: got 9, expected the end of the line after the last column"
        );
    }
}
