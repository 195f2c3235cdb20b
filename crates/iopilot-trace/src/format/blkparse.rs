//! The text that `blkparse(1)` prints by default, one event a line:
//! `major,minor cpu sequence seconds.nanoseconds pid action rwbs sector + sectors [command]`.
//!
//! Events become requests in [`crate::correlate`]. The summary that `blkparse` prints behind the events is passed over;
//! events of another device, from another run, may follow. Lines of other layouts (`blkparse -f`) are read by the names
//! of their columns, see `named_columns.rs`.

mod summary;

use super::columns::columns;
use super::spec::{Detect, FormatSpec, Records};
use crate::block_events::{BlockEvents, Head, Payload, Rwbs};
use crate::fields::{decimal, extent, integer, invalid};
use crate::lines::Lines;
use crate::metadata::TraceMetadata;
use crate::reader::TraceReader;
use crate::source::ByteSource;
use crate::{TraceError, TraceRecord};
use iopilot_block::{InputError, Lba, Nanos, Sectors};
pub(super) use summary::Summary;

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "blkparse",
    summary: "text of blkparse(1), default layout",
    endings: &[],
    detect: &[Detect::Text(|head| is_event(head.first()))],
    open: |input| Ok(Box::new(Reader::new(input.source, input.reorder))),
    file_set: None,
    sample: "",
    writing: None,
};

/// Whether `line` begins as an event does.
fn is_event(line: &[u8]) -> bool {
    let c = columns(line, None);
    c.len() >= 7
        && c[0].split(|&b| b == b',').filter(|n| integer(n).is_some()).count() == 2
        && integer(c[1]).is_some()
        && c[3].contains(&b'.')
        && decimal(c[3], 9).is_some()
}

struct Reader {
    lines: Lines,
    events: Events,
    at_end: bool,
}

impl Reader {
    /// A reader of `source`. Records may be `reorder` places late; with `None`, each CPU must keep order.
    fn new(source: ByteSource, reorder: Option<usize>) -> Self {
        Self { lines: Lines::new(source), events: Events::new(reorder), at_end: false }
    }
}

impl Records for Reader {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            if let Some(record) = self.events.events.pop(self.at_end, metadata) {
                return Ok(Some(record));
            }
            if self.at_end {
                return Ok(None);
            }
            match self.lines.next()? {
                None => self.at_end = true,
                Some(line) => match self.events.line(line, metadata) {
                    Ok(()) => {}
                    Err(e) => return Err(self.lines.locate(e)),
                },
            }
        }
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.lines.locate(e)
    }

    fn reorder_limit(&self) -> usize {
        TraceReader::CPU_REORDER
    }
}

struct Events {
    events: BlockEvents,
    /// The device of the last event: nearly always that of the next.
    device: (Vec<u8>, u32),
    /// The summary, if the last line belonged to one.
    summary: Option<Summary>,
}

/// The tokens of a line, which blanks separate. Faster than `Fields`, which splits at any white space.
struct Tokens<'a>(&'a [u8]);

impl<'a> Tokens<'a> {
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.0;
        let mut begin = 0;
        while begin < line.len() && line[begin] == b' ' {
            begin += 1;
        }
        let mut end = begin;
        while end < line.len() && line[end] != b' ' {
            end += 1;
        }
        self.0 = &line[end..];
        (end > begin).then(|| &line[begin..end])
    }

    fn expect(&mut self, name: &str, expected: &str) -> Result<&'a [u8], InputError> {
        self.next().ok_or_else(|| InputError::new(name, "the end of the line", expected))
    }

    fn number(&mut self, name: &str) -> Result<u64, InputError> {
        let word = self.expect(name, "a whole number")?;
        integer(word).ok_or_else(|| invalid(name, word, "a whole number, not negative"))
    }
}

impl Events {
    fn new(reorder: Option<usize>) -> Self {
        Self { events: BlockEvents::new(reorder), device: (Vec::new(), 0), summary: None }
    }

    /// Takes one line in.
    fn line(&mut self, line: &[u8], metadata: &mut TraceMetadata) -> Result<(), InputError> {
        let mut tokens = Tokens(line);
        let Some(first) = tokens.next() else { return Ok(()) };
        if first == b"Input" {
            return Ok(()); // "Input file sda.blktrace.0 added"
        }
        if self.summary.is_some() || !first[0].is_ascii_digit() {
            if self.summary.is_some() && is_event(line) {
                self.summary = None;
            } else if Summary::is_line(self.summary, line) {
                self.summary = Some(Summary);
                return Ok(());
            }
        }
        match self.event(first, tokens, metadata) {
            // A process whose name begins with a digit.
            Err(_) if memchr::memchr(b',', first).is_none() && Summary::is_line(self.summary, line) => {
                self.summary = Some(Summary);
                Ok(())
            }
            result => result,
        }
    }

    fn event(&mut self, first: &[u8], mut tokens: Tokens, metadata: &mut TraceMetadata) -> Result<(), InputError> {
        let device = self.device(first, metadata)?;
        let cpu = tokens.number("cpu")?;
        let cpu = u16::try_from(cpu).map_err(|_| InputError::new("cpu", cpu.to_string(), "a number below 65536"))?;
        tokens.number("sequence")?;
        let field = tokens.expect("time", "seconds.nanoseconds")?;
        let time = decimal(field, 9).map(Nanos).ok_or_else(|| invalid("time", field, "seconds.nanoseconds"))?;
        self.events.check_order(device, cpu, time)?;
        let pid = tokens.number("pid")?;
        let pid = u32::try_from(pid).map_err(|_| InputError::new("pid", pid.to_string(), "a number below 2^32"))?;
        let head = Head { device, cpu: Some(cpu), time, pid: Some(pid) };
        match tokens.expect("action", "a letter")? {
            b"Q" => {
                let (rwbs, payload) = (rwbs(&mut tokens)?, payload(&mut tokens)?);
                self.events.queue(head, rwbs, payload, command(tokens.0), metadata);
            }
            b"D" => {
                let (rwbs, payload) = (rwbs(&mut tokens)?, payload(&mut tokens)?);
                self.events.issue(head, rwbs, payload, command(tokens.0), metadata);
            }
            b"C" => self.complete(head, &mut tokens, metadata)?,
            action @ (b"M" | b"F") => {
                let (rwbs, payload) = (rwbs(&mut tokens)?, payload(&mut tokens)?);
                self.events.merge(head, rwbs, payload, action == b"M");
            }
            b"R" => {
                let (rwbs, payload) = (rwbs(&mut tokens)?, payload(&mut tokens)?);
                self.events.requeue(head, rwbs, payload);
            }
            b"X" => self.split(head, &mut tokens)?,
            b"A" | b"B" | b"G" | b"I" | b"P" | b"S" | b"T" | b"U" | b"UT" | b"W" | b"m" => {}
            other => return Err(invalid("action", other, "one of A B C D F G I M P Q R S T U UT W X m")),
        }
        Ok(())
    }

    fn device(&mut self, name: &[u8], metadata: &mut TraceMetadata) -> Result<u32, InputError> {
        if name == self.device.0 {
            return Ok(self.device.1);
        }
        let numbers = memchr::memchr(b',', name).map(|at| (integer(&name[..at]), integer(&name[at + 1..])));
        if !matches!(numbers, Some((Some(_), Some(_)))) {
            return Err(invalid("device", name, "major,minor"));
        }
        self.device = (name.to_vec(), metadata.device(name));
        Ok(self.device.1)
    }

    fn complete(
        &mut self,
        head: Head,
        tokens: &mut Tokens<'_>,
        metadata: &mut TraceMetadata,
    ) -> Result<(), InputError> {
        let rwbs = rwbs(tokens)?;
        if rwbs.op.is_none() {
            return Ok(());
        }
        if tokens.0.trim_ascii_start().first() == Some(&b'(') {
            metadata.notes.other_commands += 1;
            return Ok(());
        }
        let payload = payload(tokens)?;
        self.events.complete(head, rwbs, payload);
        Ok(())
    }

    fn split(&mut self, head: Head, tokens: &mut Tokens<'_>) -> Result<(), InputError> {
        rwbs(tokens)?;
        let start = tokens.number("sector")?;
        match tokens.expect("split", "/")? {
            b"/" => {}
            other => return Err(invalid("split", other, "/")),
        }
        let at = tokens.number("new sector")?;
        self.events.split(head.device, start, at);
        Ok(())
    }
}

fn rwbs(tokens: &mut Tokens<'_>) -> Result<Rwbs, InputError> {
    let word = tokens.expect("rwbs", "letters such as R, WS or FWFS")?;
    Rwbs::parse(word).ok_or_else(|| invalid("rwbs", word, "letters such as R, WS or FWFS"))
}

/// `sector + sectors`, `sector`, or nothing before the brackets; a SCSI command is `bytes (hex ...)`.
fn payload(tokens: &mut Tokens<'_>) -> Result<Payload, InputError> {
    let rest = tokens.0.trim_ascii_start();
    if matches!(rest.first(), Some(b'[' | b'(')) {
        return Ok(Payload::Extent(Lba(0), Sectors(0)));
    }
    let sector = tokens.number("sector")?;
    let rest = tokens.0.trim_ascii_start();
    match rest.first() {
        Some(b'+') => {
            tokens.next();
            let sectors = tokens.number("sectors")?;
            extent(sector, sectors).map(|(lba, sectors)| Payload::Extent(lba, sectors))
        }
        Some(b'(') => Ok(Payload::Command),
        Some(b'[') => Ok(Payload::Extent(Lba(0), Sectors(0))),
        _ => Err(invalid("sectors", rest, "+ and a number of sectors")),
    }
}

/// The command between the first `[` and the last `]`.
fn command(rest: &[u8]) -> &[u8] {
    match (memchr::memchr(b'[', rest), memchr::memrchr(b']', rest)) {
        (Some(begin), Some(end)) if begin < end => &rest[begin + 1..end],
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Flags, Op, ProcessId};

    fn read(text: &str) -> Result<Vec<TraceRecord>, InputError> {
        let (mut events, mut metadata) = (Events::new(None), TraceMetadata::default());
        text.lines().try_for_each(|line| events.line(line.as_bytes(), &mut metadata))?;
        Ok(std::iter::from_fn(|| events.events.pop(true, &mut metadata)).collect())
    }

    #[test]
    fn follows_a_request_from_queue_to_completion() {
        let text = "\
  8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 1444645632
  8,16   5        2     0.000001850 18615  Q  RA 1444645666 + 256 [Web Content]
  8,16   5        3     0.000006438 18615  G  RA 1444645666 + 256 [Web Content]
  8,16   5        4     0.000008750 18615  P   N [Web Content]
  8,16   5        0     0.000012990     0  m   N cfq18615S / insert_request
  8,16   5        6     0.000031865 18615  D  RA 1444645666 + 256 (   25427) [Web Content]
  8,16   5        7     0.000046560 18615  U   N [Web Content] 1
  8,16   5       15     0.000356669     0  C  RA 1444645666 + 256 (  324804) [0]
CPU5 (8,16):
 Reads Queued:           1,      128KiB
";
        let all = read(text).unwrap();
        assert_eq!(all.len(), 1);
        let r = &all[0];
        assert_eq!((r.arrival, r.issue, r.completion), (Nanos(1850), Some(Nanos(31_865)), Some(Nanos(356_669))));
        assert_eq!(
            (r.lba, r.sectors, r.process, r.cpu),
            (Lba(1_444_645_666), Sectors(256), Some(ProcessId(18_615)), Some(5))
        );
        assert_eq!(r.flags, Flags::READ_AHEAD);
    }

    #[test]
    fn flushes_have_no_sectors_and_complete_for_their_submitter() {
        let text = "\
  8,0    0        1     0.000000001   300  Q FWS [jbd2/sda1-8]
  8,0    0        2     0.000000002   300  D  FN [kworker/0:1H]
  8,0    0        3     0.000000003     0  C  FN 0 [0]
  8,0    0        4     0.000000004     0  C FWS 0 [0]
  8,0    0        5     0.000000005   300  Q  WS 8 + 8 [jbd2/sda1-8]
  8,0    0        6     0.000000006   300  D   N 36 (12 00 00 00 24 00 ..) [smartd]
  8,0    0        7     0.000000007   300  C   N (12 00 00 00 24 00 ..) [0]
";
        let all = read(text).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].op, all[0].sectors, all[0].completion), (Op::Flush, Sectors(0), Some(Nanos(4))));
        assert_eq!((all[1].op, all[1].flags, all[1].completion), (Op::Write, Flags::SYNC, None));
    }

    /// One request of a device, as two events.
    fn run(device: &str) -> String {
        format!(
            "  {device}  0  1  0.000000000   700  Q   R 1000 + 8 [app]\n  {device}  0  2  0.000100000  0  C   R 1000 + 8 [0]\n"
        )
    }

    const SUMMARY: &str = "CPU0 (sda):
 Reads Queued:           1,        4KiB\t Writes Queued:           0,        0KiB
 Read depth:             1        \t Write depth:             0

Throughput (R/W): 40KiB/s / 0KiB/s
Events (sda): 4 entries
Skips: 0 forward (0 -   0.0%)
";

    #[test]
    fn events_of_another_run_may_follow_the_summary() {
        let all = read(&[&run("8,0"), SUMMARY, &run("8,16")].concat()).unwrap();
        assert_eq!(all.iter().map(|r| r.device).collect::<Vec<_>>(), [0, 1]);
        let mut e = [&run("8,0"), SUMMARY, "hello world\n"].concat();
        assert_eq!(read(&e).unwrap_err().to_string(), "device: got hello, expected major,minor");
        e = [&run("8,0"), SUMMARY, "8,0 0 1 0.1\n"].concat();
        assert_eq!(read(&e).unwrap_err().to_string(), "pid: got the end of the line, expected a whole number");
    }

    #[test]
    fn the_summary_may_begin_with_processes() {
        let processes =
            "7zip (700)\n Reads Queued:           1,        4KiB\n\nWeb Content (18615, ...)\n IO unplugs: 1\n\n";
        assert_eq!(read(&[&run("8,0"), processes, SUMMARY].concat()).unwrap().len(), 1);
    }

    #[test]
    fn completions_alone_are_requests() {
        let text = "\
  8,0  0        1    0.000000000     0  C   R 1000 + 8 [0]
  8,0  0        2    0.000500000     0  C   W 3000 + 16 [0]
  8,0  1        1    0.001500000     0  C  WS 5000 + 8 [0]
";
        let (mut events, mut metadata) = (Events::new(None), TraceMetadata::default());
        text.lines().for_each(|line| events.line(line.as_bytes(), &mut metadata).unwrap());
        let all: Vec<_> = std::iter::from_fn(|| events.events.pop(true, &mut metadata)).collect();
        assert_eq!(
            all.iter().map(|r| (r.arrival.0, r.lba.0)).collect::<Vec<_>>(),
            [(0, 1000), (500_000, 3000), (1_500_000, 5000)]
        );
        assert!(all.iter().all(|r| r.completion.is_none() && r.process.is_none()), "{all:?}");
        assert_eq!((all[2].flags, metadata.notes.unknown_arrivals), (Flags::SYNC, 3));
    }

    #[test]
    fn errors_name_the_field() {
        let e = |line: &str| read(line).unwrap_err().to_string();
        assert_eq!(e("8:16 1 1 0.1 1 Q R 1 + 8 [a]"), "device: got 8:16, expected major,minor");
        assert_eq!(e("8,16 1 1 -0.1 1 Q R 1 + 8 [a]"), "time: got -0.1, expected seconds.nanoseconds");
        assert_eq!(e("8,16 1 1 0.1 1 Q R 1 + -8 [a]"), "sectors: got -8, expected a whole number, not negative");
        assert!(e("8,16 1 1 0.1 1 Q R 9223372036854775807 + 8 [a]").starts_with("lba: got 9223372036854775807 + 8, "));
        assert!(e("8,16 1 1 0.1 1 Q").starts_with("rwbs: got the end of the line"));
    }
}
